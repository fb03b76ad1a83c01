"""Well-posed tasks from a pool: reproducible, without leakage, by the rules."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.actions.move import Move
from atomworld_env.actions.remove import Remove
from atomworld_env.errors import UsageError
from atomworld_env.structures.contacts import smallest_contact_ratio
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.pool import StructurePool, default_pool, row_of
from atomworld_env.tasks.sampler import TaskSampler, drawable_elements, sample_task
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import dump_line

REPOSITORY = Path(__file__).parents[2]

EVERY_ACTION = [pytest.param(name, id=name) for name in ACTIONS]


def tasks_of(config, seeds=6, pool=None):
    sampler = TaskSampler(config, pool=pool)
    return [sampler.sample(seed, action) for seed in range(seeds) for action in config.actions]


def pool_of(*crystals):
    return StructurePool("mine", "1", [row_of(f"c{k}", f"f{k}", "test", crystal) for k, crystal in enumerate(crystals)])


def box(*sites, edge=10.0):
    species, places = zip(*sites, strict=True)
    return Crystal.printed((edge, edge, edge, 90, 90, 90), species, np.array(places) / edge)


# Reproducibility


LINES = """
import hashlib
from atomworld_env.actions import ACTIONS
from atomworld_env.tasks.sampler import sample_task
from atomworld_env.tasks.task import dump_line
digest = hashlib.sha256()
for seed in range(2):
    for action in ACTIONS:
        digest.update(dump_line(sample_task(action, seed=seed)).encode())
print(digest.hexdigest())
"""


def digest_in_a_fresh_process(**environment):
    result = subprocess.run(
        [sys.executable, "-c", LINES],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.strip()


@pytest.fixture(scope="module")
def expected_digest():
    digest = hashlib.sha256()
    for seed in range(2):
        for action in ACTIONS:
            digest.update(dump_line(sample_task(action, seed=seed)).encode())
    return digest.hexdigest()


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"PYTHONHASHSEED": "7"}, id="another hash seed"),
        pytest.param({"OPENBLAS_CORETYPE": "Prescott"}, id="another processor's linear algebra"),
    ],
)
def test_the_same_seed_gives_the_same_bytes_in_a_fresh_process(expected_digest, environment):
    assert digest_in_a_fresh_process(**environment) == expected_digest


def test_what_was_drawn_before_does_not_matter():
    fresh, used = TaskSampler(), TaskSampler()
    tasks_of(used.config, seeds=1)
    for seed in range(5):
        used.sample(100 + seed)
    assert dump_line(used.sample(3)) == dump_line(fresh.sample(3))


def test_seeds_give_different_tasks():
    assert len({sample_task("move", seed=seed).task_id for seed in range(50)}) == 50


def test_the_stored_seed_makes_the_task_again():
    for task in tasks_of(SamplerConfig(), seeds=2):
        sampler = TaskSampler(SamplerConfig())
        assert sampler.edit(sampler.pool.entry(task.structure_id), task.action, task.seed) == task


# Leakage


def family_of(task):
    return default_pool().entry(task.structure_id).family


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(("train", 1), ("test", 2), id="train seed 1, test seed 2"),
        pytest.param(("train", 1), ("test", 1), id="train and test of one seed"),
        pytest.param(("train", 3), ("validation", 3), id="train and validation of one seed"),
        pytest.param(("validation", 3), ("test", 3), id="validation and test of one seed"),
    ],
)
def test_splits_share_nothing(first, second):
    one, other = (
        [sample_task(action, seed=seed + k, split=split) for k in range(15) for action in ("move", "add", "remove")]
        for split, seed in (first, second)
    )
    for attribute in ("task_id", "structure_id", "structure", "target"):
        assert not {getattr(t, attribute) for t in one} & {getattr(t, attribute) for t in other}, attribute
    assert not set(map(family_of, one)) & set(map(family_of, other))
    assert {task.split for task in one} == {first[0]}
    assert {task.split for task in other} == {second[0]}


def test_no_two_splits_of_the_pool_share_a_family_or_a_structure():
    families, structures = {}, {}
    for entry in default_pool().entries(None, 1):
        assert families.setdefault(entry.family, entry.split) == entry.split
        content = (entry.cell, entry.species, entry.coordinates)
        assert structures.setdefault(content, entry.split) == entry.split


def test_seeds_in_a_row_do_not_share_tasks():
    # Drawn from seed + index, train seed 1 and seed 2 would share all tasks but one.
    runs = [{sample_task(None, seed=seed).task_id} for seed in range(60)]
    assert len(set.union(*runs)) == 60


# What a configuration asks for


@pytest.mark.parametrize("action", EVERY_ACTION)
def test_tasks_are_well_posed(action):
    sampler = TaskSampler(SamplerConfig(actions=(action,)))
    for seed in range(8):
        task = sampler.sample(seed)
        edit = ACTIONS[action]
        edit.check(task.crystal, task.params)
        target = edit.apply(task.crystal, task.params)
        assert target.species == task.target_crystal.species
        assert np.array_equal(target.frac, task.target_crystal.frac)
        assert target.cell == task.target_crystal.cell
        assert task.prompt == edit.instruction(task.params)
        touched = edit.touched(task.crystal, task.params)
        assert not touched or smallest_contact_ratio(target, touched)[0] >= 0.7
        assert task.baseline.stage != "correct"
        if task.baseline.composition_difference == 0:
            assert task.baseline.max_displacement >= 0.3
        assert 10 <= task.n_sites <= 100


@pytest.mark.parametrize("decimals", [3, 6])
@pytest.mark.parametrize("style", ["full", "compact"])
def test_the_target_follows_from_exactly_the_printed_numbers(decimals, style):
    config = SamplerConfig(decimals=decimals, cif_style=style, split=None)
    for task in tasks_of(config, seeds=2):
        printed = re.findall(r"(?<!\S)\d\.\d+(?!\S)", task.structure.partition("_atom_site_fract_z")[2])
        coordinates = [number for number in printed if number != "1.0"]
        assert len(coordinates) == 3 * task.n_sites
        assert {len(number) for number in coordinates} == {2 + decimals}
        again = ACTIONS[task.action].apply(task.crystal, task.params)
        assert np.array_equal(again.frac, task.target_crystal.frac)
        ACTIONS[task.action].check(task.crystal, task.params)


def test_fewer_decimals_are_rounded_before_the_truth_not_after():
    crystal = box(("Na", (1.234, 0, 0)), ("Cl", (6, 6, 6)))
    edits = {"move": Fixed(params={"index": 0, "displacement": [1.0, 0.0, 0.0]})}
    config = SamplerConfig(split=None, min_sites=1, actions=("move",), edits=edits, decimals=3)
    task = TaskSampler(config, pool=pool_of(crystal)).sample(0)
    assert task.crystal.frac[0, 0] == 0.123
    assert task.target_crystal.frac[0, 0] == pytest.approx(0.223, abs=1e-8)


def test_compact_style_has_no_symmetry_tags():
    (full,) = tasks_of(SamplerConfig(actions=("remove",)), seeds=1)
    (compact,) = tasks_of(SamplerConfig(actions=("remove",), cif_style="compact"), seeds=1)
    assert "_symmetry" in full.structure
    assert "_symmetry" not in compact.structure
    assert len(compact.structure) < 0.7 * len(full.structure)


@pytest.mark.parametrize(("low", "high"), [pytest.param(2, 9, id="2 to 9 sites"), pytest.param(30, 40, id="30 to 40")])
def test_number_of_sites_is_kept(low, high):
    tasks = tasks_of(SamplerConfig(min_sites=low, max_sites=high, split=None, actions=("remove", "move")), seeds=15)
    assert all(low <= len(task.crystal) <= high for task in tasks)


@pytest.mark.parametrize("wanted", [pytest.param((0.0, 0.4), id="easy"), pytest.param((0.55, 1.0), id="hard")])
def test_difficulty_is_kept(wanted):
    tasks = tasks_of(SamplerConfig(difficulty=wanted, actions=("move", "add")), seeds=4)
    assert all(wanted[0] <= task.difficulty["score"] <= wanted[1] for task in tasks)


def test_actions_are_drawn_evenly():
    sampler = TaskSampler(SamplerConfig(actions=("remove", "change", "super_cell")))
    counts = Counter(sampler.sample(seed).action for seed in range(150))
    assert set(counts) == {"remove", "change", "super_cell"}
    assert min(counts.values()) > 30


def test_families_are_drawn_evenly_not_structures():
    sampler = TaskSampler(SamplerConfig(actions=("remove",)))
    drawn = Counter(family_of(sampler.sample(seed)) for seed in range(400))
    expected = 400 / len(sampler.families)
    assert max(drawn.values()) < 5 * expected


def test_parameter_ranges_are_those_of_the_configured_edits():
    edits = {**ACTIONS, "move_towards": replace(ACTIONS["move_towards"], distance=(0.4, 0.5))}
    config = SamplerConfig(edits=edits, actions=("move_towards",))
    assert all(0.4 <= task.params["distance"] <= 0.5 for task in tasks_of(config))


def test_elements_without_a_radius_are_not_drawn():
    pool = pool_of(box(("Na", (0, 0, 0)), ("Bk", (5, 5, 5))))
    assert list(drawable_elements(pool)) == ["Na"]


# Rules, at their edges


@dataclass(frozen=True)
class Fixed(Move):
    """A move with given parameters."""

    params: dict | None = None

    def proposals(self, crystal, rng, elements) -> Iterator[dict]:
        while True:
            yield dict(self.params)


def one_move(crystal, index, displacement, **changes):
    """The task of one given move, or None, and the sampler."""
    edits = {"move": Fixed(params={"index": index, "displacement": displacement})}
    config = SamplerConfig(split=None, min_sites=1, actions=("move",), edits=edits, max_draws=1, **changes)
    sampler = TaskSampler(config, pool=pool_of(crystal))
    return sampler.edit(sampler.pool.entry("c0"), "move", 0), sampler


@pytest.mark.parametrize(
    ("step", "accepted", "reason"),
    [
        pytest.param(0.31, True, None, id="0.31 Å"),
        pytest.param(0.29, False, "the unchanged input would be almost right", id="0.29 Å"),
        pytest.param(0.11, False, "the unchanged input would be almost right", id="0.11 Å"),
        pytest.param(0.09, False, "the unchanged input would be right", id="0.09 Å"),
        pytest.param(10.0, False, "the unchanged input would be right", id="a whole lattice vector"),
    ],
)
def test_the_unchanged_input_is_clearly_wrong(step, accepted, reason):
    task, sampler = one_move(box(("Na", (5, 5, 5)), ("Cl", (0, 0, 0))), 0, [step, 0.0, 0.0])
    assert (task is not None) is accepted
    assert dict(sampler.counts.rejected) == ({} if accepted else {("move", reason): 1})


def test_the_baseline_pairs_equal_atoms_so_that_the_largest_distance_is_least():
    # One of two Na moves from 0 to 8 Å past the other at 4 Å: 0 → 4 and 4 → 8 needs only 4 Å.
    task, _ = one_move(box(("Na", (0, 0, 0)), ("Na", (4, 0, 0)), edge=20.0), 0, [8.0, 0.0, 0.0])
    assert task.baseline.max_displacement == pytest.approx(4.0)
    assert task.baseline.sum_displacement == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("place", "factor", "accepted"),
    [
        # Na 1.66 + Cl 1.02 = 2.68 Å; 0.7 of it is 1.876 Å.
        pytest.param(1.88, 0.7, True, id="just far enough"),
        pytest.param(1.87, 0.7, False, id="just too close"),
        pytest.param(1.87, 0.69, True, id="with a smaller factor"),
        pytest.param(0.40, 0.0, True, id="switched off"),
    ],
)
def test_contacts_of_the_moved_atom(place, factor, accepted):
    crystal = box(("Na", (5, 0, 0)), ("Cl", (0, 0, 0)))
    task, sampler = one_move(crystal, 0, [place - 5.0, 0.0, 0.0], contact_factor=factor)
    assert (task is not None) is accepted
    if not accepted:
        assert list(sampler.counts.rejected) == [("move", "two atoms would be too close")]


def test_contacts_of_atoms_the_edit_does_not_touch_are_not_judged():
    crystal = box(("Na", (5, 5, 5)), ("Cl", (0, 0, 0)), ("O", (0.5, 0, 0)))
    task, _ = one_move(crystal, 0, [1.0, 0.0, 0.0])
    assert task is not None


def test_draws_and_structures_that_gave_nothing_are_counted():
    sampler = TaskSampler(SamplerConfig(actions=("swap", "rotate_around", "move")))
    made = [sampler.sample(seed) for seed in range(30)]
    assert sum(sampler.counts.accepted.values()) == len(made)
    assert sampler.counts.accepted == Counter(task.action for task in made)
    assert sampler.counts.rejected[("move", "two atoms would be too close")] > 0
    assert sampler.counts.unsuitable[("swap", "two elements are needed")] > 0
    assert all(action in ("swap", "rotate_around", "move") for action, _ in sampler.counts.rejected)


def test_an_edit_that_nothing_admits_says_why():
    pool = pool_of(box(("Na", (0, 0, 0))))
    sampler = TaskSampler(SamplerConfig(split=None, min_sites=1, actions=("swap",)), pool=pool)
    with pytest.raises(
        UsageError, match=r"^pool [^\n]*no well-posed task of swap: two elements are needed \(\d+\)[^\n]*$"
    ):
        sampler.sample(0)


# Mistakes of the user


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"actions": ("fly",)}, "unknown action 'fly'", id="unknown action"),
        pytest.param({"actions": ()}, "no action is given", id="no action"),
        pytest.param({"split": "dev"}, "unknown split 'dev'", id="unknown split"),
        pytest.param({"cif_style": "shelx"}, "unknown CIF style 'shelx'", id="unknown style"),
        pytest.param({"decimals": 1}, "decimals must be 2 to 8, got 1", id="too few decimals"),
        pytest.param({"decimals": 9}, "decimals must be 2 to 8, got 9", id="too many decimals"),
        pytest.param({"min_sites": 20, "max_sites": 10}, "20 and 10", id="empty range of sites"),
        pytest.param({"min_sites": 0}, "1 <= min_sites", id="no sites"),
    ],
)
def test_a_wrong_configuration_is_refused_in_one_line(changes, message):
    with pytest.raises(UsageError, match=rf"^[^\n]*{re.escape(message)}[^\n]*$"):
        SamplerConfig(**changes)


def test_a_range_of_sites_without_structures_is_refused():
    with pytest.raises(UsageError, match=r"has no structure of 5000 to 6000 sites[^\n]*widen"):
        TaskSampler(SamplerConfig(min_sites=5000, max_sites=6000))


@pytest.mark.parametrize(
    ("seed", "action", "message"),
    [
        pytest.param(-1, "move", "a seed must be 0 or larger, got -1", id="negative seed"),
        pytest.param(0, "fly", "unknown action 'fly'", id="unknown action"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line(seed, action, message):
    with pytest.raises(UsageError, match=rf"^[^\n]*{message}[^\n]*$"):
        TaskSampler().sample(seed, action)


def test_sampling_reads_no_cif_and_finds_no_symmetry(monkeypatch):
    import gemmi

    def forbidden(*_, **__):
        raise AssertionError("a reader was called")

    sampler = TaskSampler(SamplerConfig(actions=tuple(ACTIONS)))
    monkeypatch.setattr(gemmi.cif, "read_string", forbidden)
    monkeypatch.setattr("pymatgen.io.cif.CifParser.__init__", forbidden)
    monkeypatch.setattr("pymatgen.symmetry.analyzer.SpacegroupAnalyzer.__init__", forbidden)
    for action in ACTIONS:
        sampler.sample(1, action)


def test_the_version_names_generator_and_pool():
    sampler = TaskSampler()
    assert sampler.version.endswith(f"+aflow.{default_pool().version}")
    assert sampler.sample(0).version == sampler.version


def test_one_site_is_enough_for_nothing_to_remain():
    assert Remove().unsuitable(box(("Na", (0, 0, 0)))) == "nothing would remain"


def test_a_pool_without_some_edits_gives_the_others() -> None:
    """A training run on silicon must not end because silicon has nothing to swap."""
    silicon = Crystal.printed(
        (5.43, 5.43, 5.43, 90, 90, 90),
        ("Si",) * 8,
        np.array([[0, 0, 0], [0, 2, 2], [2, 0, 2], [2, 2, 0], [1, 1, 1], [1, 3, 3], [3, 1, 3], [3, 3, 1]]) / 4,
    )
    pool = StructurePool("mine", "1", [row_of("si", "si", "by hand", silicon)])
    sampler = TaskSampler(SamplerConfig(split="all", min_sites=2), pool=pool)
    actions = {sampler.sample(seed).action for seed in range(40)}
    assert "swap" not in actions
    assert {"remove", "add", "super_cell"} <= actions


def test_a_difficulty_that_some_edits_never_reach_gives_the_others() -> None:
    sampler = TaskSampler(SamplerConfig(difficulty=(0.6, 1.0)))
    tasks = [sampler.sample(seed) for seed in range(6)]
    assert all(task.difficulty["score"] >= 0.6 for task in tasks)


@pytest.mark.parametrize("difficulty", [5, (0.5,), (0.5, 0.2), ("a", "b")])
def test_a_difficulty_that_is_no_range_is_refused(difficulty) -> None:
    with pytest.raises(UsageError, match="difficulty must be two scores"):
        SamplerConfig(difficulty=difficulty)
