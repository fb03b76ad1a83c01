"""One evaluation: a policy's answers stepped through the environment, every line on disk as soon as it exists."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomworld_env.evaluation.journal import Journal
from atomworld_env.evaluation.manifest import RunConfig, start_folder
from atomworld_env.evaluation.records import (
    RECORD_KEYS,
    RESULTS,
    Record,
    append_line,
    drop_cut_line,
    keep_tasks,
    place,
    read_results,
)
from atomworld_env.evaluation.stepping import Attempt, Notify, Outcome, step_all
from atomworld_env.families.family import Family
from atomworld_env.families.registry import FAMILIES
from atomworld_env.policies.policy import AnyPolicy, Failure, Question, Reply, replies_of, settings_of
from atomworld_env.prompts.prompt import PromptTemplate
from atomworld_env.tasks.suite import Suite

ROUNDS = 2
"""Times that a question is asked whose answer the machinery failed to bring. A policy that talks to a server tries more
often by itself; the second round comes when all others are answered, and a server may have recovered."""


def evaluate(
    policy: AnyPolicy,
    suite: Suite,
    folder: Path,
    *,
    samples: int = 1,
    profile: str = "both",
    paper_per_action: int | None = None,
    tolerance: float | None = None,
    reward_scheme: str = "shaped",
    strict_tags: bool = False,
    engine: str = "fast",
    template: PromptTemplate,
    time_limit: float = 600.0,
    seed: int = 0,
    workers: int = 1,
    resume: bool = False,
    progress: Notify | None = None,
) -> list[Record]:
    """Run a policy over a suite and return all lines of the run, in the order of the tasks.

    A reply is on disk as soon as it comes, its line in ``results.jsonl`` as soon as its step has ended. Where the
    machinery fails (:class:`~atomworld_env.policies.policy.Failure`) there is no line: the failure goes to
    ``failures.jsonl`` and the question is asked once more at the end, and again with `resume`. With `resume`, what has
    a line is not asked again; a line that was cut off when the run was killed is dropped.

    Args:
        samples: answers to each task.
        profile: of the verdicts; families without a paper profile have the strict one under any name.
        paper_per_action: compute the paper profile for the first so many tasks of each edit only.
        tolerance: None for the family's own (0.1 Å for the edits).

    Raises:
        UsageError: if the folder holds another run, cannot be written, or `resume` meets another configuration.
    """
    family = FAMILIES[suite.family]
    if family.needs is not None:
        family.load("needs")(suite.actions, policy.name)
    profile = profile if family.has_paper else "strict"
    arguments = {"reward_scheme": reward_scheme, "strict_tags": strict_tags, "engine": engine, "prompt": template}
    if tolerance is not None:
        arguments["tolerance"] = tolerance
    # The environment refuses what it does not know; asked here, before a folder is made or a worker started.
    environment = family.load("env")(profile=profile, **arguments)
    config = RunConfig(
        policy=policy.name,
        settings=settings_of(policy),
        suite=suite.name,
        fingerprint=suite.fingerprint,
        tasks=len(suite.tasks),
        samples=samples,
        profile=profile,
        paper_per_action=paper_per_action,
        tolerance=environment.family.tolerance,
        reward_scheme=reward_scheme,
        strict_tags=strict_tags,
        engine=engine,
        prompt=template.digest,
        time_limit=time_limit,
        seed=seed,
    )
    start_folder(folder, config, template, resume=resume)
    keep_tasks(folder, suite)
    path = folder / RESULTS
    drop_cut_line(path)
    records = {place(record): record for record in read_results(path)} if path.exists() else {}
    asked = _asked(suite, environment.family, samples, profile, paper_per_action)
    waiting = [one for one in asked if one.place not in records]
    journal = Journal(folder)
    outcomes = step_all(
        _attempts(policy, waiting, journal),
        workers=min(workers, len(waiting)),  # none where nothing is left to do
        time_limit=max(time_limit, family.slowest),
        arguments=arguments,
        with_paper=profile != "strict" and paper_per_action != 0,
        env_id=family.env_id,
    )
    finished = False
    try:
        # Closed, so that the workers end with a Ctrl-C or an error here, too.
        with closing(outcomes), path.open("a", encoding="utf-8", newline="\n") as file:
            for attempt, outcome in outcomes:
                record = _record(attempt, outcome, environment.family)
                append_line(file, record)
                records[place(record)] = record
                if progress is not None:
                    progress(len(records), len(asked))
        finished = True
    finally:
        journal.close(finished=finished)
    return [records[key] for key in sorted(records)]


@dataclass(frozen=True)
class _Asked:
    index: int
    question: Question
    with_paper: bool

    @property
    def place(self) -> tuple[int, int]:
        return self.index, self.question.sample


def _asked(suite: Suite, family: Family, samples: int, profile: str, paper_per_action: int | None) -> list[_Asked]:
    """All that a run asks, the first sample of every task before the second of any."""
    seen: Counter[str] = Counter()
    first = []
    for index, task in enumerate(suite.tasks):
        with_paper = profile != "strict" and (paper_per_action is None or seen[task.action] < paper_per_action)
        seen[task.action] += 1
        first.append((index, Question(task, family.messages(task)), with_paper))
    return [
        _Asked(index, Question(question.task, question.messages, sample), with_paper)
        for sample in range(samples)
        for index, question, with_paper in first
    ]


def _attempts(policy: AnyPolicy, waiting: list[_Asked], journal: Journal) -> Iterator[Attempt]:
    """What is to be stepped: replies that came before a kill, then new ones; what failed is asked once more."""
    by_place = {one.place: one for one in waiting}
    earlier = {key: reply for key, reply in journal.earlier_replies() if key in by_place}
    for key, kept in earlier.items():
        yield _attempt(by_place[key], kept)
    unanswered = [one for one in waiting if one.place not in earlier]
    for _ in range(ROUNDS):
        failed = []
        replies = replies_of(policy, [one.question for one in unanswered]) if unanswered else ()
        for number, reply in replies:
            one = unanswered[number]
            if isinstance(reply, Failure):
                journal.failure(one.index, one.question, reply)
                failed.append(one)
            else:
                journal.reply(*one.place, reply)
                yield _attempt(one, reply)
        unanswered = failed


def _attempt(one: _Asked, reply: Reply) -> Attempt:
    return Attempt(one.index, one.question.task, reply.text, one.with_paper, one.question.sample, reply)


def _record(attempt: Attempt, outcome: Outcome, family: Family) -> Record:
    task, reply = attempt.task, attempt.reply or Reply(attempt.answer)
    prompt = family.prompt(task)
    values: dict[str, Any] = {
        "index": attempt.index,
        "sample": attempt.sample,
        "task_id": task.task_id,
        "action": task.action,
        "structure_id": task.structure_id,
        "n_sites": task.n_sites,
        "orthogonal": task.orthogonal,
        "level": int(task.difficulty["level"]),
        "prompt_hash": hashlib.sha256(prompt.encode()).hexdigest()[:12],
        "answer": attempt.answer,
        "truncated": reply.truncated,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "latency": None if reply.seconds is None else round(reply.seconds, 3),
        **outcome,
    }
    return {key: values[key] for key in RECORD_KEYS}
