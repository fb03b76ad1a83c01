"""Two steps of GRPO with a random two-layer Qwen3 on a CPU; run by `test_trl_training.py`, alone or under torchrun.

    python tiny_grpo.py FOLDER
    torchrun --nproc-per-node 2 tiny_grpo.py FOLDER

Leaves in the folder `rank_<r>.json`: the trainer's log, the worker processes of the rank, and how many it had.
Without a guard on purpose: the worker processes must not run it again.
"""

import json
import os
import sys
from pathlib import Path

import torch
from crystal_texts import FRAC, cif, tagged
from datasets import Dataset
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from rewards.trl import AtomWorldReward, atomworld_reward

folder = Path(sys.argv[1])
moved = cif(frac=[*FRAC[:3], (0.72, 0.23, 0.9)])
# Whole answers are single tokens, so that a random model gives right ones, copies of the input and nonsense.
words = ["<pad>", "<end>", "<user>", "<assistant>", "move", "</cif>", tagged(cif()), tagged(moved)]
tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, "<pad>"))
tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("<[a-z]+>|[a-z]+"), behavior="isolated")
tokenizer.decoder = decoders.Fuse()
processing_class = PreTrainedTokenizerFast(
    tokenizer_object=tokenizer,
    pad_token="<pad>",
    eos_token="<end>",
    chat_template="{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}",
)
torch.manual_seed(0)
model = Qwen3ForCausalLM(
    Qwen3Config(
        vocab_size=len(tokenizer.get_vocab()),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=64,
    )
)
baseline = {
    "stage": "structure_mismatch",
    "max_displacement": 0.8,
    "sum_displacement": 0.8,
    "composition_difference": 0,
}
rows = [
    {
        "prompt": [{"role": "user", "content": "move"}],
        "target": "no crystal" if number == 3 else cif(),
        "structure": moved,
        "baseline": baseline,
        "task_id": f"task-{number}",
    }
    for number in range(4)
]
trainer = GRPOTrainer(
    model=model,
    processing_class=processing_class,
    reward_funcs=[atomworld_reward, AtomWorldReward("strict")],
    train_dataset=Dataset.from_list(rows),
    args=GRPOConfig(
        output_dir=str(folder / "run"),
        max_steps=2,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=3,
        logging_steps=1,
        log_completions=True,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        seed=3,
    ),
)
trainer.train()
rank = os.environ.get("RANK", "0")
record = {"log": trainer.state.log_history, "processes": atomworld_reward._pool().process_ids}
(folder / f"rank_{rank}.json").write_text(json.dumps(record))
