"""The verifier as a reward function of TRL's GRPOTrainer; imports neither torch nor trl.

    >>> from rewards.trl import AtomWorldReward, atomworld_reward          # doctest: +SKIP
    >>> GRPOTrainer(..., reward_funcs=[atomworld_reward])                  # doctest: +SKIP
    >>> GRPOTrainer(..., reward_funcs=[AtomWorldReward("strict")])         # doctest: +SKIP

The data set has the columns of a task record: ``prompt`` (messages or text), ``target``, and for the scheme ``shaped``
``baseline`` or ``structure``; ``task_id`` names a task in warnings and tables. Each call logs with ``log_metric`` means
over its completions, under names that never vary within one trainer:

| metric, after ``atomworld/`` | meaning |
|---|---|
| success_strict | share of right answers |
| success_paper  | share of right answers under the paper profile, if that was asked |
| no_cif, parsable | share without a CIF; share read as one ordered crystal |
| composition, cell | share with the target's composition; with its cell |
| copied         | share that are strictly right as an answer to "change nothing"; with a column ``structure`` |
| max_displacement | Å, mean over the answers that have one, each cut off at 10 Å; 10 Å when none has one |
| timeout, worker_lost | share for which the verifier ended and not the answer; they earn 0 |
| broken_target  | share of tasks without a readable ground truth; they are left out of all the above and earn None |
| seconds        | wall time of the call |

With ``log_extra`` each completion has, after the function's name and ``/``: ``task_id``, ``verdict`` (the stage, or
``broken_target``), ``max_displacement``, under the profile ``both`` ``success_paper``, and with a column ``structure``
``copied``. A value that does not exist is None.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rewards.completions import Sample, answer_text
from rewards.pool import VerifierPool
from rewards.schemes import SCHEMES, reward
from rewards.stages import Stage
from rewards.strict import DEFAULT_TOLERANCE
from rewards.verdict import Verdict

FARTHEST = 10.0
"""Å at which displacements are cut off in the logged mean: one atom thrown across a large cell shall not rule it."""

DEFAULT_TIMEOUT = 60.0
"""Seconds for one answer. All ranks wait for the slowest: far less than the pool's own default."""


@dataclass(frozen=True)
class AtomWorldReward:
    """A reward function for TRL, named ``atomworld_<scheme>`` in its logs.

    The worker processes are started on the first call, one pool in each process for all functions with equal options,
    and end with the process. An instance holds only its options: it can be pickled, copied and used after a fork.

    Args:
        scheme: a key of :data:`rewards.SCHEMES`.
        profile: ``strict`` or ``both``; by default what the scheme needs.
        tolerance: of the strict profile, in Å.
        strict_tags: nothing but a ``<cif>…</cif>`` pair counts.
        workers: processes; by default the processors that the ranks on this machine share, divided among them.
        timeout: seconds for one answer.

    Raises:
        ValueError: if the scheme is unknown, or the profile does not serve it.
    """

    scheme: str = "shaped"
    profile: str | None = None
    tolerance: float = DEFAULT_TOLERANCE
    strict_tags: bool = False
    workers: int | None = None
    timeout: float = DEFAULT_TIMEOUT

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise ValueError(f"unknown reward scheme {self.scheme!r}; choose one of {', '.join(SCHEMES)}")
        if self.profile is None:
            object.__setattr__(self, "profile", "both" if self.scheme == "paper" else "strict")
        if self.profile not in ("both", "strict") or (self.scheme == "paper" and self.profile != "both"):
            raise ValueError(f"the scheme {self.scheme!r} does not work with profile {self.profile!r}; use 'both'")
        self._new_pool()  # refuses bad options now and not on the first call

    @property
    def __name__(self) -> str:
        return f"atomworld_{self.scheme}"

    def __call__(
        self,
        prompts: Any = None,
        completions: Sequence[Any] = (),
        completion_ids: Any = None,
        *,
        target: Sequence[str] | None = None,
        structure: Sequence[str | None] | None = None,
        baseline: Sequence[dict[str, Any] | str | None] | None = None,
        task_id: Sequence[Any] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **_: Any,
    ) -> list[float | None]:
        """Rewards in [0, 1], one for each completion; None where the task has no readable ground truth.

        Args:
            completions: texts or lists of messages.
            target, structure, baseline, task_id: columns of the data set, repeated for each completion. A baseline is
                the dict of the task record or that as JSON text; without one it is derived from the structure.
            log_metric, log_extra: TRL's, to log means and columns of the table of completions.

        Raises:
            ValueError: if a column is missing or a baseline is none.
        """
        begun = time.perf_counter()
        if target is None:
            raise ValueError("the data set has no column 'target'; keep it, with remove_unused_columns=False")
        if self.scheme == "shaped" and baseline is None and structure is None:
            raise ValueError("the scheme 'shaped' needs a column 'baseline' or 'structure'; add one, or use 'strict'")
        nothing = [None] * len(completions)
        columns = (nothing if column is None else column for column in (structure, baseline, task_id))
        samples = [
            Sample.of(answer_text(completion), *row)
            for completion, *row in zip(completions, target, *columns, strict=True)
        ]
        sound = [sample for sample in samples if sample.fault is None]
        with _LOCK:
            pool = self._pool()
        for sample, verdict in zip(sound, pool.verify_many((s.answer, s.target) for s in sound), strict=True):
            sample.verdict = verdict
            sample.reward = reward(verdict, self.scheme, baseline=sample.baseline)
        copies = self._copies(sound, pool) if structure is not None and (log_metric or log_extra) else None
        if log_metric is not None:
            metrics = self._metrics(sound)
            if copies is not None:
                metrics["copied"] = _mean([id(sample) in copies for sample in sound])
            metrics["broken_target"] = _mean([sample.fault is not None for sample in samples])
            metrics["seconds"] = time.perf_counter() - begun
            for name, value in metrics.items():
                log_metric(f"atomworld/{name}", value)
        if log_extra is not None:
            for name, values in self._columns(samples, copies).items():
                # Named after the function: two of them in one trainer may not fill one column.
                log_extra(f"{self.__name__}/{name}", values)
        return [sample.reward for sample in samples]

    def close(self) -> None:
        """End the worker processes; a later call starts others."""
        with _LOCK:
            if (pool := _POOLS.pop(self._pool_key, None)) is not None:
                pool.close()

    @property
    def _pool_key(self) -> tuple[Any, ...]:
        return (self.profile, self.tolerance, self.strict_tags, self.workers, self.timeout)

    def _new_pool(self) -> VerifierPool:
        return VerifierPool(
            self.workers,
            profile=str(self.profile),
            tolerance=self.tolerance,
            strict_tags=self.strict_tags,
            timeout=self.timeout,
        )

    def _pool(self) -> VerifierPool:
        pool = _POOLS.setdefault(self._pool_key, self._new_pool())
        pool.open()  # nothing to do on most calls; after a fork the parent's is not open here
        return pool

    def _metrics(self, samples: list[Sample]) -> dict[str, float]:
        verdicts = [sample.verdict for sample in samples if sample.verdict is not None]
        distances = [min(v.max_displacement, FARTHEST) for v in verdicts if v.max_displacement is not None]
        shares = {
            "success_strict": [bool(verdict.success_strict) for verdict in verdicts],
            "no_cif": [verdict.stage is Stage.NO_CIF for verdict in verdicts],
            "parsable": [verdict.parsable for verdict in verdicts],
            "composition": [bool(verdict.composition_matches) for verdict in verdicts],
            "cell": [bool(verdict.cell_matches) for verdict in verdicts],
            "timeout": [verdict.stage is Stage.TIMEOUT for verdict in verdicts],
            "worker_lost": [verdict.stage is Stage.WORKER_LOST for verdict in verdicts],
        }
        if self.profile == "both":
            shares["success_paper"] = [bool(verdict.success_paper) for verdict in verdicts]
        metrics = {name: _mean(values) for name, values in shares.items()}
        metrics["max_displacement"] = _mean(distances) if distances else FARTHEST
        return metrics

    def _columns(self, samples: list[Sample], copies: set[int] | None) -> dict[str, list[Any]]:
        """A value for each completion; None where there is no verdict, or no number."""

        def of_verdict(value: Callable[[Verdict], Any]) -> list[Any]:
            return [None if sample.verdict is None else value(sample.verdict) for sample in samples]

        columns: dict[str, list[Any]] = {
            "task_id": [sample.task_id for sample in samples],
            "verdict": [sample.outcome for sample in samples],
            "max_displacement": of_verdict(lambda verdict: verdict.max_displacement),
        }
        if self.profile == "both":
            columns["success_paper"] = of_verdict(lambda verdict: bool(verdict.success_paper))
        if copies is not None:
            columns["copied"] = [None if s.verdict is None else id(s) in copies for s in samples]
        return columns

    def _copies(self, samples: list[Sample], pool: VerifierPool) -> set[int]:
        """The `id` of each sample that is strictly right as an answer to "change nothing".

        That takes a second verification, against the input, of the few answers that can be.
        """
        suspects = [sample for sample in samples if sample.may_be_copy(self.tolerance)]
        against_input = pool.verify_many((sample.answer, sample.structure) for sample in suspects)
        return {id(s) for s, verdict in zip(suspects, against_input, strict=True) if verdict.success_strict}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


_POOLS: dict[tuple[Any, ...], VerifierPool] = {}
_LOCK = threading.Lock()


@atexit.register
def _close_pools() -> None:
    for pool in _POOLS.values():
        pool.close()


atomworld_reward = AtomWorldReward()
"""The reward function of the scheme ``shaped``."""
