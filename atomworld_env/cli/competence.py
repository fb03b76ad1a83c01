"""The suites of chemical competence on the command line: scored, shown, written."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from pathlib import Path

import typer

from atomworld_env.cli.console import print_json, progress_bar, stdout, writable_folder, write_tables
from atomworld_env.errors import UsageError

SUITE_NAMES = ("competence", "competence-lengths")
"""The suites that are evaluated by likelihood; those of :data:`atomworld_env.competence.pairs.SUITES`."""

EVALUATE_OPTIONS = frozenset({"policy", "suite", "out", "per_action", "batch_size", "resume", "json"})
GENERATE_OPTIONS = frozenset({"suite", "out", "json"})


def refuse_options(context: typer.Context, allowed: frozenset[str]) -> None:
    """Refuse every option that has no meaning for these suites and is not at its default.

    Raises:
        UsageError: naming the first such option.
    """
    for option in context.command.params:
        value = context.params.get(str(option.name))
        if value in ((), []):  # an option that may be repeated, and is not given
            value = None
        if option.name not in allowed and value != option.default:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(allowed - {"suite"}))
            raise UsageError(
                f"--{str(option.name).replace('_', '-')} has no meaning for --suite {context.params['suite']}, whose "
                f"texts are scored by likelihood; it takes {names}"
            )


def evaluate_competence(context: typer.Context) -> None:
    """`atomworld evaluate` on one of these suites: a line for each text, the table of the four measures."""
    from atomworld_env.competence.model import load_scoring_model, require_likelihoods
    from atomworld_env.competence.pairs import load_pairs
    from atomworld_env.competence.run import run_competence
    from atomworld_env.competence.summary import competence_table
    from atomworld_env.evaluation.manifest import refuse_started

    given = context.params
    require_likelihoods(given["policy"])
    refuse_options(context, EVALUATE_OPTIONS)
    folder = writable_folder(given["out"])
    refuse_started(folder, resume=given["resume"])
    pairs = load_pairs(given["suite"], given["per_action"])
    model = load_scoring_model(given["policy"])
    with progress_bar(model.name, 2 * len(pairs), quiet=given["json"]) as advance:
        result = run_competence(
            model,
            given["suite"],
            pairs,
            folder,
            batch_size=given["batch_size"],
            resume=given["resume"],
            progress=lambda done, total: advance(done, model.name),
        )
    if given["json"]:
        print_json(result.to_json())
    else:
        stdout.print(competence_table([result]))


def generate_competence(context: typer.Context) -> None:
    """`atomworld generate` on one of these suites: `pairs.jsonl`, and `suite.json` with the fingerprint."""
    from atomworld_env.competence.pairs import fingerprint, load_pairs, pair_line

    refuse_options(context, GENERATE_OPTIONS)
    suite = context.params["suite"]
    folder = writable_folder(context.params["out"])
    pairs = load_pairs(suite)
    summary = {"name": suite, "fingerprint": fingerprint(pairs), "pairs": len(pairs)}
    lines = "".join(pair_line(pair) + "\n" for pair in pairs)
    (folder / "pairs.jsonl").write_text(lines, encoding="utf-8", newline="\n")
    (folder / "suite.json").write_text(json_module.dumps(summary, indent=2) + "\n", encoding="utf-8")
    if context.params["json"]:
        print_json(summary)
        return
    stdout.print(
        f"{len(pairs)} pairs of texts in {folder} (suite {suite}, fingerprint {summary['fingerprint']})",
        highlight=False,
        soft_wrap=True,
    )


def table_of_competence(runs: Sequence[Path], out: Path | None, *, published: bool, json: bool) -> None:
    """`atomworld table` on stored runs of these suites."""
    from atomworld_env.competence.stored import read_competence
    from atomworld_env.competence.summary import competence_table

    results = [read_competence(folder) for folder in runs]
    if json:
        print_json([result.to_json() for result in results])
        return
    table = competence_table(results, published=published)
    stdout.print(table)
    if out is not None:
        write_tables(out, [table])


def all_or_none_of_competence(runs: Sequence[Path]) -> bool:
    """Whether the folders hold runs of these suites; they are not shown beside runs of other kinds.

    Raises:
        UsageError: if some do and some do not.
    """
    from atomworld_env.competence.stored import is_competence_run

    kinds = [is_competence_run(folder) for folder in runs]
    if any(kinds) and not all(kinds):
        scored, other = runs[kinds.index(True)], runs[kinds.index(False)]
        raise UsageError(f"{scored} is a run of chemical competence and {other} is not; make a table of each kind")
    return any(kinds)
