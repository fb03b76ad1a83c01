"""The profile of each model: its edits, and the skills that the diagnostic suites measure one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from atomworld_env.competence.published import CAVEAT, PUBLISHED_D
from atomworld_env.competence.stored import CompetenceResult
from atomworld_env.evaluation.intervals import Rate
from atomworld_env.report.chart_kinds import Chart, EffectChart, RateChart, RateSeries
from atomworld_env.report.published import PublishedModel
from atomworld_env.report.stored_run import StoredRun, by_family, shortened
from atomworld_env.report.success_table import SuccessTable, edits_of, kind_table

SKILLS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "edits": ("edits", "crystals changed as asked"),
        "coordinates": ("coordinates", "the geometry without the crystal"),
        "cif_repair": ("CIF repair", "the format"),
        "cif_gen": ("CIF generation", "standard structures"),
        "structprop": ("property change", "how a property follows from elements and structure"),
    }
)
"""Of each family, the name of its skill and what it isolates."""

PUBLISHED_PROPERTY_CHANGE = MappingProxyType({"Gemini 2.5 Pro": (8, 6)})
"""Right of ten band gaps and of ten bulk moduli, the sign of the change alone (arXiv:2510.04704)."""


@dataclass(frozen=True)
class Profile:
    """What is known of one model.

    Attributes:
        label: its name.
        model: its number on the page, which gives its colour and mark; None for a published model.
        rates: success under the strict profile by family.
        unanswered: attempts without an answer and all attempts, by family.
        edits_paper: success on edits under the paper profile.
        floor: what the unchanged input passes of these.
        competence: its run of chemical competence.
        published_d: d of the published competence test, for a published model.
        published_changes: right of ten band gaps and of ten bulk moduli, for a published model.
    """

    label: str
    model: int | None
    rates: Mapping[str, Rate] = field(default_factory=dict)
    unanswered: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    edits_paper: Rate | None = None
    floor: Rate | None = None
    competence: CompetenceResult | None = None
    published_d: float | None = None
    published_changes: tuple[int, int] | None = None

    def answered(self, family: str) -> bool:
        """Whether there is any answer to tasks of the family."""
        missing, asked = self.unanswered.get(family, (0, 1))
        return missing < asked

    @property
    def d(self) -> float | None:
        """Cohen's d by mean rank over all tokens, which is the published measure."""
        return self.published_d if self.competence is None else self.competence.effects["rank"].d

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of :attr:`d`."""
        return None if self.competence is None else self.competence.effects["rank"].interval


@dataclass(frozen=True)
class Skills:
    """What the report says about skills.

    Attributes:
        profiles: of the models of the runs, then the published ones.
        tables: success by kind of task, by family, without the edits.
        charts: its figures.
    """

    profiles: tuple[Profile, ...]
    tables: Mapping[str, SuccessTable]
    charts: tuple[Chart, ...]


def skills_of(
    runs: Sequence[StoredRun], competence: Sequence[CompetenceResult], published: Sequence[PublishedModel]
) -> Skills | None:
    """Profiles, tables and figures; None if all runs are of edits."""
    families = by_family(runs)
    if not competence and set(families) <= {"edits"}:
        return None
    edits = edits_of([run for _, run in families.get("edits", [])])
    profiles = [*_of_runs(runs, competence), *_published(published, edits)]
    tables = {name: kind_table(name, members) for name, members in families.items() if name != "edits"}
    return Skills(tuple(profiles), MappingProxyType(tables), tuple(_charts(profiles)))


def _of_runs(runs: Sequence[StoredRun], competence: Sequence[CompetenceResult]) -> list[Profile]:
    """A profile for each model."""
    found: dict[int, Profile] = {}
    numbers: dict[tuple[str, int], int] = {}
    names = {run.model: run.model_name for run in runs}
    for run in runs:
        alone = sum(name == run.model_name for name in names.values()) == 1
        profile = found.get(run.model) or Profile(shortened(run.model_name) if alone else run.label, run.model)
        known: dict[str, Any] = {
            "rates": {**profile.rates, run.family: run.overall.strict},
            "unanswered": {**profile.unanswered, run.family: (run.overall.unanswered, run.overall.attempts)},
        }
        if run.family == "edits" and run.with_paper:
            known |= {"edits_paper": run.overall.paper, "floor": run.overall.floor}
        found[run.model] = replace(profile, **known)
    for number, name in names.items():
        numbers[name, sum(other == name for other, _ in numbers)] = number
    seen: Counter[str] = Counter()
    for result in competence:
        number = numbers.setdefault((result.policy, seen[result.policy]), len(numbers))
        seen[result.policy] += 1
        profile = found.get(number) or Profile(shortened(result.policy), number)
        found[number] = replace(profile, competence=result)
    return list(found.values())


def _published(models: Sequence[PublishedModel], edits: Sequence[str]) -> list[Profile]:
    """Every published model of which a figure is known, by its name."""
    means = {model.name: model.mean(edits) for model in models} if edits else {}
    names = dict.fromkeys([*means, *PUBLISHED_D, *PUBLISHED_PROPERTY_CHANGE])
    return [
        Profile(
            name,
            None,
            edits_paper=means.get(name),
            published_d=PUBLISHED_D.get(name),
            published_changes=PUBLISHED_PROPERTY_CHANGE.get(name),
        )
        for name in names
    ]


def _charts(profiles: Sequence[Profile]) -> Iterator[Chart]:
    asked = [family for family in SKILLS if any(family in profile.rates for profile in profiles)]
    if len(asked) > 1:
        series = tuple(
            RateSeries(
                profile.label,
                "run",
                profile.model,
                {SKILLS[name][0]: rate for name, rate in profile.rates.items() if profile.answered(name)},
            )
            for profile in profiles
            if profile.rates
        )
        yield RateChart(
            "skills",
            "Success by skill, strict profile",
            "Each row is another suite: "
            + "; ".join(f"{SKILLS[name][0]}, {SKILLS[name][1]}" for name in asked)
            + ". Their difficulty is not the same: compare models within a row.",
            "",
            tuple(SKILLS[name][0] for name in asked),
            series,
            "dots",
        )
    if any(profile.competence is not None for profile in profiles):
        yield EffectChart(
            "competence",
            "Chemical competence",
            "Cohen's d between true descriptions of crystals and their false twins, by mean token rank. Grey: "
            f"{CAVEAT}.",
            "Cohen's d",
            tuple(
                (profile.label, profile.model, profile.d, profile.interval)
                for profile in profiles
                if profile.d is not None
            ),
        )
