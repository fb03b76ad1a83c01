"""`atomworld generate`: make a suite of tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

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

EXAMPLES = """
Examples:

  atomworld generate --suite atommotor --out runs/atommotor

  atomworld generate --per-action 20 --seed 1 --split train --max-sites 40 --out runs/small

  atomworld generate --pool my-cifs.zip --actions add,move --per-action 50 --split train --out runs/mine
"""


def generate(
    out: OutFolderOption,
    suite: Annotated[
        str, typer.Option(help="The suite whose settings are used; other options change them.")
    ] = "atommotor",
    per_action: Annotated[int, typer.Option(min=1, help="Tasks of each edit, each on another structure.")] = 250,
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
    "custom".
    """
    from atomworld_env.structures.pool import load_pool
    from atomworld_env.tasks.card import suite_card
    from atomworld_env.tasks.sampler_config import SamplerConfig
    from atomworld_env.tasks.suite import RECIPES, make_suite

    if suite not in RECIPES:
        raise UsageError(f"unknown suite {suite!r}; choose from {', '.join(RECIPES)}")
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
    if json:
        print_json(made.summary())
        return
    stdout.print(
        f"{len(made.tasks)} tasks in {folder} (suite {made.name}, fingerprint {made.fingerprint}); "
        f"card.md says how they are spread",
        highlight=False,
        soft_wrap=True,
    )
