"""StructProp: stored tasks, the stored solutions, floors, and other oracles than the one the values come from."""

from __future__ import annotations

import gzip
import importlib.util
import json
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from atomworld_env.errors import UsageError
from atomworld_env.evaluation.run import evaluate
from atomworld_env.families import structprop
from atomworld_env.families.action_names import PROPERTY_CHANGES
from atomworld_env.families.build_structprop import write_suite
from atomworld_env.families.structprop import PropertyChange, refuse_without_oracle
from atomworld_env.families.structprop_records import STORED_FILE, parts_of, stored_tasks
from atomworld_env.policies.baselines import BASELINES, load_policy
from atomworld_env.policies.property_floors import DIAMOND
from atomworld_env.prompts.prompt import load_template
from atomworld_env.properties import by_name
from atomworld_env.properties.by_name import NOISE, PACKAGED, UNITS
from atomworld_env.properties.cache import CachedOracle
from atomworld_env.properties.oracle import Failure, Noise, PropertyValue
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.pool import default_pool
from atomworld_env.structures.splits import SPLITS
from atomworld_env.tasks.suite import Suite, load_suite
from atomworld_env.tasks.task import Task, dump_line, read_parquet, usable, write_parquet
from rewards import Arrangement, Stage, reward

FINGERPRINT = "21ced18de1441925"
PROMPT = load_template(default="structprop")


class PureFunction:
    """Stands for an oracle: mean atomic number over the volume, so that it needs no packages."""

    property, unit, cost, deterministic, noise = "bulk_modulus", "GPa", "seconds", True, Noise(0.05)

    def __init__(self, version: str = "pure-1", failure: Failure | None = None) -> None:
        self.version = version
        self.failure = failure
        self.asked: list[Arrangement] = []

    def evaluate(self, crystal: Arrangement) -> PropertyValue:
        from ase.data import atomic_numbers

        self.asked.append(crystal)
        if self.failure is not None:
            return PropertyValue(None, "GPa", failure=self.failure, message="no value today")
        numbers = [atomic_numbers[symbol] for symbol in crystal.elements]
        return PropertyValue(float(np.mean(numbers)), "GPa", -1.0)


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite("structprop")


@pytest.fixture
def pure(monkeypatch: pytest.MonkeyPatch) -> PureFunction:
    """The oracle of every property, for a test."""
    oracle = PureFunction()
    cached = CachedOracle(oracle)
    monkeypatch.setattr(structprop, "oracle_of", lambda name, which="default": cached)
    return oracle


def exchanged(task: Task, element: str | None = None) -> str:
    """The crystal shown with another element on its first site, by default the heaviest that is listed."""
    crystal = task.crystal
    element = element or [symbol for symbol in task.params["elements"] if symbol != crystal.species[0]][-1]
    changed = replace(crystal, species=(element, *crystal.species[1:]))
    return f"<cif>\n{write_cif(changed)}</cif>"


def test_the_suite_is_the_stored_one_with_enough_tasks_of_each_direction(suite: Suite) -> None:
    counts = Counter(task.action for task in suite.tasks)
    assert suite.fingerprint == FINGERPRINT
    assert counts["raise_bulk_modulus"] >= 50
    assert counts["lower_bulk_modulus"] >= 50
    assert counts["raise_band_gap"] >= 10
    assert counts["lower_band_gap"] >= 10
    assert {task.split for task in suite.tasks} == {"test"}
    assert len({task.task_id for task in suite.tasks}) == len(suite.tasks)
    assert {task.params["oracle"] for task in suite.tasks} == {oracle.version for oracle in PACKAGED.values()}


def test_names_of_actions_are_directions_and_properties() -> None:
    assert {f"{way}_{name}" for way in ("raise", "lower") for name in UNITS} == set(PROPERTY_CHANGES)


def test_splits_share_no_prototype_and_no_crystal() -> None:
    owner = {entry.structure_id: entry for entry in default_pool().entries()}
    seen: dict[str, set[str]] = {}
    for split in SPLITS:
        for tasks in stored_tasks(split).values():
            for task in tasks:
                # Compounds on a prototype carry its id and their formula behind it.
                entry = owner.get(task.structure_id) or owner[task.structure_id.rpartition("-")[0]]
                assert entry.split == split
                seen.setdefault(entry.family, set()).add(split)
    assert all(len(splits) == 1 for splits in seen.values())


def test_every_task_is_usable_and_survives_its_files(suite: Suite, tmp_path: Path) -> None:
    for task in suite.tasks:
        usable(task)
        assert Task.from_json(json.loads(dump_line(task))) == task
    write_parquet(suite.tasks, tmp_path / "tasks.parquet")
    assert tuple(read_parquet(tmp_path / "tasks.parquet")) == suite.tasks


def test_the_prompt_states_the_numbers_that_the_verdict_uses(suite: Suite) -> None:
    for task in suite.tasks:
        decimals = 1 if task.params["unit"] == "GPa" else 2
        shown = f"by more than {task.params['threshold']:.{decimals}f} {task.params['unit']}"
        assert shown in task.prompt
        assert task.params["threshold"] == round(task.params["threshold"], decimals)
        assert abs(task.params["solution"] - task.params["value"]) > 1.9 * task.params["threshold"]
        noise = NOISE[task.params["property"]].at(task.params["value"])
        assert task.params["threshold"] == pytest.approx(noise, abs=0.051 if decimals == 1 else 0.0051)


def test_the_same_seed_gives_the_same_task_and_splits_differ() -> None:
    family = PropertyChange(split="train")
    first = [family.sample(seed) for seed in range(30)]
    assert first == [PropertyChange(split="train").sample(seed) for seed in range(30)]
    assert len({task.task_id for task in first}) > 5
    assert {task.split for task in first} == {"train"}
    assert family.sample(0, "lower_bulk_modulus").action == "lower_bulk_modulus"
    for arguments, words in (({"seed": -1}, "0 or larger"), ({"seed": 0, "action": "swap"}, "unknown action")):
        with pytest.raises(UsageError, match=words):
            family.sample(**arguments)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no crystal of the split validation"):
        PropertyChange(split="validation").sample(0, "raise_band_gap")


@pytest.mark.parametrize(
    ("params", "texts", "words"),
    [
        ({"threshold": None}, {}, "parameters do not fit"),
        ({"threshold": 1e6}, {}, "does not move the property"),
        ({"direction": "lower"}, {}, "parameters are of lower_bulk_modulus"),
        ({}, {"target": "data_x"}, "cannot be used"),
        ({}, {"structure": "nothing"}, "cannot be used"),
        ({}, {"target": "the structure"}, "the structure again"),
        ({}, {"target": write_cif(DIAMOND)}, "breaks a rule"),
    ],
)
def test_a_task_that_cannot_be_used_is_refused_with_its_fault(
    suite: Suite, params: dict[str, object], texts: dict[str, str], words: str
) -> None:
    task = next(task for task in suite.tasks if task.action == "raise_bulk_modulus" and task.n_sites < 8)
    if texts.get("target") == "the structure":
        texts = {"target": task.structure}
    with pytest.raises(ValueError, match=words):
        usable(replace(task, params=task.params | params, **texts))  # type: ignore[arg-type]


def test_stored_solutions_are_right_without_an_oracle(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_name.PackagedOracle, "evaluate", lambda self, crystal: pytest.fail("a value was asked for"))
    family = PropertyChange()
    for task in suite.tasks:
        verdict = family.verify(task, BASELINES["oracle"].answer(task), profile="strict")
        assert verdict.stage is Stage.CORRECT, task.task_id
        for name in ("noop", "echo", "empty", "garbage", "scaled_cell"):
            wrong = family.verify(task, BASELINES[name].answer(task), profile="strict")
            assert reward(wrong, baseline=task.baseline) <= 0.05
            assert not wrong.success_strict


def test_one_crystal_or_one_element_is_no_answer_to_every_question(suite: Suite, pure: PureFunction) -> None:
    family = PropertyChange()
    for name in ("one_crystal", "one_element"):
        stages = [family.verify(task, BASELINES[name].answer(task), profile="strict").stage for task in suite.tasks]
        assert sum(stage is Stage.COMPOSITION_MISMATCH for stage in stages) > 0.8 * len(stages)


def test_rules_of_thumb_keep_the_rules_so_that_they_measure_chemistry(suite: Suite, pure: PureFunction) -> None:
    family = PropertyChange()
    evaluated = {Stage.CORRECT, Stage.PROPERTY_MISMATCH}
    for name in ("stiffest_element", "smallest_element", "random_substitution"):
        stages = [family.verify(task, BASELINES[name].answer(task), profile="strict").stage for task in suite.tasks]
        assert set(stages) <= evaluated | {Stage.UNCHANGED}
        assert sum(stage in evaluated for stage in stages) > 0.95 * len(stages)


def test_a_solution_in_other_words_is_the_solution(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_name.PackagedOracle, "evaluate", lambda self, crystal: pytest.fail("a value was asked for"))
    task = next(task for task in suite.tasks if task.n_sites > 3)
    crystal = task.target_crystal
    order = np.arange(len(crystal))[::-1]
    turned = replace(crystal, species=tuple(crystal.species[k] for k in order), frac=crystal.frac[order] - 1.0)
    answer = f"I think\n<cif>{write_cif(turned, style='compact', decimals=6)}</cif>"
    assert PropertyChange().verify(task, answer, profile="strict").stage is Stage.CORRECT


def test_through_the_evaluation_the_oracle_is_right_and_copies_are_not(suite: Suite, tmp_path: Path) -> None:
    few = suite.restricted(per_action=3)
    for name, rate in (("oracle", 1.0), ("noop", 0.0), ("echo", 0.0), ("garbage", 0.0)):
        records = evaluate(load_policy(name), few, tmp_path / name, template=PROMPT)
        assert [record["success"] for record in records] == [bool(rate)] * len(few.tasks)


def test_a_run_that_needs_values_says_at_once_what_to_install(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_name, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"needs chgnet and pyscf: pip install .*\[mlip,dft\]"):
        evaluate(load_policy("jittered_sites"), suite, tmp_path / "run", template=PROMPT)
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match="--actions raise_band_gap,lower_band_gap"):
        refuse_without_oracle(["raise_bulk_modulus"], "hf:model")
    refuse_without_oracle(PROPERTY_CHANGES, "oracle")
    task = next(task for task in suite.tasks if task.action == "raise_bulk_modulus")
    verdict = PropertyChange().verify(task, exchanged(task), profile="strict")
    assert verdict.stage is Stage.WORKER_LOST
    assert "[mlip]" in verdict.message
    assert reward(verdict, baseline=task.baseline) == 0.0


def test_another_oracle_evaluates_the_crystal_shown_too(suite: Suite, pure: PureFunction) -> None:
    from ase.data import atomic_numbers

    def heavier(task: Task) -> bool:
        return atomic_numbers[task.params["elements"][-1]] > max(atomic_numbers[each] for each in task.crystal.species)

    raising = next(task for task in suite.tasks if task.action == "raise_bulk_modulus" and heavier(task))
    family = PropertyChange()
    assert family.verify(raising, exchanged(raising), profile="strict").stage is Stage.CORRECT
    assert len(pure.asked) == 2
    lowering = replace(raising, action="lower_bulk_modulus")
    down = family.verify(lowering, exchanged(raising), profile="strict")
    assert down.stage is Stage.PROPERTY_MISMATCH
    assert len(pure.asked) == 2  # values are kept
    assert "lower by more than 0.05 GPa" in down.message


@pytest.mark.parametrize(
    ("failure", "stage"),
    [
        (Failure.CRYSTAL, Stage.PROPERTY_FAILED),
        (Failure.TIMEOUT, Stage.TIMEOUT),
        (Failure.LOST, Stage.WORKER_LOST),
        (Failure.MISSING, Stage.WORKER_LOST),
    ],
)
def test_an_oracle_that_fails_gives_a_verdict(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, failure: Failure, stage: Stage
) -> None:
    task = next(task for task in suite.tasks if task.action == "lower_bulk_modulus")
    version = task.params["oracle"]
    for oracle, whose in ((PureFunction(version, failure), "answer"), (PureFunction("other", failure), "input")):
        monkeypatch.setattr(structprop, "oracle_of", lambda name, which="default", o=oracle: CachedOracle(o))
        verdict = PropertyChange().verify(task, exchanged(task), profile="strict")
        assert verdict.stage is stage
        assert f"of the {whose} is not known: no value today" in verdict.message


def test_a_change_within_the_noise_fails(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where the stored solution is written, its value counts and no other.
    moduli = suite.restricted(["raise_bulk_modulus", "lower_bulk_modulus"]).tasks
    tasks = [task for task in moduli if exchanged(task) != BASELINES["oracle"].answer(task)][:20]
    for task in tasks:
        way = 1 if parts_of(task.action)[0] == "raise" else -1
        for share, stage in ((0.99, Stage.PROPERTY_MISMATCH), (1.01, Stage.CORRECT), (-1.5, Stage.PROPERTY_MISMATCH)):
            oracle = PureFunction(task.params["oracle"])
            value = task.params["value"] + way * share * task.params["threshold"]
            monkeypatch.setattr(oracle, "evaluate", lambda crystal, v=value: PropertyValue(v, "GPa"))
            monkeypatch.setattr(structprop, "oracle_of", lambda name, which="default", o=oracle: CachedOracle(o))
            assert PropertyChange().verify(task, exchanged(task), profile="strict").stage is stage


def test_the_file_holds_nothing_but_crystals_and_values() -> None:
    assert STORED_FILE.stat().st_size < 200_000


live = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("chgnet") is None, reason="needs the extra mlip"),
]


class TestLive:
    """Values computed here."""

    pytestmark = live

    @pytest.mark.parametrize("name", sorted(UNITS))
    def test_stored_values_are_found_again(self, suite: Suite, name: str) -> None:
        if name == "band_gap" and importlib.util.find_spec("pyscf") is None:
            pytest.skip("needs the extra dft")
        tasks = sorted((task for task in suite.tasks if parts_of(task.action)[1] == name), key=lambda t: t.n_sites)[:4]
        for task in tasks:
            for cif, value in ((task.structure, task.params["value"]), (task.target, task.params["solution"])):
                found = PACKAGED[name].evaluate(structprop.prepared(cif).given)
                assert found.value == pytest.approx(value, abs=NOISE[name].at(value) / 4)

    def test_twenty_tasks_take_less_than_ten_minutes_and_displacements_earn_nothing(self, suite: Suite) -> None:
        tasks = [task for task in suite.tasks if parts_of(task.action)[1] == "bulk_modulus"][:20]
        family = PropertyChange()
        begun = time.monotonic()
        for task in tasks:
            verdict = family.verify(task, BASELINES["jittered_sites"].answer(task), profile="strict")
            assert not verdict.success_strict, verdict.message
        assert time.monotonic() - begun < 600

    def test_moduli_lie_beside_the_literature(self) -> None:
        from benchmarks.bulk_moduli import CRYSTALS, primitive

        for name, elements, constant, second, literature, _ in CRYSTALS:
            value = PACKAGED["bulk_modulus"].evaluate(primitive(elements, constant, second)).value
            assert value == pytest.approx(literature, rel=0.3), name

    def test_the_fit_agrees_with_that_of_ase(self) -> None:
        """Relaxed again here, by another optimiser, with energies one by one and ASE's own equation of state."""
        from ase import Atoms
        from ase.eos import EquationOfState
        from ase.filters import FrechetCellFilter
        from ase.optimize import BFGS
        from ase.units import GPa

        from benchmarks.bulk_moduli import primitive

        salt = primitive(("Na", "Cl"), 5.64, (0.5, 0.5, 0.5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from chgnet.model import CHGNet
            from chgnet.model.dynamics import CHGNetCalculator

            calculator = CHGNetCalculator(CHGNet.load(model_name="0.3.0", use_device="cpu", verbose=False))
            atoms = Atoms(salt.elements, scaled_positions=salt.frac, cell=salt.cell, pbc=True, calculator=calculator)
            BFGS(FrechetCellFilter(atoms), logfile=None).run(fmax=0.01, steps=100)
            volumes, energies = [], []
            for factor in np.linspace(0.98, 1.02, 7):
                strained = atoms.copy()
                strained.calc = calculator
                strained.set_cell(atoms.cell * factor, scale_atoms=True)
                volumes.append(strained.get_volume())
                energies.append(float(strained.get_potential_energy()))
            modulus = EquationOfState(volumes, energies, eos="birchmurnaghan").fit()[2] / GPa
        found = PACKAGED["bulk_modulus"].evaluate(salt).value
        assert found == pytest.approx(modulus, abs=NOISE["bulk_modulus"].at(modulus) / 2)

    def test_other_descriptions_of_a_crystal_have_its_value(self) -> None:
        cell = (5.64, 5.64, 5.64, 90.0, 90.0, 90.0)
        corners = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
        frac = np.concatenate([corners, corners + 0.5])
        species = ("Na",) * 4 + ("Cl",) * 4
        edge = 5.64 / 2**0.5
        descriptions = [
            Arrangement(cell, species, frac),
            Arrangement(cell, species[::-1], frac[::-1] + np.array([0.1, 0.2, 0.3])),
            Arrangement((edge, edge, edge, 60.0, 60.0, 60.0), ("Na", "Cl"), np.array([[0, 0, 0], [0.5, 0.5, 0.5]])),
            Arrangement((5.3, 5.3, 5.3, 90.0, 90.0, 90.0), species, frac),
        ]
        values = [PACKAGED["bulk_modulus"].evaluate(each).value for each in descriptions]
        assert max(values) - min(values) < NOISE["bulk_modulus"].at(values[0]) / 2  # type: ignore[type-var,operator]

    @pytest.mark.parametrize(
        "crystal",
        [
            pytest.param(Arrangement((30.0, 30.0, 30.0, 90.0, 90.0, 90.0), ("H",), np.zeros((1, 3))), id="lone atom"),
            pytest.param(Arrangement((1.0, 1.0, 1.0, 90.0, 90.0, 90.0), ("U",), np.zeros((1, 3))), id="crushed"),
            pytest.param(Arrangement((4.0, 4.0, 4.0, 90.0, 90.0, 90.0), ("Cf",), np.zeros((1, 3))), id="unknown"),
            pytest.param(
                Arrangement((4.0, 4.0, 4.0, 90.0, 90.0, 90.0), ("Na", "Cl"), np.array([[0, 0, 0], [0.13, 0, 0]])),
                id="atoms nearly on one another",
            ),
        ],
    )
    def test_odd_crystals_have_a_value_or_a_failure(self, crystal: Arrangement) -> None:
        found = PACKAGED["bulk_modulus"].evaluate(crystal)
        assert (found.value is None) == (found.failure is not None)
        assert found.failure in (None, Failure.CRYSTAL, Failure.TIMEOUT)


def test_records_of_ones_own_make_a_suite(tmp_path: Path) -> None:
    records = [json.loads(line) for line in gzip.decompress(STORED_FILE.read_bytes()).splitlines()]
    chosen = [record for record in records if record["split"] == "train"][:3]
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    paths[0].write_text("".join(json.dumps(record) + "\n" for record in chosen[:2]))
    paths[1].write_text("".join(json.dumps(record) + "\n" for record in chosen[1:]))  # one of them twice
    number = write_suite(paths, tmp_path / "more")
    made = load_suite(tmp_path / "more")
    assert len(made.tasks) == number == sum(len(record["solutions"]) for record in chosen)
    assert made.family == "structprop"
    shipped = {task.prompt for tasks in stored_tasks("train").values() for task in tasks}
    assert {task.prompt for task in made.tasks} <= shipped
    for task in made.tasks:
        assert load_policy("oracle").answer(task).count("<cif>") == 1
