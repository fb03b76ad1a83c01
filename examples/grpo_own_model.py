"""GRPO with TRL's own trainer on any model, three steps on a CPU. Needs the extra: `pip install -e '.[train]'`.

    python examples/grpo_own_model.py            # a random two-layer Qwen3 with a tokenizer, made on the spot
    python examples/grpo_own_model.py MODEL      # a folder or hub name; `small` is the policy that ships here

The random model earns nothing and so learns nothing; it shows that the path works. A run of your own wants more:
`python -m training.grpo` adds the curriculum, held-out tasks, samples on disk and resuming.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from atomworld_env.families.edits import CrystalEdits
from atomworld_env.prompts.prompt import load_template
from atomworld_env.tasks.sampler_config import SamplerConfig
from rewards.trl import AtomWorldReward

STEPS, TASKS, ANSWERS = 3, 2, 4

QWEN_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def save_random_model(folder: Path) -> str:
    """A Qwen3 of two narrow layers and a tokenizer of single bytes: any text goes in, nothing sensible comes out."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    markup = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vocabulary = {token: number for number, token in enumerate([*markup, *letters])}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(markup)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        chat_template=QWEN_TEMPLATE,
    )
    torch.manual_seed(0)
    network = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(vocabulary),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=32,
            max_position_embeddings=4096,
            pad_token_id=0,
            eos_token_id=2,
            bos_token_id=None,
        )
    )
    network.save_pretrained(folder)
    fast.save_pretrained(folder)
    return str(folder)


def rows() -> list[dict[str, Any]]:
    """Tasks as a data set: the prompt, and the columns that the reward reads."""
    from training.task_dataset import grpo_row

    family = CrystalEdits(
        SamplerConfig(actions=("change", "remove"), min_sites=2, max_sites=6, cif_style="compact"),
        template=load_template("short"),
    )
    return [grpo_row(family.sampler.sample(seed), family) for seed in range(STEPS * TASKS)]


def train(model: str, folder: Path) -> list[dict[str, Any]]:
    """Three steps; what was logged at each."""
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    reward = AtomWorldReward(workers=1)  # or stepwise_reward of custom_reward.py
    trainer = GRPOTrainer(
        model=model,
        processing_class=AutoTokenizer.from_pretrained(model, padding_side="left"),
        reward_funcs=[reward],
        train_dataset=Dataset.from_list(rows()),
        args=GRPOConfig(
            output_dir=str(folder),
            max_steps=STEPS,
            per_device_train_batch_size=TASKS * ANSWERS,
            num_generations=ANSWERS,
            max_completion_length=224,
            learning_rate=1e-5,
            scale_rewards="none",  # why: training/grpo.py
            use_cpu=True,  # leave these two out on a GPU
            bf16=False,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
        ),
    )
    trainer.train()
    reward.close()
    return [line for line in trainer.state.log_history if "reward" in line]


def main(model: str | None) -> None:
    """Train and print the curves that matter."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if model == "small":
            from atomworld_env.policies.local_model import shipped_model

            model = str(shipped_model())
        history = train(model or save_random_model(folder / "model"), folder / "run")
    for number, line in enumerate(history, start=1):
        print(
            f"step {number}: reward {line['reward']:.3f}, right {line['atomworld/success_strict']:.2f}, "
            f"copied {line['atomworld/copied']:.2f}, readable {line['atomworld/parsable']:.2f}, "
            f"cut off {line['completions/clipped_ratio']:.2f}"
        )
    assert len(history) == STEPS


if __name__ == "__main__":
    if find_spec("trl") is None or find_spec("torch") is None:
        print("nothing trained: this example needs the training extra, pip install -e '.[train]'")
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else None)
