"""Reinforcement training of a language model on the edits, with TRL's GRPO.

One process, no GPU (minutes; the small policy that ships with the package):

    python -m training.grpo --config training/recipes/cpu_small.yaml --output_dir runs/grpo

One GPU with LoRA, or with vLLM in the same process:

    python -m training.grpo --config training/recipes/gpu_24gb_lora.yaml --output_dir runs/lora
    python -m training.grpo --config training/recipes/gpu_80gb_vllm.yaml --output_dir runs/vllm

Several GPUs of one machine; the number of processes is always given, as accelerate's files carry another:

    accelerate launch --config_file training/recipes/accelerate_fsdp2.yaml --num_processes 4 \\
        -m training.grpo --config training/recipes/gpus_4_fsdp2.yaml --output_dir runs/fsdp2
    accelerate launch --config_file training/recipes/accelerate_zero3.yaml --num_processes 8 \\
        -m training.grpo --config training/recipes/gpus_8_zero3.yaml --output_dir runs/zero3

Several machines: the same line on each, with ``--num_machines 2 --num_processes 16 --machine_rank 0|1
--main_process_ip HOST --main_process_port 29500`` for the launcher; ``--output_dir`` must be shared by all of them.
vLLM in processes of its own, on GPUs that do not train:

    CUDA_VISIBLE_DEVICES=0 vllm serve MODEL --weight-transfer-config '{"backend": "nccl"}' \\
        --logprobs-mode processed_logprobs
    CUDA_VISIBLE_DEVICES=1,2,3 accelerate launch --num_processes 3 -m training.grpo \\
        --config training/recipes/vllm_server.yaml --model_name_or_path MODEL --output_dir runs/server

Any value of a recipe can be given on the command line, which wins. ``--report_to tensorboard`` (or trackio, wandb,
none) chooses where curves go. After a crash or a kill the same line with ``--resume_from_checkpoint last`` goes on.

The folder of a run holds ``samples/`` (every answer with its verdict, a Parquet file for each generation batch),
``evaluations/`` (held-out answers), ``checkpoint-*/``, and at the end the model itself.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer, ModelConfig, TrlParser, get_peft_config, get_quantization_config

from atomworld_env.errors import UsageError
from rewards.trl import AtomWorldReward
from training.checkpoints import CompleteCheckpoints, read_marker, start_run
from training.generation_batches import GenerationBatches
from training.heldout import HeldOutEvaluation
from training.model_loading import model_arguments, prompt_room
from training.rollout_record import RecordedReward
from training.run_arguments import RewardArguments, TaskArguments
from training.training_tasks import TrainingTasks

_LOGGER = logging.getLogger(__name__)


@dataclass
class GRPOArguments(RewardArguments, TaskArguments):
    """Options beside those of GRPOConfig and ModelConfig."""


def main(script: GRPOArguments, config: GRPOConfig, model: ModelConfig) -> GRPOTrainer:
    """Train; the trainer when it is done.

    Raises:
        UsageError: for options that do not go together.
    """
    batches = GenerationBatches.of(config)
    batches.check(config)
    path = str(model.model_name_or_path)
    tokenizer = AutoTokenizer.from_pretrained(path, revision=model.model_revision, padding_side="left")
    room = prompt_room(path, config, script.max_prompt_length)
    tasks = TrainingTasks.prepare(script, tokenizer, batches, room=room, config=config)
    # Order and epochs are those of the rows: TRL's own shuffling starts anew when a run is resumed.
    config.shuffle_dataset = False
    config.num_train_epochs = 1
    if config.max_steps <= 0:
        config.max_steps = batches.steps_for(tasks.wanted)
    main_process = config.process_index == 0
    checkpoint = _start(script, config, model, main_process)
    reward = RecordedReward(
        AtomWorldReward(
            script.reward_scheme,
            profile=script.reward_profile,
            workers=script.reward_workers,
            timeout=script.reward_timeout,
        ),
        Path(config.output_dir),
        num_generations=config.num_generations,
        curriculum=tasks.curriculum,
        main=main_process,
    )
    generation = 0
    if checkpoint is not None:
        marker = read_marker(checkpoint)
        generation = marker["generation"]
        if tasks.curriculum is not None:
            tasks.curriculum.restore(marker["curriculum"])
    config.model_init_kwargs = model_arguments(model, config)
    trainer = GRPOTrainer(
        model=path,
        reward_funcs=[reward],
        args=config,
        train_dataset=tasks.rows.dataset(batches.tasks * batches.number_for(config.max_steps)),
        processing_class=tokenizer,
        quantization_config=get_quantization_config(model),
        peft_config=get_peft_config(model),
    )
    if tasks.held_out:
        evaluation = HeldOutEvaluation(
            tasks.held_out,
            tasks.template,
            every=script.heldout_every,
            max_new_tokens=config.max_completion_length,
            batch_size=script.heldout_batch_size,
            scheme=script.reward_scheme,
            profile=script.heldout_profile,
            leave_out=reward.leave_out,
        )
        evaluation.trainer = trainer
        trainer.add_callback(evaluation)

    def state() -> dict[str, Any]:
        curriculum = None if tasks.curriculum is None else tasks.curriculum.state()
        return {"generation": reward.generation, "curriculum": curriculum}

    trainer.add_callback(CompleteCheckpoints(state, trainer.accelerator.wait_for_everyone))
    reward.start(generation)
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    tasks.report_overflows()
    trainer.save_model(config.output_dir)
    reward.reward.close()
    return trainer


def _start(script: GRPOArguments, config: GRPOConfig, model: ModelConfig, main_process: bool) -> Path | None:
    """Claim the folder on the first rank; the others then see what it decided."""
    batches = ("seed", "num_generations", "per_device_train_batch_size", "gradient_accumulation_steps",
               "steps_per_generation", "num_iterations", "max_completion_length", "max_steps", "world_size",
               "learning_rate", "lr_scheduler_type", "loss_type", "scale_rewards", "beta", "temperature", "epsilon",
               "epsilon_high")  # fmt: skip
    options = {
        **asdict(script),
        **{name: getattr(config, name) for name in batches},
        "model_name_or_path": model.model_name_or_path,
        "use_peft": model.use_peft,
    }
    with config.main_process_first(local=False, desc="claiming the folder of the run"):
        folder = Path(config.output_dir)
        resume = config.resume_from_checkpoint
        if main_process:
            return start_run(folder, options, resume=resume)
        return None if resume is None else start_run(folder, options, resume=resume)


def parser() -> TrlParser:
    """Of the command line and of a recipe."""
    return TrlParser((GRPOArguments, GRPOConfig, ModelConfig), description="GRPO on the edits", prog="training.grpo")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    try:
        main(*parser().parse_args_and_config())
    except UsageError as error:
        sys.exit(f"error: {error}")
