"""Options that mean the same in several subcommands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from atomworld_env.errors import UsageError
from atomworld_env.families.registry import FAMILIES, FamilyEntry

ActionsOption = Annotated[
    str | None, typer.Option("--actions", help="Comma-separated names of edits, or of another suite's kinds of task.")
]
FamilyOption = Annotated[str, typer.Option(help=f"Family of tasks: {', '.join(FAMILIES)}.")]
SplitOption = Annotated[str, typer.Option(help="Split of prototype families: train, validation, test or all.")]
PoolOption = Annotated[
    str, typer.Option(help='Structures: "aflow" (embedded), or a folder, .zip, .tar.gz or file of CIFs.')
]
MinSitesOption = Annotated[int, typer.Option(min=1, help="Fewest sites of an input structure.")]
MaxSitesOption = Annotated[int, typer.Option(min=1, help="Most sites of an input structure.")]
CifStyleOption = Annotated[str, typer.Option(help='"full" as pymatgen writes, or "compact".')]
DecimalsOption = Annotated[int, typer.Option(min=2, max=8, help="Decimals of the printed fractional coordinates.")]
PromptOption = Annotated[
    str, typer.Option(help='"default", "short", or a file with {structure} and {instruction} in it.')
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of a table.")]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Processes that verify answers; the number of cores when not given.")
]
OutFolderOption = Annotated[Path, typer.Option("--out", help="Folder for the results; made if missing.")]
ToleranceOption = Annotated[
    float, typer.Option(min=1e-6, help="Largest displacement in Å that is right under the strict profile.")
]
OwnToleranceOption = Annotated[
    float | None,
    typer.Option(min=1e-6, help="Largest distance that is right; the family's own when not given (0.1 Å for edits)."),
]
EngineOption = Annotated[
    str, typer.Option(help="reference (pymatgen alone) or fast; the verdicts are the same, distances within 0.001.")
]
StrictTagsOption = Annotated[
    bool,
    typer.Option("--strict-tags", help="Take the CIF from <cif> tags only, as the published protocol does."),
]


def family_named(name: str) -> FamilyEntry:
    """The family of a name.

    Raises:
        UsageError: if there is none.
    """
    plain = name.replace("-", "_")  # suites are written with hyphens
    if plain not in FAMILIES:
        raise UsageError(f"unknown family {name!r}; choose from {', '.join(FAMILIES)}")
    return FAMILIES[plain]
