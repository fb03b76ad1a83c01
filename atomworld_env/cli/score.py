"""`atomworld score`: verify stored answers against stored targets."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from atomworld_env.cli.console import default_workers, progress_bar, stderr, stdout, writable_file
from atomworld_env.cli.options import EngineOption, StrictTagsOption, ToleranceOption, WorkersOption
from atomworld_env.errors import UsageError

if TYPE_CHECKING:
    from rewards import Verdict

EXAMPLES = """
Examples:

  atomworld score answers.jsonl

  atomworld score answers.jsonl --profile paper --strict-tags --workers 2 --out scored.jsonl

  atomworld score answers.jsonl --check-parity --out scored.jsonl

A line of the input: {"id": "q1", "target": "data_…", "answer": "… <cif>…</cif>"}; "structure", the input CIF, may be
there too.
"""


@dataclass(frozen=True)
class StoredAnswer:
    """One line of an answers file."""

    id: Any
    target: str
    answer: str
    structure: str | None


def score(
    answers: Annotated[Path, typer.Argument(help="JSON Lines file of answers.")],
    profile: Annotated[str, typer.Option(help="strict, paper or both.")] = "both",
    strict_tags: StrictTagsOption = False,
    engine: EngineOption = "reference",
    tolerance: ToleranceOption = 0.1,
    workers: WorkersOption = None,
    time_limit: Annotated[
        float, typer.Option(min=120.0, help="Seconds for one verdict before it is a timeout.")
    ] = 600.0,
    check_parity: Annotated[
        bool,
        typer.Option(
            "--check-parity", help="Verify with both engines and print where they differ; status 1 if they do."
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="File for the verdicts; standard output when not given.")
    ] = None,
) -> None:
    """Verify answers; one JSON line per answer, in the order of the input.

    The whole input is checked before the first answer is verified. With --out, verdicts go to FILE.partial as they
    come and to FILE when all are there. With --check-parity the verdicts are those of the engine reference, and the
    comparison goes to standard error, or with --out to standard output.
    """
    from atomworld_env.cli.engine_parity import ComparedAnswer, Parity
    from rewards.cif_reading import ENGINES

    if profile not in ("strict", "paper", "both"):
        raise UsageError(f"unknown profile {profile!r}; choose from strict, paper, both")
    if not tolerance < inf:
        raise UsageError(f"the tolerance must be a number of Å, got {tolerance}")
    if out is not None:
        writable_file(out)
        if out.exists() and answers.exists() and out.samefile(answers):
            raise UsageError(f"--out is the file of answers itself ({answers}); choose another --out")
    if engine not in ENGINES:
        raise UsageError(f"unknown engine {engine!r}; choose from {', '.join(ENGINES)}")
    if check_parity and engine != "reference":
        raise UsageError(
            "--check-parity verifies with both engines and writes the verdicts of reference; drop --engine"
        )
    stored = list(read_answers(answers, profile))
    if not stored:
        raise UsageError(f'{answers} holds no answers; a line is {{"id", "target", "answer"}}')
    options = {"profile": profile, "timeout": time_limit, "tolerance": tolerance, "strict_tags": strict_tags}
    processes = min(workers or default_workers(), len(stored))
    verdicts: list[Verdict] = []
    with _sink(out) as sink, progress_bar("scoring", len(stored)) as advance:
        for verdict in _verdicts(stored, processes, engine=engine, **options):
            sink.write(json_module.dumps(verdict.score_line(stored[len(verdicts)].id), ensure_ascii=True) + "\n")
            sink.flush()
            verdicts.append(verdict)
            advance(len(verdicts), "scoring")
    asked = ("strict", "paper") if profile == "both" else (profile,)
    right = {name: sum(bool(getattr(verdict, f"success_{name}")) for verdict in verdicts) for name in asked}
    counts = ", ".join(f"{right[name]} of {len(stored)} right under {name}" for name in asked)
    stderr.print(counts, highlight=False)
    if not check_parity:
        return
    compared: list[ComparedAnswer] = []
    with progress_bar("scoring again, fast", len(stored)) as advance:
        for each, fast in zip(stored, _verdicts(stored, processes, engine="fast", **options), strict=True):
            compared.append(ComparedAnswer(each.id, verdicts[len(compared)], fast))
            advance(len(compared), "scoring again, fast")
    parity = Parity(compared, asked)
    console = stderr if out is None else stdout
    console.print(parity.table())
    for line in parity.lines():
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if parity.differing:
        raise typer.Exit(1)


def _verdicts(stored: Sequence[StoredAnswer], processes: int, **options: Any) -> Iterator[Verdict]:
    from rewards import VerifierPool

    with VerifierPool(processes, **options) as pool:
        yield from pool.verify_iter((each.answer, each.target) for each in stored)


def read_answers(path: Path, profile: str) -> Iterator[StoredAnswer]:
    """The lines of an answers file, targets checked.

    Raises:
        UsageError: naming file, line and mend.
    """
    from rewards import TargetError, prepare_target

    checked: set[str] = set()
    try:
        # Not splitlines(): a raw U+2028 may stand inside a JSON string.
        lines = path.read_text(encoding="utf-8", errors="surrogatepass").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"cannot read {path}: {reason}; give a JSON Lines file of answers") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = json_module.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
            raise UsageError(f"{where}: not JSON ({reason}); mend or delete the line") from None
        if not isinstance(record, dict):
            raise UsageError(f'{where}: not a JSON object; a line is {{"id", "target", "answer"}}')
        for key in ("id", "target", "answer"):
            if key not in record:
                raise UsageError(f"{where}: lacks {key!r}; every line needs id, target and answer")
        if not isinstance(record["target"], str):
            raise UsageError(f"{where}: target is not text; it must be the CIF of the ground truth")
        if record["target"] not in checked:
            try:
                prepared = prepare_target(record["target"])
                if profile != "paper":
                    _ = prepared.arrangement
            except TargetError as error:
                raise UsageError(
                    f"{where}: the target cannot be used: {error}; mend the CIF or delete the line"
                ) from None
            checked.add(record["target"])
        yield StoredAnswer(record["id"], record["target"], record["answer"], record.get("structure"))


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON number")


@contextmanager
def _sink(out: Path | None) -> Iterator[IO[str]]:
    if out is None:
        yield sys.stdout
        return
    partial = out.with_name(out.name + ".partial")
    try:
        file = partial.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}; choose another --out") from None
    with file:
        yield file
    partial.replace(out)
