"""`atomworld generate`: make a suite of tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from atomworld_env.cli.competence import SUITE_NAMES, generate_competence
from atomworld_env.cli.console import action_names, print_json, progress_bar, report_skipped, stdout, writable_folder
from atomworld_env.cli.options import (
    ActionsOption,
    CifStyleOption,
    DecimalsOption,
    JsonOption,
    MaxSitesOption,
    MinSitesOption,
    OutFolderOption,
    PoolOption,
    SplitOption,
)
from atomworld_env.errors import UsageError

if TYPE_CHECKING:
    from atomworld_env.tasks.suite import Suite

EXAMPLES = """
Examples:

  atomworld generate --suite atommotor --out runs/atommotor

  atomworld generate --per-action 20 --seed 1 --split train --max-sites 40 --out runs/small

  atomworld generate --pool my-cifs.zip --actions add,move --per-action 50 --split train --out runs/mine
"""


def generate(
    context: typer.Context,
    out: OutFolderOption,
    suite: Annotated[
        str, typer.Option(help="The suite whose settings are used; other options change them.")
    ] = "atommotor",
    per_action: Annotated[
        int | None,
        typer.Option(min=1, help="Tasks of each kind; as many as the suite has when not given (250 of each edit)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Root of all random numbers.")] = 0,
    actions: ActionsOption = None,
    split: SplitOption = "test",
    pool: PoolOption = "aflow",
    min_sites: MinSitesOption = 10,
    max_sites: MaxSitesOption = 100,
    cif_style: CifStyleOption = "full",
    decimals: DecimalsOption = 4,
    json: JsonOption = False,
) -> None:
    """Make a suite: tasks.jsonl, tasks.parquet, suite.json (fingerprint, counts) and card.md.

    The settings of a named suite give the same bytes on every machine; with other settings the suite is called
    "custom". The suites of chemical competence are pairs of texts: pairs.jsonl and suite.json.
    """
    if suite in SUITE_NAMES:
        generate_competence(context)
        return
    from atomworld_env.structures.pool import load_pool
    from atomworld_env.tasks.card import suite_card
    from atomworld_env.tasks.family_suite import FAMILY_RECIPES
    from atomworld_env.tasks.sampler_config import SamplerConfig
    from atomworld_env.tasks.suite import RECIPES, make_suite

    if suite in FAMILY_RECIPES:
        of_edits = (actions, pool, min_sites, max_sites, cif_style, decimals)
        if of_edits != (None, "aflow", 10, 100, "full", 4):
            raise UsageError(f"suite {suite} takes --per-action, --seed and --split; other options are of the edits")
        _generate_of_family(suite, writable_folder(out), per_action, seed, split, json)
        return
    if suite not in RECIPES:
        raise UsageError(f"unknown suite {suite!r}; choose from {', '.join([*RECIPES, *FAMILY_RECIPES, *SUITE_NAMES])}")
    per_action = RECIPES[suite].per_action if per_action is None else per_action
    config = SamplerConfig(
        pool=pool,
        split=split,
        actions=action_names(actions),
        min_sites=min_sites,
        max_sites=max_sites,
        cif_style=cif_style,  # type: ignore[arg-type]  # checked by SamplerConfig
        decimals=decimals,
    )
    named = RECIPES[suite]
    recipe = replace(named, config=config, per_action=per_action, seed=seed)
    if recipe != named:
        recipe = replace(recipe, name="custom")
    folder = writable_folder(out)
    pool_read = load_pool(pool)
    report_skipped(pool_read)
    done = 0
    with progress_bar("making tasks", per_action * len(config.actions), quiet=json) as advance:

        def count(action: str, made: int, wanted: int) -> None:
            nonlocal done
            done += 1
            advance(done, f"making tasks: {action}")

        made = make_suite(recipe, pool=pool_read, progress=count)
    made.write(folder)
    (folder / "card.md").write_text(suite_card(made, recipe, pool_read), encoding="utf-8")
    _say(made, folder, json)


def _generate_of_family(name: str, folder: Path, per_action: int | None, seed: int, split: str, json: bool) -> None:
    from atomworld_env.families.registry import FAMILIES
    from atomworld_env.tasks.family_suite import FAMILY_RECIPES, family_suite_card, make_family_suite

    named = FAMILY_RECIPES[name]
    wanted = named.per_action if per_action is None else per_action
    recipe = replace(named, per_action=wanted, seed=seed, split=split)
    if recipe != named:
        recipe = replace(recipe, name="custom")
    kinds = FAMILIES[recipe.family].actions
    with progress_bar("making tasks", wanted * len(kinds), quiet=json) as advance:
        made = make_family_suite(
            recipe,
            progress=lambda action, number, total: advance(
                kinds.index(action) * total + number, f"making tasks: {action}"
            ),
        )
    made.write(folder)
    (folder / "card.md").write_text(family_suite_card(made), encoding="utf-8")
    _say(made, folder, json)


def _say(made: Suite, folder: Path, json: bool) -> None:
    if json:
        print_json(made.summary())
        return
    stdout.print(
        f"{len(made.tasks)} tasks in {folder} (suite {made.name}, fingerprint {made.fingerprint}); "
        f"card.md says how they are spread",
        highlight=False,
        soft_wrap=True,
    )
