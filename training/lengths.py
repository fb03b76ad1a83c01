"""How long prompts and right answers are, so that max_completion_length is chosen and not guessed.

    python -m training.lengths --tokenizer PATH
    python -m training.lengths --tokenizer PATH --max-sites 30 --per-action 50 --json

``--tokenizer`` takes any folder that `AutoTokenizer` loads, a hub name where the network allows it, or ``small`` for
the tokenizer of the small policy. Lengths are in tokens, chat markup and the start of the answer counted with the
prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from atomworld_env.cli.console import action_names, print_json, progress_bar, run, stdout
from atomworld_env.cli.options import ActionsOption, JsonOption, MaxSitesOption, MinSitesOption, PromptOption
from atomworld_env.errors import UsageError
from atomworld_env.prompts.prompt import PromptTemplate, load_template
from atomworld_env.structures.cif import CIF_STYLES, CifStyle
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import Task
from training.oracle_answers import oracle_answer
from training.task_dataset import prompt_length

EXAMPLES = """
Examples:

  python -m training.lengths --tokenizer small --min-sites 2 --max-sites 6 --prompt short

  python -m training.lengths --tokenizer /models/Qwen3-1.7B --max-sites 30 --per-action 50

  python -m training.lengths --tokenizer /models/Qwen3-1.7B --json
"""

ALL = "all"


@dataclass(frozen=True)
class Lengths:
    """Tokens of one edit in one CIF style.

    Attributes:
        action: name of the edit, or "all".
        style: of the CIF in prompt and answer.
        tasks: how many were measured.
        prompt, answer: median, 95th percentile and maximum.
    """

    action: str
    style: str
    tasks: int
    prompt: tuple[int, int, int]
    answer: tuple[int, int, int]


def measure(tasks: Iterable[Task], tokenizer: Any, template: PromptTemplate, style: CifStyle) -> list[Lengths]:
    """Lengths of the tasks' prompts and right answers, by edit and over all.

    Args:
        tasks: with structures in this CIF style.
        tokenizer: of transformers.
    """
    length = prompt_length(tokenizer)
    found: dict[str, list[tuple[int, int]]] = {}
    for task in tasks:
        # One more for the token that ends the answer.
        answer = len(tokenizer(oracle_answer(task, style=style), add_special_tokens=False)["input_ids"]) + 1
        found.setdefault(task.action, []).append((length(template.messages(task.structure, task.prompt)), answer))
    everything = [pair for pairs in found.values() for pair in pairs]
    return [
        Lengths(action, style, len(pairs), *(_summary([pair[k] for pair in pairs]) for k in (0, 1)))
        for action, pairs in [*found.items(), (ALL, everything)]
    ]


def _summary(values: Sequence[int]) -> tuple[int, int, int]:
    # Percentiles that are lengths which occurred: half a token is no limit to set.
    median, high, most = np.percentile(values, [50, 95, 100], method="higher")
    return int(median), int(high), int(most)


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a folder, or ``small``.

    Raises:
        UsageError: if it cannot be loaded.
    """
    if name == "small":
        from training.small_policy.tokenizer import build_tokenizer

        return build_tokenizer(max_length=1 << 20)
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UsageError(f"cannot load the tokenizer {name!r}: {reason}; give a folder with its files") from None


app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)


@app.command(epilog=EXAMPLES)
def lengths(
    tokenizer: Annotated[str, typer.Option(help="Folder or name of a tokenizer, or small.")],
    actions: ActionsOption = None,
    min_sites: MinSitesOption = 10,
    max_sites: MaxSitesOption = 100,
    per_action: Annotated[int, typer.Option(min=1, help="Tasks measured of each edit.")] = 25,
    split: Annotated[str, typer.Option(help="Split of prototype families: train, validation, test or all.")] = "train",
    prompt: PromptOption = "default",
    style: Annotated[str | None, typer.Option(help="full or compact; both when not given.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the tasks.")] = 0,
    json: JsonOption = False,
) -> None:
    """Print token lengths of prompts and right answers per edit and CIF style: median, 95th percentile, maximum."""
    names = action_names(actions)
    chosen = _styles(style)
    template, loaded = load_template(prompt), load_tokenizer(tokenizer)
    rows: list[Lengths] = []
    with progress_bar("sampling", len(chosen) * len(names) * per_action, quiet=json) as advance:
        for turn, each in enumerate(chosen):
            config = SamplerConfig(split=split, actions=names, min_sites=min_sites, max_sites=max_sites, cif_style=each)
            tasks = []
            for task in _tasks(TaskSampler(config), per_action, seed):
                tasks.append(task)
                advance(turn * len(names) * per_action + len(tasks), f"{each}: {task.action}")
            rows += measure(tasks, loaded, template, each)
    if json:
        print_json({"tokenizer": tokenizer, "prompt": prompt, "rows": [asdict(row) for row in rows]})
    else:
        stdout.print(_table(rows))


def _styles(style: str | None) -> tuple[CifStyle, ...]:
    if style is None:
        return CIF_STYLES
    for known in CIF_STYLES:
        if style == known:
            return (known,)
    raise UsageError(f"unknown CIF style {style!r}; choose from {', '.join(CIF_STYLES)}")


def _tasks(sampler: TaskSampler, per_action: int, seed: int) -> Iterator[Task]:
    for number, action in enumerate(sampler.config.actions):
        for each in np.random.SeedSequence([seed, number]).generate_state(per_action):
            yield sampler.sample(int(each), action)


def _table(rows: Sequence[Lengths]) -> Table:
    table = Table("action", "CIF", "tasks", title="tokens: median / 95 % / most")
    for column in ("prompt", "answer"):
        table.add_column(column, justify="right")
    for row in rows:
        figures = (" / ".join(str(value) for value in part) for part in (row.prompt, row.answer))
        table.add_row(row.action, row.style, str(row.tasks), *figures, end_section=row.action == ALL)
    return table


if __name__ == "__main__":
    run(app)
