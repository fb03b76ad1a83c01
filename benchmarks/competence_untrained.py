"""Chemical competence of networks that have learnt nothing: every d should be that of chance.

    python -m benchmarks.competence_untrained

Takes the extra `train` and about a minute for each network on a CPU. Networks of the small policy's shape with random
weights, two seeds, embeddings tied to the output or not. Prints a Markdown table.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from atomworld_env.competence.model import ScoringModel
from atomworld_env.competence.pairs import load_pairs
from atomworld_env.competence.run import run_competence
from atomworld_env.competence.stored import MEASURES
from atomworld_env.policies.local_model import shipped_model


def main() -> None:
    """Print the table."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(shipped_model())
    pairs = load_pairs("competence")
    print(f"| seed | embeddings | {' | '.join(MEASURES)} | seconds |\n|---|---|{'---|' * len(MEASURES)}---|")
    for seed in (0, 1):
        for tied in (True, False):
            config = AutoConfig.from_pretrained(shipped_model())
            config.tie_word_embeddings = tied
            torch.manual_seed(seed)
            model = ScoringModel("untrained", AutoModelForCausalLM.from_config(config).eval(), tokenizer)
            begun = perf_counter()
            with TemporaryDirectory() as folder:
                found = run_competence(model, "competence", pairs, Path(folder), batch_size=16)
            cells = []
            for name in MEASURES:
                effect = found.effects[name]
                low, high = effect.interval or (float("nan"), float("nan"))
                cells.append(f"{effect.d:.4f} [{low:.4f}, {high:.4f}]")
            words = "tied" if tied else "not tied"
            print(f"| {seed} | {words} | {' | '.join(cells)} | {perf_counter() - begun:.0f} |", flush=True)


if __name__ == "__main__":
    main()
