"""`atomworld evaluate` and `atomworld table`: run a policy through the environment, show stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from atomworld_env.cli.competence import (
    SUITE_NAMES,
    all_or_none_of_competence,
    evaluate_competence,
    table_of_competence,
)
from atomworld_env.cli.console import (
    NARROWEST,
    comma_separated,
    default_workers,
    print_json,
    progress_bar,
    stderr,
    stdout,
    writable_file,
    writable_folder,
    write_tables,
)
from atomworld_env.cli.options import (
    ActionsOption,
    EngineOption,
    JsonOption,
    OutFolderOption,
    OwnToleranceOption,
    PromptOption,
    StrictTagsOption,
    WorkersOption,
)
from atomworld_env.cli.policy_options import (
    ApiKeyEnvOption,
    BaseUrlOption,
    BatchSizeOption,
    CommandEnvOption,
    CommandTimeoutOption,
    ConcurrencyOption,
    ContinuousBatchingOption,
    ExtraBodyOption,
    MaxNewTokensOption,
    MaxTokensFieldOption,
    PriceInOption,
    PriceOutOption,
    ReasoningEffortOption,
    RequestsPerMinuteOption,
    RequestTimeoutOption,
    RetriesOption,
    SeedOption,
    StopOption,
    TemperatureOption,
    ThinkingBudgetOption,
    ThinkingOption,
    TopKOption,
    TopPOption,
    VllmOptionsOption,
    json_object,
)

NARROW_COLUMNS = 4
"""Runs side by side on a terminal that has no room for a column per edit."""

EVALUATE_EXAMPLES = """
Examples:

  atomworld evaluate --policy noop --suite atommotor --per-action 10 --out runs/noop

  atomworld evaluate --policy oracle --suite runs/atommotor --profile strict --out runs/oracle

  atomworld evaluate --policy noop --suite runs/atommotor --out runs/noop --resume

  atomworld evaluate --policy hf:/models/Qwen3-1.7B --per-action 20 --out runs/qwen

  atomworld evaluate --policy openai:gpt-4.1 --price-in 2 --price-out 8 --per-action 20 --out runs/gpt

  atomworld evaluate --policy openai:Qwen/Qwen3-8B --base-url http://localhost:8000/v1 --samples 4 --out runs/qwen-8b

  atomworld evaluate --policy command:"python agent.py" --command-env AGENT_KEY --per-action 5 --out runs/agent

  atomworld evaluate --policy hf:small --prompt short --suite runs/little --out runs/small

  atomworld evaluate --suite competence --policy hf:Qwen/Qwen3-4B --out runs/ccs
"""

TABLE_EXAMPLES = """
Examples:

  atomworld table runs/oracle runs/noop

  atomworld table runs/qwen --published

  atomworld table runs/noop --json
"""


def evaluate(
    context: typer.Context,
    policy: Annotated[str, typer.Option(help="A policy: `atomworld policies` lists them; hf:PATH is a model.")],
    out: OutFolderOption,
    suite: Annotated[str, typer.Option(help="A suite's name, or a file or folder of tasks.")] = "atommotor",
    per_action: Annotated[int | None, typer.Option(min=1, help="Only the first N tasks of each edit.")] = None,
    actions: ActionsOption = None,
    profile: Annotated[str, typer.Option(help="strict, paper (with strict beside it) or both.")] = "both",
    paper_per_action: Annotated[
        int | None, typer.Option(min=0, help="Paper profile for the first N tasks of each edit only.")
    ] = None,
    reward_scheme: Annotated[str, typer.Option(help="shaped, strict, paper or distance.")] = "shaped",
    tolerance: OwnToleranceOption = None,
    strict_tags: StrictTagsOption = False,
    engine: EngineOption = "fast",
    prompt: PromptOption = "default",
    time_limit: Annotated[
        float, typer.Option(min=120.0, help="Seconds for one verdict before it is a timeout.")
    ] = 600.0,
    samples: Annotated[int, typer.Option(min=1, help="Answers to each task, for pass@k and mean@k.")] = 1,
    workers: WorkersOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in --out; its settings must be the same.")
    ] = False,
    seed: SeedOption = 0,
    temperature: TemperatureOption = 0.0,
    top_p: TopPOption = 1.0,
    top_k: TopKOption = 0,
    max_new_tokens: MaxNewTokensOption = 2048,
    stop: StopOption = None,
    thinking: ThinkingOption = None,
    thinking_budget: ThinkingBudgetOption = None,
    batch_size: BatchSizeOption = 16,
    continuous_batching: ContinuousBatchingOption = False,
    vllm_options: VllmOptionsOption = None,
    base_url: BaseUrlOption = None,
    api_key_env: ApiKeyEnvOption = "OPENAI_API_KEY",
    concurrency: ConcurrencyOption = None,
    requests_per_minute: RequestsPerMinuteOption = None,
    request_timeout: RequestTimeoutOption = 600.0,
    retries: RetriesOption = 6,
    max_tokens_field: MaxTokensFieldOption = "max_completion_tokens",
    reasoning_effort: ReasoningEffortOption = None,
    extra_body: ExtraBodyOption = None,
    price_in: PriceInOption = None,
    price_out: PriceOutOption = None,
    command_timeout: CommandTimeoutOption = 600.0,
    command_env: CommandEnvOption = None,
    json: JsonOption = False,
) -> None:
    """Run a policy over a suite and print success per edit.

    Every answer is stepped through AtomWorld-v0. One line per answer goes to results.jsonl in --out as soon as its
    verdict is there, so that a killed run loses nothing that was finished. Where the machinery fails (a network, a
    server, memory) nothing is scored: the failure goes to failures.jsonl, and the command ends with status 1.
    """
    if suite in SUITE_NAMES:
        evaluate_competence(context)
        return
    from atomworld_env.evaluation.journal import FAILURES, failures_left
    from atomworld_env.evaluation.manifest import read_manifest, refuse_started
    from atomworld_env.evaluation.records import place
    from atomworld_env.evaluation.run import evaluate as run_policy
    from atomworld_env.evaluation.summary import summarise, summary_table
    from atomworld_env.families.registry import FAMILIES
    from atomworld_env.policies.by_name import PolicyOptions, policy_by_name
    from atomworld_env.policies.command import CommandOptions
    from atomworld_env.policies.local_model import SMALL_POLICY
    from atomworld_env.policies.retrying import Patience
    from atomworld_env.policies.sampling import Decoding
    from atomworld_env.policies.server_options import ServerOptions
    from atomworld_env.prompts.prompt import load_template
    from atomworld_env.tasks.suite import load_suite

    stops = tuple(stop or ())
    options = PolicyOptions(
        Decoding(max_new_tokens, temperature, seed, top_p, top_k, stops, thinking, thinking_budget),
        batch_size,
        continuous_batching,
        json_object(vllm_options, "--vllm-options"),
        ServerOptions(
            base_url,
            api_key_env,
            concurrency or 8,
            requests_per_minute,
            request_timeout,
            Patience(retries),
            max_tokens_field,
            reasoning_effort,
            json_object(extra_body, "--extra-body"),
            price_in,
            price_out,
        ),
        CommandOptions(command_timeout, tuple(command_env or ()), concurrency or 1),
    )
    folder = writable_folder(out)
    refuse_started(folder, resume=resume)
    chosen = policy_by_name(policy, options)
    if policy == SMALL_POLICY and prompt == "default":
        stderr.print(f"{policy} has only ever read --prompt short and the compact CIF style; it is lost with others")
    with progress_bar("loading the suite", 1, quiet=json) as advance:
        questions = load_suite(suite).restricted(None if actions is None else comma_separated(actions), per_action)
        advance(1, "loading the suite")
    template = load_template(prompt, default=FAMILIES[questions.family].prompt)
    with progress_bar(policy, len(questions.tasks) * samples, quiet=json) as advance:
        records = run_policy(
            chosen,
            questions,
            folder,
            profile=profile,
            paper_per_action=paper_per_action,
            tolerance=tolerance,
            reward_scheme=reward_scheme,
            strict_tags=strict_tags,
            engine=engine,
            template=template,
            time_limit=time_limit,
            seed=seed,
            samples=samples,
            workers=workers or default_workers(),
            resume=resume,
            progress=lambda done, total: advance(done, policy),
        )
    rows = summarise(records, read_manifest(folder)["config"], questions.tasks)
    left = failures_left(folder, {place(record) for record in records})
    if json:
        lines = [row.to_json() for row in rows]
        print_json({"policy": policy, "suite": questions.name, "rows": lines, "failures_left": left})
    else:
        stdout.print(summary_table(policy, rows))
    if left:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(left.items()))
        stderr.print(
            f"{sum(left.values())} questions have no answer ({kinds}; see {folder / FAILURES}); ask them again with "
            "--resume",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
        raise typer.Exit(1)


def table(
    runs: Annotated[list[Path], typer.Argument(help="Folders written by `atomworld evaluate`.")],
    published: Annotated[
        bool, typer.Option("--published", help="Set the paper profile beside the published models, with its floor.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Write the tables to this text file too.")] = None,
    json: JsonOption = False,
) -> None:
    """Print stored runs under each other: success per edit under both profiles, oblique cells apart."""
    from atomworld_env.cli.published import beside_published_models
    from atomworld_env.evaluation.asked import tasks_where_needed
    from atomworld_env.evaluation.manifest import read_manifest
    from atomworld_env.evaluation.records import stored_results
    from atomworld_env.evaluation.summary import comparison_tables, summarise

    if out is not None:
        writable_file(out)
    if all_or_none_of_competence(runs):
        table_of_competence(runs, out, published=published, json=json)
        return
    if published:
        beside_published_models(runs, out, json=json)
        return
    summaries = {}
    for folder in runs:
        config, records = read_manifest(folder)["config"], stored_results(folder)
        name = str(config["policy"])
        tasks = tasks_where_needed(folder, config, records)
        summaries[name if name not in summaries else str(folder)] = summarise(records, config, tasks)
    if json:
        print_json({name: [row.to_json() for row in rows] for name, rows in summaries.items()})
        return
    for each in comparison_tables(summaries, columns=None if stdout.width >= NARROWEST else NARROW_COLUMNS):
        stdout.print(each)
    if out is not None:
        write_tables(out, comparison_tables(summaries))


def policies() -> None:
    """List the policies."""
    from rich.table import Table

    from atomworld_env.policies.baselines import BASELINES
    from atomworld_env.policies.by_name import MODEL_POLICIES

    listing = Table("policy", "answers with")
    for baseline in BASELINES.values():
        listing.add_row(baseline.name, baseline.description)
    for name, description in MODEL_POLICIES.items():
        listing.add_row(name, description)
    stdout.print(listing)
