"""Evaluate a policy of your own through the environment, and score it per edit.

    python examples/own_policy.py

Replace `TidyCopier.answers` by calls to your model: `question.messages` is the prompt as chat messages.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from atomworld_env.evaluation.run import evaluate
from atomworld_env.evaluation.summary import summarise, summary_table
from atomworld_env.policies.policy import Question
from atomworld_env.prompts.prompt import default_template
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.suite import SuiteRecipe, make_suite


class TidyCopier:
    """Reads the structure out of the prompt and hands it back, as a model that has understood nothing may do."""

    name = "tidy_copier"

    def answers(self, questions: Sequence[Question]) -> Iterator[str]:
        for question in questions:
            prompt = question.messages[-1]["content"]
            structure = prompt.partition("Structure:\n")[2].partition("\n\nInstruction:")[0]
            yield f"<think>It looks right to me.</think>\n<cif>\n{structure}\n</cif>"


def main() -> None:
    """A small suite of its own, evaluated in both profiles."""
    suite = make_suite(SuiteRecipe("example", SamplerConfig(split="test", max_sites=24), per_action=4, seed=1))
    with tempfile.TemporaryDirectory() as folder:
        records = evaluate(TidyCopier(), suite, Path(folder), template=default_template(), workers=2)
    rows = summarise(records)
    Console().print(summary_table("tidy_copier", rows))
    assert rows[-1].strict.rate == 0.0


if __name__ == "__main__":
    main()
