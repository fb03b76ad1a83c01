"""`atomworld sample`: look at one task."""

from __future__ import annotations

from typing import Annotated

import typer

from atomworld_env.cli.console import action_names, print_json, report_skipped, stdout
from atomworld_env.cli.options import (
    CifStyleOption,
    DecimalsOption,
    MaxSitesOption,
    MinSitesOption,
    PoolOption,
    PromptOption,
    SplitOption,
)

EXAMPLES = """
Examples:

  atomworld sample

  atomworld sample --action rotate_around --seed 3 --target

  atomworld sample --action swap --min-sites 2 --max-sites 9 --cif-style compact --json
"""


def sample(
    action: Annotated[str | None, typer.Option(help="One of the ten edits; any of them when not given.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal tasks, on any machine.")] = 0,
    split: SplitOption = "train",
    pool: PoolOption = "aflow",
    min_sites: MinSitesOption = 10,
    max_sites: MaxSitesOption = 100,
    cif_style: CifStyleOption = "full",
    decimals: DecimalsOption = 4,
    prompt: PromptOption = "default",
    target: Annotated[bool, typer.Option("--target", help="Show the edit as a diff and the target CIF too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the whole task record as JSON.")] = False,
) -> None:
    """Print one task: the prompt a model reads, or the whole record."""
    from atomworld_env.prompts.prompt import load_template
    from atomworld_env.tasks.sampler import TaskSampler
    from atomworld_env.tasks.sampler_config import SamplerConfig

    template = load_template(prompt)
    config = SamplerConfig(
        pool=pool,
        split=split,
        actions=action_names(action),
        min_sites=min_sites,
        max_sites=max_sites,
        cif_style=cif_style,  # type: ignore[arg-type]  # checked by SamplerConfig
        decimals=decimals,
    )
    sampler = TaskSampler(config)
    report_skipped(sampler.pool)
    task = sampler.sample(seed, action)
    if json:
        print_json(task.to_json())
        return
    stdout.print(template.render(task.structure, task.prompt), markup=False, highlight=False, soft_wrap=True)
    if target:
        from atomworld_env.envs.rendering import render_ansi

        stdout.print()
        stdout.print(render_ansi(task, None, None, 0.0), markup=False, highlight=False, soft_wrap=True)
        stdout.print("\nTarget:")
        stdout.print(task.target, markup=False, highlight=False, soft_wrap=True)
