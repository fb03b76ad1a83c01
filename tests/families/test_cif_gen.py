"""CIF-Gen: every type as its space group makes it, statements that leave nothing open, splits, the fixed suite."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from ase.spacegroup import crystal as ase_crystal
from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core.structure import Structure

from atomworld_env.errors import UsageError
from atomworld_env.evaluation.run import evaluate
from atomworld_env.families.action_names import GENERATIONS
from atomworld_env.families.cif_gen import PREFIX, CifGeneration
from atomworld_env.families.cif_gen_composition import ANIONS, KINDS, METALS, OFF_USUAL, STRETCH, split_of
from atomworld_env.families.cif_gen_prototypes import PROTOTYPES
from atomworld_env.families.registry import FAMILIES
from atomworld_env.policies.baselines import BASELINES, load_policy
from atomworld_env.prompts.prompt import load_template
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.contacts import CONTACT_FACTOR, covalent_radius, smallest_contact_ratio
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.splits import SPLITS
from atomworld_env.tasks.suite import Suite, load_suite
from atomworld_env.tasks.task import Task, dump_line, read_parquet, usable, write_parquet
from rewards import SCHEMES, Stage, components, reward

FINGERPRINT = "88fb5189da7fb41a"
TEMPLATE = load_template(default="cif_gen")

# Space group, its setting in ase, and one site of each orbit, from the International Tables and not from the package.
O, H, Q, T, TT = 0, 1 / 2, 1 / 4, 1 / 3, 2 / 3  # noqa: E741
Orbits = dict[str, list[tuple[float, float, float]]]


def orbits(name: str, u: float) -> tuple[int, int, Orbits]:
    """Space group, setting, and orbits of each role."""
    close_packed = (T, TT, Q)
    return {
        "sc": (221, 1, {"A": [(O, O, O)]}),
        "fcc": (225, 1, {"A": [(O, O, O)]}),
        "bcc": (229, 1, {"A": [(O, O, O)]}),
        "hcp": (194, 1, {"A": [close_packed]}),
        "diamond": (227, 1, {"A": [(O, O, O)]}),
        "graphite": (194, 1, {"A": [(O, O, Q), close_packed]}),
        "beta_tin": (141, 1, {"A": [(O, O, O)]}),
        "rocksalt": (225, 1, {"A": [(O, O, O)], "X": [(H, H, H)]}),
        "cesium_chloride": (221, 1, {"A": [(O, O, O)], "X": [(H, H, H)]}),
        "zincblende": (216, 1, {"A": [(O, O, O)], "X": [(Q, Q, Q)]}),
        "wurtzite": (186, 1, {"A": [(T, TT, O)], "X": [(T, TT, u)]}),
        "nickel_arsenide": (194, 1, {"A": [(O, O, O)], "X": [close_packed]}),
        "tungsten_carbide": (187, 1, {"A": [(O, O, O)], "X": [(T, TT, H)]}),
        "boron_nitride": (194, 1, {"A": [(T, TT, Q)], "X": [(T, TT, 3 / 4)]}),
        "fluorite": (225, 1, {"A": [(O, O, O)], "X": [(Q, Q, Q)]}),
        "antifluorite": (225, 1, {"X": [(O, O, O)], "A": [(Q, Q, Q)]}),
        "rutile": (136, 1, {"A": [(O, O, O)], "X": [(u, u, O)]}),
        "anatase": (141, 1, {"A": [(O, O, O)], "X": [(O, O, u)]}),
        "pyrite": (205, 1, {"A": [(O, O, O)], "X": [(u, u, u)]}),
        "cadmium_iodide": (164, 1, {"A": [(O, O, O)], "X": [(T, TT, u)]}),
        "molybdenite": (194, 1, {"A": [close_packed], "X": [(T, TT, u)]}),
        "cuprite": (224, 1, {"X": [(O, O, O)], "A": [(Q, Q, Q)]}),
        "aluminium_diboride": (191, 1, {"A": [(O, O, O)], "X": [(T, TT, H)]}),
        "laves_c15": (227, 1, {"A": [(O, O, O)], "X": [(5 / 8, 5 / 8, 5 / 8)]}),
        "perovskite": (221, 1, {"A": [(O, O, O)], "B": [(H, H, H)], "X": [(H, H, O)]}),
        "spinel": (
            227,
            1,
            {"A": [(O, O, O)], "B": [(5 / 8, 5 / 8, 5 / 8)], "X": [(u + 1 / 8, u + 1 / 8, u + 1 / 8)]},
        ),
        "rhenium_trioxide": (221, 1, {"A": [(O, O, O)], "X": [(H, O, O)]}),
        "cu3au": (221, 1, {"A": [(H, H, O)], "X": [(O, O, O)]}),
        "cuau": (123, 1, {"A": [(O, O, O)], "X": [(H, H, H)]}),
        "a15": (223, 1, {"A": [(Q, O, H)], "X": [(O, O, O)]}),
        "bismuth_trifluoride": (225, 1, {"A": [(O, O, O)], "X": [(H, H, H), (Q, Q, Q)]}),
        "heusler": (225, 1, {"A": [(Q, Q, Q)], "B": [(O, O, O)], "X": [(H, H, H)]}),
        "half_heusler": (216, 1, {"A": [(Q, Q, Q)], "B": [(O, O, O)], "X": [(H, H, H)]}),
        "thcr2si2": (139, 1, {"A": [(O, O, O)], "B": [(O, H, Q)], "X": [(O, O, u)]}),
    }[name]


def from_space_group(task: Task) -> Structure:
    """The crystal of a task from its parameters, by ase and the table above."""
    params = task.params
    prototype = PROTOTYPES[task.action.removeprefix(PREFIX)]
    group, setting, of_role = orbits(prototype.name, params.get("u", 0.0))
    sites = [(params[f"element_{role}"], place) for role, places in of_role.items() for place in places]
    a, c = params["a"], params.get("c", params["a"])
    gamma = 120 if prototype.system == "hexagonal" else 90
    atoms = ase_crystal(
        [symbol for symbol, _ in sites],
        [place for _, place in sites],
        spacegroup=group,
        setting=setting,
        cellpar=[a, a, c, 90, 90, gamma],
        symprec=1e-5,
    )
    return Structure(atoms.cell.array, atoms.get_chemical_symbols(), atoms.get_scaled_positions())


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite("cif-gen")


def test_names_and_types_belong_together() -> None:
    assert tuple(f"{PREFIX}{name}" for name in PROTOTYPES) == GENERATIONS
    assert {"sc", "fcc", "bcc", "hcp", "rocksalt", "diamond", "perovskite", "fluorite", "rutile", "graphite"} <= set(
        PROTOTYPES
    )


def test_the_suite_is_pinned_and_covers_each_type(suite: Suite) -> None:
    assert suite.fingerprint == FINGERPRINT
    assert len(suite.tasks) == 136
    assert set(Counter(task.action for task in suite.tasks).values()) == {4}
    assert {task.split for task in suite.tasks} == {"test"}
    assert len({task.task_id for task in suite.tasks}) == len(suite.tasks)
    assert all(usable(task) is task for task in suite.tasks)


def test_every_target_is_what_its_space_group_makes(suite: Suite) -> None:
    matcher = StructureMatcher(ltol=1e-4, stol=2e-3, angle_tol=0.01, primitive_cell=True, scale=False)
    for task in suite.tasks:
        other = from_space_group(task)
        crystal = task.target_crystal
        assert len(other) == len(crystal) == task.n_sites
        assert matcher.fit(other, Structure(crystal.matrix, crystal.species, crystal.frac)), task.task_id


def test_the_crystal_of_ase_is_right_with_and_without_operators(suite: Suite) -> None:
    from pymatgen.io.cif import CifWriter

    family = CifGeneration()
    for task in suite.tasks:
        structure = from_space_group(task)
        for symprec in (None, 1e-3):
            text = str(CifWriter(structure, symprec=symprec, significant_figures=5))
            assert family.verify(task, f"<cif>{text}</cif>", profile="strict").success_strict, task.task_id


def test_every_number_and_every_element_is_in_the_words(suite: Suite) -> None:
    for task in suite.tasks:
        prototype = PROTOTYPES[task.action.removeprefix(PREFIX)]
        assert prototype.title in task.prompt
        for key, value in task.params.items():
            shown = value if isinstance(value, str) else f"{key} = {value:.{4 if key == 'u' else 3}f}"
            assert shown in task.prompt
        assert (prototype.free is not None) == ("u" in task.params) == ("Free coordinate" in task.prompt)
        if prototype.free is not None:
            assert "u" in prototype.says
        assert "{" not in task.prompt


def test_lattice_constants_are_plausible(suite: Suite) -> None:
    for task in suite.tasks:
        prototype = PROTOTYPES[task.action.removeprefix(PREFIX)]
        assert smallest_contact_ratio(task.target_crystal)[0] >= CONTACT_FACTOR
        structure = from_space_group(task)
        radii = [covalent_radius(task.params[f"element_{role}"]) for role in prototype.bond[:2]]
        pair = {task.params[f"element_{role}"] for role in prototype.bond[:2]}
        found = [
            neighbour.nn_distance / sum(radii)
            for site, neighbours in zip(structure, structure.get_all_neighbors(1.3 * sum(radii)), strict=True)
            for neighbour in neighbours
            if {site.specie.symbol, neighbour.specie.symbol} == pair
        ]
        assert any(STRETCH[0] - 0.01 < ratio < STRETCH[1] + 0.01 for ratio in found), task.task_id


def test_elements_fit_their_roles(suite: Suite) -> None:
    assert not set(METALS) & set(ANIONS)
    for task in suite.tasks:
        prototype = PROTOTYPES[task.action.removeprefix(PREFIX)]
        symbols = [task.params[f"element_{role}"] for role in prototype.roles]
        assert len(set(symbols)) == len(symbols)
        assert all(symbol in KINDS[kind] for symbol, kind in zip(symbols, prototype.roles.values(), strict=True))


def test_splits_share_no_type_with_a_composition() -> None:
    seen: dict[str, set[str]] = {}
    for split in SPLITS:
        family = CifGeneration(split=split)
        tasks = [family.sample(seed) for seed in range(400)]
        assert {task.split for task in tasks} == {split}
        seen[split] = {task.structure_id for task in tasks}
    assert not seen["train"] & seen["test"]
    assert not seen["train"] & seen["validation"]
    assert not seen["validation"] & seen["test"]
    assert split_of(PROTOTYPES["rocksalt"], {"A": "Na", "X": "Cl"}) in SPLITS
    assert {task.split for task in (CifGeneration(split="all").sample(seed) for seed in range(60))} == set(SPLITS)


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert dump_line(CifGeneration().sample(11)) == dump_line(CifGeneration().sample(11))
    assert CifGeneration().sample(11).task_id != CifGeneration().sample(12).task_id


def test_records_come_back_from_json_and_parquet(suite: Suite, tmp_path: Path) -> None:
    tasks = suite.tasks[:40]
    assert [Task.from_json(json.loads(dump_line(task))) for task in tasks] == list(tasks)
    write_parquet(tasks, tmp_path / "tasks.parquet")
    assert [dump_line(task) for task in read_parquet(tmp_path / "tasks.parquet")] == [dump_line(task) for task in tasks]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"actions": ("generate_nothing",)}, "unknown action 'generate_nothing'"),
        ({"actions": ()}, "no action"),
        ({"split": "half"}, "unknown split 'half'"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CifGeneration(**arguments)


def test_a_record_that_is_not_complete_is_refused(suite: Suite) -> None:
    record = suite.tasks[0].to_json()
    with pytest.raises(ValueError, match="do not fit generate_sc"):
        usable(Task.from_json(record | {"params": {}}))
    with pytest.raises(ValueError, match="target"):
        usable(Task.from_json(record | {"target": "data_"}))


def test_nothing_written_and_nearly_right_answers_earn_what_they_must(suite: Suite) -> None:
    family = CifGeneration()
    earned: dict[str, list[float]] = {}
    for task in suite.tasks:
        for name in ("noop", "echo", "empty", "garbage", "constant_off", "atom_nudged"):
            found = family.verify(task, BASELINES[name].answer(task), profile="strict")
            assert found.stage is not Stage.CORRECT, (name, task.task_id)
            earned.setdefault(name, []).append(reward(found, baseline=task.baseline))
            assert reward(found, "strict", baseline=task.baseline) == 0
        right = family.verify(task, BASELINES["oracle"].answer(task), profile="strict")
        assert all(reward(right, scheme, baseline=task.baseline) > 1 - 1e-6 for scheme in SCHEMES if scheme != "paper")
    means = {name: float(np.mean(values)) for name, values in earned.items()}
    assert all(means[name] <= 0.05 for name in ("noop", "echo", "empty", "garbage", "constant_off"))
    assert means["atom_nudged"] <= 0.5


def test_the_composition_is_worth_nothing_and_the_places_up_to_045(suite: Suite) -> None:
    family = CifGeneration()
    task = next(task for task in suite.tasks if task.action == "generate_fluorite")
    crystal = task.target_crystal

    def parts(cell: tuple[float, ...], species: tuple[str, ...], frac: np.ndarray) -> dict[str, float]:
        text = write_cif(Crystal(cell, species, frac))
        return components(family.verify(task, f"<cif>{text}</cif>", profile="strict"), "shaped", task.baseline)

    nothing = {"parse": 0.05, "composition": 0.0, "geometry": 0.0, "success": 0.0}
    one_element = tuple("Xe" if each == task.params["element_A"] else each for each in crystal.species)
    assert parts(crystal.cell, one_element, crystal.frac) == nothing
    unit = [task.params[f"element_{role}"] for role in "AXX"]
    assert parts(crystal.cell, tuple(unit), np.arange(3)[:, None] / 3 * np.ones(3)) == nothing
    credit = []
    for size in (0.06, 0.1, 0.2):
        # The metal of every primitive cell off in the same direction.
        frac = crystal.frac.copy()
        frac[[each == task.params["element_A"] for each in crystal.species]] += np.array([size / crystal.cell[0], 0, 0])
        found = parts(crystal.cell, crystal.species, frac)
        assert found["composition"] == found["success"] == 0
        credit.append(found["geometry"])
    assert 0.45 > credit[0] > credit[1] > credit[2] > 0


def test_a_free_coordinate_must_be_read() -> None:
    """The crystal with the middle of the range in its place is wrong, even at nearly twice the tolerance."""
    family = CifGeneration(split="all")
    wide = CifGeneration(split="all", tolerance=0.95 * OFF_USUAL)
    with_free = [prototype for prototype in PROTOTYPES.values() if prototype.free is not None]
    assert len(with_free) == 8
    for prototype in with_free:
        for seed in range(25):
            task = family.sample(seed, f"{PREFIX}{prototype.name}")
            params, (low, high) = task.params, prototype.free or (0, 0)
            assert low <= params["u"] <= high
            elements = {role: params[f"element_{role}"] for role in prototype.roles}
            usual = prototype.crystal(elements, params["a"], params.get("c"), (low + high) / 2)
            answer = f"<cif>{write_cif(usual, decimals=6)}</cif>"
            for strictness in (family, wide):
                assert strictness.verify(task, answer, profile="strict").stage is Stage.STRUCTURE_MISMATCH, task.prompt


def test_the_coordinates_of_the_words_are_right_under_the_name_of_the_group(suite: Suite) -> None:
    """Spinel in the origin that the prompt states, with a name that leaves the origin open and one that does not."""
    task = next(task for task in suite.tasks if task.action == "generate_spinel")
    a, u = task.params["a"], task.params["u"]
    rows = [
        f"{task.params[f'element_{role}']} {at:.4f} {at:.4f} {at:.4f}"
        for role, at in (("A", 1 / 8), ("B", 1 / 2), ("X", u))
    ]
    tags = [f"_cell_length_{axis} {a}" for axis in "abc"]
    tags += [f"_cell_angle_{angle} 90" for angle in ("alpha", "beta", "gamma")]
    loop = ["loop_", *(f"_atom_site_{tag}" for tag in ("label", "fract_x", "fract_y", "fract_z")), *rows]
    for name, right in (("F d -3 m", True), ("Fd-3m:2", True), ("F d -3 m Z", True), ("F d -3 m :1", False)):
        text = "\n".join(["data_x", *tags, f"_symmetry_space_group_name_H-M '{name}'", *loop])
        for engine in ("fast", "reference"):
            found = CifGeneration(engine=engine).verify(task, f"<cif>{text}</cif>", profile="strict")
            assert found.success_strict == right, (name, found.message)


@pytest.mark.parametrize("policy", ["oracle", "constant_off", "echo"])
def test_evaluation_of_ceiling_and_floors(policy: str, suite: Suite, tmp_path: Path) -> None:
    records = evaluate(load_policy(policy), suite.restricted(None, 1), tmp_path, template=TEMPLATE)
    assert len(records) == len(PROTOTYPES)
    assert {record["success"] for record in records} == {policy == "oracle"}
    assert FAMILIES["cif_gen"].suite == suite.name


def test_the_worked_example_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cif-gen.md").read_text(encoding="utf-8")
    task = CifGeneration(split="train").sample(0, "generate_rutile")
    assert f"> {task.prompt}\n" in page
    answer = "<cif>" + page.split("    <cif>")[1].split("</cif>")[0].replace("\n    ", "\n") + "</cif>"
    assert CifGeneration().verify(task, answer, profile="strict").success_strict
    assert all(f"`{name}`" in page for name in PROTOTYPES)
