"""`atomworld sample`: look at one task."""

from __future__ import annotations

from typing import Annotated

import typer

from atomworld_env.cli.console import action_names, print_json, report_skipped, stdout
from atomworld_env.cli.options import (
    CifStyleOption,
    DecimalsOption,
    FamilyOption,
    MaxSitesOption,
    MinSitesOption,
    PoolOption,
    PromptOption,
    SplitOption,
    family_named,
)
from atomworld_env.errors import UsageError

EXAMPLES = """
Examples:

  atomworld sample

  atomworld sample --action rotate_around --seed 3 --target

  atomworld sample --action swap --min-sites 2 --max-sites 9 --cif-style compact --json

  atomworld sample --family coordinates --target

  atomworld sample --action repair_units
"""


def sample(
    action: Annotated[
        str | None, typer.Option(help="One of the ten edits or another kind of task; any of the family if not given.")
    ] = None,
    family: FamilyOption = "edits",
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal tasks, on any machine.")] = 0,
    split: SplitOption = "train",
    pool: PoolOption = "aflow",
    min_sites: MinSitesOption = 10,
    max_sites: MaxSitesOption = 100,
    cif_style: CifStyleOption = "full",
    decimals: DecimalsOption = 4,
    prompt: PromptOption = "default",
    target: Annotated[bool, typer.Option("--target", help="Show the edit as a diff and the target too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the whole task record as JSON.")] = False,
) -> None:
    """Print one task: the prompt a model reads, or the whole record."""
    from atomworld_env.envs.rendering import render_ansi
    from atomworld_env.families.registry import FAMILIES
    from atomworld_env.prompts.prompt import load_template
    from atomworld_env.tasks.sampler import TaskSampler
    from atomworld_env.tasks.sampler_config import SamplerConfig

    entry = family_named(family)
    if entry.name == "edits":  # the name of a kind of task says which family it is of
        entry = next((each for each in FAMILIES.values() if action in each.actions), entry)
    names = action_names(action, entry.name)
    template = load_template(prompt, default=entry.prompt)
    if entry.name == "edits":
        sampler = TaskSampler(SamplerConfig(
            pool=pool,
            split=split,
            actions=names,
            min_sites=min_sites,
            max_sites=max_sites,
            cif_style=cif_style,  # type: ignore[arg-type]  # checked by SamplerConfig
            decimals=decimals,
        ))  # fmt: skip
        report_skipped(sampler.pool)
        task = sampler.sample(seed, action)
    else:
        if (pool, min_sites, max_sites, cif_style, decimals) != ("aflow", 10, 100, "full", 4):
            raise UsageError(
                "--pool, --min-sites, --max-sites, --cif-style and --decimals are for edits; leave them out"
            )
        task = entry.load("make")(split).sample(seed, action)
    if json:
        print_json(task.to_json())
        return
    stdout.print(template.render(task.structure, task.prompt), markup=False, highlight=False, soft_wrap=True)
    if target:
        if entry.name == "edits":
            stdout.print()
            stdout.print(render_ansi(task, None, None, 0.0), markup=False, highlight=False, soft_wrap=True)
        stdout.print("\nTarget:")
        stdout.print(task.target, markup=False, highlight=False, soft_wrap=True)
