"""One evaluation: a policy's answers stepped through the environment, every line on disk as soon as it exists."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from atomworld_env.envs.atomworld import AtomWorldEnv
from atomworld_env.errors import UsageError
from atomworld_env.evaluation.manifest import RunConfig, start_folder
from atomworld_env.evaluation.stepping import OUTCOME_KEYS, Attempt, Notify, step_all
from atomworld_env.policies.policy import Policy, Question
from atomworld_env.prompts.prompt import PromptTemplate
from atomworld_env.tasks.suite import Suite

RESULTS = "results.jsonl"

Record = dict[str, Any]
"""One line of a run: task, answer, reward, verdicts."""


def evaluate(
    policy: Policy,
    suite: Suite,
    folder: Path,
    *,
    profile: str = "both",
    paper_per_action: int | None = None,
    tolerance: float = 0.1,
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

    A line is appended to ``results.jsonl`` as soon as its step has ended. With `resume`, tasks that have a line are
    not asked again; a line that was cut off when the run was killed is dropped and its task asked again.

    Args:
        paper_per_action: compute the paper profile for the first so many tasks of each edit only.

    Raises:
        UsageError: if the folder holds another run, cannot be written, or `resume` meets another configuration.
    """
    # The environment refuses what it does not know; asked here, before a folder is made or a worker started.
    AtomWorldEnv(profile=profile, reward_scheme=reward_scheme, tolerance=tolerance, engine=engine)
    config = RunConfig(
        policy=policy.name,
        suite=suite.name,
        fingerprint=suite.fingerprint,
        tasks=len(suite.tasks),
        profile=profile,
        paper_per_action=paper_per_action,
        tolerance=tolerance,
        reward_scheme=reward_scheme,
        strict_tags=strict_tags,
        engine=engine,
        prompt=template.digest,
        time_limit=time_limit,
        seed=seed,
    )
    start_folder(folder, config, resume=resume)
    path = folder / RESULTS
    drop_cut_line(path)
    records = {record["index"]: record for record in read_results(path)} if path.exists() else {}
    attempts = _attempts(policy, suite, template, records, profile, paper_per_action)
    arguments = {
        "tolerance": tolerance,
        "reward_scheme": reward_scheme,
        "strict_tags": strict_tags,
        "engine": engine,
        "prompt": template,
    }
    outcomes = step_all(
        attempts,
        workers=min(workers, len(suite.tasks) - len(records)),  # none where nothing is left to do
        time_limit=time_limit,
        arguments=arguments,
        with_paper=profile != "strict" and paper_per_action != 0,
    )
    # Closed, so that the workers end with a Ctrl-C or an error here, too.
    with closing(outcomes), path.open("a", encoding="utf-8", newline="\n") as file:
        for attempt, outcome in outcomes:
            record = _record(attempt, outcome, template)
            file.write(json.dumps(record, ensure_ascii=True) + "\n")
            file.flush()
            records[attempt.index] = record
            if progress is not None:
                progress(len(records), len(suite.tasks))
    return [records[index] for index in sorted(records)]


def _attempts(
    policy: Policy,
    suite: Suite,
    template: PromptTemplate,
    done: dict[int, Record],
    profile: str,
    paper_per_action: int | None,
) -> Iterator[Attempt]:
    seen: Counter[str] = Counter()
    waiting: list[tuple[int, bool]] = []
    for index, task in enumerate(suite.tasks):
        with_paper = profile != "strict" and (paper_per_action is None or seen[task.action] < paper_per_action)
        seen[task.action] += 1
        if index not in done:
            waiting.append((index, with_paper))
    questions = [
        Question(suite.tasks[index], template.messages(suite.tasks[index].structure, suite.tasks[index].prompt))
        for index, _ in waiting
    ]
    for (index, with_paper), answer in zip(waiting, policy.answers(questions), strict=True):
        yield Attempt(index, suite.tasks[index], answer, with_paper)


def _record(attempt: Attempt, outcome: dict[str, Any], template: PromptTemplate) -> Record:
    task = attempt.task
    prompt = template.render(task.structure, task.prompt)
    return {
        "index": attempt.index,
        "task_id": task.task_id,
        "action": task.action,
        "structure_id": task.structure_id,
        "n_sites": task.n_sites,
        "orthogonal": task.crystal.is_orthogonal,
        "level": int(task.difficulty["level"]),
        "prompt_hash": hashlib.sha256(prompt.encode()).hexdigest()[:12],
        "answer": attempt.answer,
        **outcome,
    }


def drop_cut_line(path: Path) -> None:
    """Cut a file back to its last whole line, as it may end in the middle of one after a kill."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)


def read_results(path: Path) -> Iterable[Record]:
    """The lines of a run.

    Raises:
        UsageError: naming file and line, if one is broken.
    """
    needed = {"index", "action", "orthogonal", *OUTCOME_KEYS}
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            try:
                record = json.loads(line)
                missing = needed - set(record)
            except (ValueError, TypeError, RecursionError) as error:
                raise UsageError(f"{path}, line {number}: not JSON ({error}); delete the line and --resume") from None
            if missing:
                raise UsageError(f"{path}, line {number}: lacks {sorted(missing)[0]}; delete the line and --resume")
            yield record


def stored_results(folder: Path) -> Sequence[Record]:
    """All lines of a stored run, in the order of the tasks.

    Raises:
        UsageError: if the folder holds no run.
    """
    path = folder / RESULTS
    if not path.is_file():
        raise UsageError(f"{folder} holds no run (no {RESULTS}); make one with `atomworld evaluate`")
    return sorted(read_results(path), key=lambda record: record["index"])
