"""Reinforcement training of a language model on the edits, or on another family of tasks, with TRL's GRPO.

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

    CUDA_VISIBLE_DEVICES=0 VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --max-model-len 8192 \\
        --weight-transfer-config '{"backend": "nccl"}' --logprobs-mode processed_logprobs --max-logprobs -1
    CUDA_VISIBLE_DEVICES=1,2,3 accelerate launch --num_processes 3 -m training.grpo \\
        --config training/recipes/vllm_server.yaml --model_name_or_path MODEL --output_dir runs/server

Another family than the edits, by its name or by one of its suites (no pool, no sizes, no curriculum: its kinds of
task are drawn equally often):

    python -m training.grpo --family coordinates --model_name_or_path MODEL --max_steps 200 --output_dir runs/points

Any value of a recipe can be given on the command line, which wins. ``--report_to tensorboard`` (or trackio, wandb,
none) chooses where curves go. After a crash or a kill the same line with ``--resume_from_checkpoint last`` goes on.

The folder of a run holds ``samples/`` (every answer with its verdict, a Parquet file for each generation batch),
``evaluations/`` (held-out answers), ``checkpoint-*/``, and at the end the model itself.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trl import GRPOConfig, GRPOTrainer, ModelConfig, TrlParser, get_peft_config, get_quantization_config

from atomworld_env.errors import UsageError
from rewards.trl import AtomWorldReward
from training.checkpoints import CompleteCheckpoints, check_saving, read_marker, start_on_all_ranks
from training.command import check_reporters, command_parser, run_command
from training.family_reward import FamilyReward
from training.generation_batches import GenerationBatches
from training.heldout import HeldOutEvaluation
from training.model_loading import load_tokenizer, model_arguments, model_path, prompt_room
from training.rollout_record import RecordedReward
from training.run_arguments import RewardArguments, TaskArguments, option
from training.training_tasks import TrainingTasks


@dataclass
class GRPOArguments(RewardArguments, TaskArguments):
    """Options beside those of GRPOConfig and ModelConfig."""

    family: str | None = option(
        None, "Family of the tasks; when not given that of --suite, else the edits, which alone have a curriculum."
    )
    processes: int | None = option(None, "Ranks that the recipe is meant for; another number is refused.")


@dataclass
class EditsGRPOConfig(GRPOConfig):  # type: ignore[misc]  # trl has no types
    """TRL's GRPOConfig with one other default, ``scale_rewards``.

    TRL divides the advantages of each group by the group's own spread (``group``). Under a graded reward that makes
    0.01 of progress in a group without a success weigh as much as a success among failures, and favours tasks that
    nearly always or nearly never succeed (Liu et al., "Understanding R1-Zero-like training", arXiv:2503.20783).
    Dividing by the spread of the whole batch (``batch``; Liu et al., "Tricks or traps", arXiv:2508.08221) keeps groups
    in proportion, but blows up a batch in which nothing succeeded to the size of one in which much did. Undivided
    (``none``), rewards in [0, 1] need no scaling, a batch weighs as much as there is to learn in it, and Adam takes
    care of the overall size. ``--scale_rewards`` compares.
    """

    scale_rewards: str = field(
        default="none",
        metadata={"help": "Divide advantages by the spread of the 'group', the 'batch', or not ('none')."},
    )


def main(script: GRPOArguments, config: GRPOConfig, model: ModelConfig) -> GRPOTrainer:
    """Train; the trainer when it is done.

    Raises:
        UsageError: for options that do not go together.
    """
    if script.processes is not None and config.world_size != script.processes:
        raise UsageError(
            f"this recipe is for {script.processes} processes, {config.world_size} are running; start it with "
            f"`accelerate launch --num_processes {script.processes}`, or give --processes {config.world_size}"
        )
    if config.use_vllm and find_spec("vllm") is None:
        raise UsageError("vLLM is not installed; `pip install 'atomworld-env[vllm]'`, or give --use_vllm false")
    batches = GenerationBatches.of(config)
    batches.check(config)
    check_saving(config)
    check_reporters(config)
    path = model_path(model)
    tokenizer = load_tokenizer(path, model)
    room = prompt_room(path, config, script.max_prompt_length)
    tasks = TrainingTasks.prepare(script, tokenizer, batches, room=room, config=config)
    # Order and epochs are those of the rows: TRL's own shuffling starts anew when a run is resumed.
    config.shuffle_dataset = False
    config.num_train_epochs = 1
    if config.max_steps <= 0:
        config.max_steps = batches.steps_for(tasks.wanted)
    checkpoint = start_on_all_ranks(config, {**asdict(script), "model_name_or_path": path, "use_peft": model.use_peft})
    reward = RecordedReward(
        _verifier(script, tasks),
        Path(config.output_dir),
        num_generations=config.num_generations,
        curriculum=tasks.curriculum,
        main=config.process_index == 0,
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


def _verifier(script: GRPOArguments, tasks: TrainingTasks) -> AtomWorldReward | FamilyReward:
    if tasks.family != "edits":
        if script.reward_profile not in (None, "strict"):
            raise UsageError(f"the family {tasks.family} has no paper profile; leave --reward_profile out")
        return FamilyReward(
            tasks.family,
            script.reward_scheme,
            template=tasks.template,
            actions=script.actions,
            workers=script.reward_workers,
            timeout=script.reward_timeout,
        )
    try:
        return AtomWorldReward(
            script.reward_scheme,
            profile=script.reward_profile,
            workers=script.reward_workers,
            timeout=script.reward_timeout,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def parser() -> TrlParser:
    """Of the command line and of a recipe."""
    return command_parser((GRPOArguments, EditsGRPOConfig, ModelConfig), "training.grpo", __doc__)


if __name__ == "__main__":
    run_command(main, parser())
