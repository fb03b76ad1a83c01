"""What `attack_verifier.py` found: figures by kind, the bounds on means, totals, and reproducers of what is wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median, quantiles, stdev
from typing import Any

from attack_plan import Job, answer_of
from attack_worker import PAPER_MOST_SITES, PAPER_SITES, Outcome
from hostile_answers import KINDS, Bound
from rich.table import Table

from atomworld_env.tasks.task import Task
from rewards.schemes import COMPOSITION_CREDIT, PARSE_CREDIT

CLASSES = ("exception", "hang", "output", "engine difference", "pool difference", "wrong reward", "memory")
IGNORANT_MARGIN, SPOILED_MARGIN = 0.01, 0.05  # as in the audit, which holds the means over many more tasks
STANDARD_ERRORS, LEAST_TASKS = 3.0, 5  # some 300 means are held at once
REPRODUCERS = 5  # of each class


class Findings:
    """Everything that is known about the answers of one attack.

    Attributes:
        outcomes: of each answer.
        problems: what is wrong: answer (None where it is about many), class and sentence.
        peak: largest resident memory of a worker in bytes.
        in_pool, pool_peak: answers that went through the pool, and the same of its workers.
    """

    def __init__(self, tasks: Sequence[Task], seed: int, memory_limit: int) -> None:
        self._tasks, self._seed, self._memory_limit = tasks, seed, memory_limit
        self.outcomes: dict[Job, Outcome] = {}
        self.problems: list[tuple[Job | None, str, str]] = []
        self.peak = self.in_pool = self.pool_peak = 0

    @property
    def total(self) -> int:
        return len(self.problems)

    def add(self, outcomes: Sequence[Outcome], peak: int) -> None:
        """Outcomes of a worker with the peak of its memory."""
        for outcome in outcomes:
            self.outcomes[outcome.job] = outcome
            self.problems += [(outcome.job, kind, text) for kind, text in outcome.problems]
            if outcome.memory > self._memory_limit:
                self.problems.append((outcome.job, "memory", f"{outcome.memory / 2**20:.0f} MiB for one answer"))
        self.peak = max(self.peak, peak)

    def add_pool(self, answers: int, peak: int, problems: Sequence[tuple[Job, str, str]], *, printed: int) -> None:
        """What came of the answers that went through the pool."""
        self.in_pool, self.pool_peak = answers, peak
        self.problems += problems
        if printed:
            self.problems.append((None, "output", f"{printed} bytes from the processes of the pool"))

    def hold_means(self) -> None:
        """Hold the mean reward of ignorant and spoiled kinds against its bound, edit by edit."""
        earned: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for job, outcome in self.outcomes.items():
            if outcome.right is not True:
                earned[job.kind, self._tasks[job.task].action][job.task].append(outcome.rewards[0])
        for (kind, action), by_task in earned.items():
            changing = [self._tasks[number].baseline.composition_difference > 0 for number in by_task]
            match KINDS[kind].bound:
                case Bound.IGNORANT:
                    most = PARSE_CREDIT + IGNORANT_MARGIN
                case Bound.SPOILED:
                    most = PARSE_CREDIT + COMPOSITION_CREDIT * mean(changing) + SPOILED_MARGIN
                case _:
                    continue
            # The answers to one task are no independent trials; the tasks are.
            values = [mean(rewards) for rewards in by_task.values()]
            if len(values) < LEAST_TASKS:
                continue
            error = stdev(values) / len(values) ** 0.5
            if mean(values) - STANDARD_ERRORS * error > most + 1e-9:
                text = f"{kind} on {action} earns {mean(values):.3f} ± {error:.3f}, the bound is {most:.2f}"
                self.problems.append((None, "wrong reward", text))

    def by_kind(self) -> list[dict[str, Any]]:
        """A row of figures for every kind."""
        groups: dict[str, list[Outcome]] = defaultdict(list)
        for outcome in self.outcomes.values():
            groups[outcome.job.kind].append(outcome)
        return [_figures(name, groups[name]) for name in KINDS if name in groups]

    def counts(self) -> dict[str, int]:
        """How many problems of each class; all classes are there."""
        found = Counter(kind for _, kind, _ in self.problems)
        return {kind: found[kind] for kind in CLASSES}

    def lines(self, seconds: float) -> list[str]:
        """The totals in words."""
        outcomes = list(self.outcomes.values())
        milliseconds = sorted(outcome.seconds * 1e3 for outcome in outcomes)
        return [
            f"{len(outcomes):,} answers to {len(self._tasks)} tasks in {seconds:.0f} s; strict verification "
            f"p50 {median(milliseconds):.2f} ms, p99 {quantiles(milliseconds, n=100)[98]:.0f} ms, "
            f"worst {milliseconds[-1]:.0f} ms",
            f"engines compared on {len(outcomes):,} under strict, on {sum(o.paper for o in outcomes):,} under paper "
            f"(targets of at most {PAPER_SITES} sites, and every tenth answer up to {PAPER_MOST_SITES})",
            f"independent check: {sum(o.right is True for o in outcomes):,} right, "
            f"{sum(o.right is False for o in outcomes):,} wrong, the others unreadable or within rounding of a limit; "
            f"{sum(o.stage == 'correct' for o in outcomes):,} found correct",
            f"peak memory of a worker {self.peak / 2**20:.0f} MiB, for one answer "
            f"{max(o.memory for o in outcomes) / 2**20:.0f} MiB more; in the pool {self.pool_peak / 2**20:.0f} MiB "
            f"({self.in_pool:,} answers); allowed {self._memory_limit / 2**20:.0f} MiB more than when warm",
            ", ".join(f"{count} of class {kind}" for kind, count in self.counts().items()),
            *(f"{kind}: {text} [{job}]" for job, kind, text in self.problems[:40]),
        ]

    def to_json(self) -> dict[str, Any]:
        """All figures as plain values."""
        return {
            "answers_verified": len(self.outcomes),
            "compared_paper": sum(outcome.paper for outcome in self.outcomes.values()),
            "in_pool": self.in_pool,
            "peak_bytes": self.peak,
            "pool_peak_bytes": self.pool_peak,
            "problems": self.counts(),
            "sentences": [f"{kind}: {text} [{job}]" for job, kind, text in self.problems[:1000]],
            "kinds": self.by_kind(),
        }

    def keep_reproducers(self, folder: Path) -> None:
        """Write the first answers of each class of problem, and their targets."""
        kept: Counter[str] = Counter()
        for job, kind, text in self.problems:
            if job is None or kept[kind] >= REPRODUCERS:
                continue
            kept[kind] += 1
            folder.mkdir(parents=True, exist_ok=True)
            answer, name = answer_of(job, self._tasks, self._seed), f"{kind.replace(' ', '-')}-{kept[kind]}"
            words = str.__str__(answer) if issubclass(type(answer), str) else object.__repr__(answer)
            (folder / f"{name}.txt").write_bytes(words.encode("utf-8", "surrogatepass"))
            (folder / f"{name}.target.cif").write_text(self._tasks[job.task].target, encoding="utf-8")
            (folder / f"{name}.why.txt").write_text(f"{job}\n{text}\n", encoding="utf-8")


def _figures(name: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    milliseconds = sorted(outcome.seconds * 1e3 for outcome in outcomes)
    rewards = [outcome.rewards[0] for outcome in outcomes]
    return {
        "kind": name,
        "bound": str(KINDS[name].bound),
        "answers": len(outcomes),
        "stages": dict(Counter(outcome.stage for outcome in outcomes).most_common()),
        "p50_ms": median(milliseconds),
        "p99_ms": quantiles(milliseconds, n=100, method="inclusive")[98] if len(outcomes) > 1 else milliseconds[0],
        "worst_ms": milliseconds[-1],
        "worst_memory_bytes": max(outcome.memory for outcome in outcomes),
        "mean_reward": mean(rewards),
        "max_reward": max(rewards),
        "problems": sum(len(outcome.problems) for outcome in outcomes),
    }


_SHORT = {"structure_mismatch": "structure", "composition_mismatch": "composition", "cif_invalid": "invalid"}


def table(findings: Findings) -> Table:
    """The figures by kind, for a terminal of 120 columns."""
    shown = Table("kind", "may earn", title="hostile answers", title_justify="left")
    for heading in ("answers", "p50", "p99", "worst ms", "MiB", "mean", "max", "wrong"):
        shown.add_column(heading, justify="right")
    shown.add_column("verdicts")
    for row in findings.by_kind():
        stages = ", ".join(f"{_SHORT.get(stage, stage)} {count}" for stage, count in row["stages"].items())
        shown.add_row(
            row["kind"],
            row["bound"],
            str(row["answers"]),
            f"{row['p50_ms']:.1f}",
            f"{row['p99_ms']:.0f}",
            f"{row['worst_ms']:.0f}",
            f"{row['worst_memory_bytes'] / 2**20:.0f}",
            f"{row['mean_reward']:.3f}",
            f"{row['max_reward']:.2f}",
            str(row["problems"]),
            stages,
        )
    return shown
