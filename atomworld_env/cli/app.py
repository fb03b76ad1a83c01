"""The command line `atomworld`."""

from __future__ import annotations

import typer

from atomworld_env.cli import audit, console, evaluate, generate, published, report, rescore, sample, score

app = typer.Typer(
    help="Tasks in which a language model edits a crystal structure, verified and rewarded.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command(epilog=sample.EXAMPLES)(sample.sample)
app.command(epilog=generate.EXAMPLES)(generate.generate)
app.command(epilog=evaluate.EVALUATE_EXAMPLES)(evaluate.evaluate)
app.command(epilog=evaluate.TABLE_EXAMPLES)(evaluate.table)
app.command()(evaluate.policies)
app.command(epilog=report.EXAMPLES)(report.report)
app.command(epilog=rescore.EXAMPLES)(rescore.rescore)
app.command(epilog=score.EXAMPLES)(score.score)
app.command("import", epilog=published.IMPORT_EXAMPLES)(published.import_published)
app.command("export", epilog=published.EXPORT_EXAMPLES)(published.export_suite)
app.command(epilog=audit.EXAMPLES)(audit.audit)


def main() -> None:
    """Entry point of the console script."""
    console.run(app)


if __name__ == "__main__":
    main()
