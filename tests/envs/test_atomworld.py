from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from math import inf
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import OrderEnforcing, RecordEpisodeStatistics, TimeLimit

import atomworld_env
from atomworld_env.actions import ACTIONS
from atomworld_env.errors import UsageError
from atomworld_env.policies.baselines import BASELINES
from atomworld_env.structures.pool import default_pool
from atomworld_env.tasks.suite import Suite
from atomworld_env.tasks.task import Task

SMALL = {"min_sites": 2, "max_sites": 12}


def make(**arguments: object) -> gymnasium.Env:
    return gymnasium.make("AtomWorld-v0", **(SMALL | arguments))


def oracle(env: gymnasium.Env) -> str:
    return BASELINES["oracle"].answer(env.unwrapped.task)


@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
@pytest.mark.parametrize("profile", ["strict", "both"])
def test_check_env_passes_without_a_warning(render_mode: str | None, profile: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(render_mode=render_mode, profile=profile).unwrapped)


def test_the_id_resolves_without_an_import() -> None:
    code = (
        "import gymnasium; env = gymnasium.make('atomworld_env:AtomWorld-v0'); print(env.reset(seed=1)[1]['task_id'])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == make(min_sites=10, max_sites=100).reset(seed=1)[1]["task_id"]


def test_an_episode_is_one_answer() -> None:
    env = make()
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert observation["structure"] in observation["prompt"] + "\n"
    assert env.unwrapped.task.prompt in observation["prompt"]
    assert info["messages"] == [{"role": "user", "content": observation["prompt"]}]
    _, reward, terminated, truncated, after = env.step(oracle(env))
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert after["success"] is True
    assert after["verdict_strict"] == "correct"
    with pytest.raises(ResetNeeded, match="call reset"):
        env.unwrapped.step("again")


def test_step_before_reset_says_what_to_do() -> None:
    with pytest.raises(ResetNeeded, match="call reset"):
        make().unwrapped.step("")


@pytest.mark.parametrize("action", ACTIONS)
def test_the_oracle_is_right_and_the_copy_is_not(action: str) -> None:
    env = make()
    _, info = env.reset(seed=4, options={"action": action})
    assert info["action"] == action
    assert env.step(oracle(env))[1] == 1.0
    observation, _ = env.reset(seed=4, options={"action": action})
    _, reward, _, _, info = env.step(f"<cif>{observation['structure']}</cif>")
    assert reward == pytest.approx(0.05)
    assert info["success"] is False


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("", id="empty"),
        pytest.param("\x00" * 50, id="nul"),
        pytest.param("<cif>" * 10_000, id="tags"),
        pytest.param("\ud800<cif>data_\ud800</cif>", id="surrogate"),
        pytest.param("9" * 1_000_000, id="megabyte"),
        pytest.param(None, id="none"),
        pytest.param(7, id="number"),
        pytest.param(b"<cif></cif>", id="bytes"),
        pytest.param({"cif": 1}, id="dict"),
    ],
)
def test_no_answer_raises_or_prints(answer: object, capfd: pytest.CaptureFixture[str]) -> None:
    env = make(profile="both").unwrapped
    env.reset(seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, reward, terminated, _, _ = env.step(answer)
    assert reward == 0.0
    assert terminated
    assert capfd.readouterr() == ("", "")


def test_the_keys_of_info_never_vary() -> None:
    for profile in ("strict", "both"):
        env = make(profile=profile)
        kinds = set()
        for answer in (None, "", "<cif>data_x</cif>", "oracle"):
            _, info = env.reset(seed=3)
            kinds.add(tuple((key, type(value)) for key, value in info.items()))
            if answer is not None:
                info = env.step(oracle(env) if answer == "oracle" else answer)[4]
                kinds.add(tuple((key, type(value)) for key, value in info.items()))
        assert len(kinds) == 1
        assert ("success_paper" in info) == (profile == "both")


def test_a_missing_number_is_inf() -> None:
    env = make(profile="both")
    _, info = env.reset(seed=3)
    assert info["max_displacement"] == info["rmsd"] == info["max_dist"] == inf
    info = env.step("")[4]
    assert info["max_displacement"] == inf


def test_twins_with_equal_seeds_do_the_same() -> None:
    first, second = make(), make()
    for seed in (5, None, None):
        start, begun = first.reset(seed=seed), second.reset(seed=seed)
        assert start[0] == begun[0]
        assert start[1] == begun[1]
        assert first.step("x")[1:] == second.step("x")[1:]


def test_the_environment_survives_pickling() -> None:
    env = pickle.loads(pickle.dumps(make().unwrapped))
    env.reset(seed=0)
    assert env.step("")[1] == 0.0


def test_common_wrappers_run() -> None:
    env = RecordEpisodeStatistics(TimeLimit(OrderEnforcing(make().unwrapped), 1))
    env.reset(seed=1)
    info = env.step(oracle(env))[4]
    assert info["episode"]["r"] == 1.0


@pytest.mark.parametrize("scheme", ["shaped", "strict", "paper", "distance"])
def test_every_scheme_pays_the_truth_in_full(scheme: str) -> None:
    env = make(reward_scheme=scheme)
    env.reset(seed=8)
    _, reward, _, _, info = env.step(oracle(env))
    assert reward == pytest.approx(1.0, abs=1e-6)
    assert sum(info[f"reward_{part}"] for part in ("parse", "composition", "geometry", "success")) == pytest.approx(
        reward, abs=1e-12
    )


def test_the_compact_style_is_shown_and_its_own_truth_is_right() -> None:
    env = make(cif_style="compact", decimals=3)
    observation, _ = env.reset(seed=9)
    assert "_symmetry" not in observation["structure"]
    assert env.step(oracle(env))[1] == 1.0


def test_a_template_of_the_users_is_used(tmp_path: Path) -> None:
    template = tmp_path / "mine.txt"
    template.write_text("{not a placeholder}\nDo: {instruction}\nOn: {structure}\n")
    env = make(prompt=str(template))
    observation, _ = env.reset(seed=1)
    assert observation["prompt"].startswith("{not a placeholder}\nDo: ")


def test_a_suite_gives_its_tasks(small_suite: Suite, small_suite_folder: Path) -> None:
    env = make(suite=str(small_suite_folder))
    ids = {task.task_id for task in small_suite.tasks}
    assert {env.reset(seed=seed)[1]["task_id"] for seed in range(10)} <= ids
    wanted = small_suite.tasks[4].task_id
    assert env.reset(options={"task": wanted})[1]["task_id"] == wanted
    assert env.reset(seed=1, options={"action": "swap"})[1]["action"] == "swap"


def test_a_task_or_its_record_can_be_given(small_tasks: dict[str, Task]) -> None:
    env = make()
    task = small_tasks["move"]
    for given in (task, task.to_json()):
        assert env.reset(options={"task": given})[1]["task_id"] == task.task_id
        assert env.step(f"<cif>{task.target}</cif>")[1] == 1.0


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        pytest.param({"actions": "fly"}, "fly.*choose from", id="action"),
        pytest.param({"actions": ()}, "no action", id="no-action"),
        pytest.param({"reward_scheme": "huge"}, "huge.*choose from", id="scheme"),
        pytest.param({"profile": "loose"}, "loose.*choose from", id="profile"),
        pytest.param({"split": "dev"}, "dev.*choose from", id="split"),
        pytest.param({"render_mode": "svg"}, "svg.*choose from", id="render-mode"),
        pytest.param({"suite": "no-such-suite"}, "no suite.*atomworld generate", id="suite"),
        pytest.param({"prompt": "no-such-file.txt"}, "no-such-file.txt", id="prompt"),
        pytest.param({"decimals": 1}, "decimals", id="decimals"),
        pytest.param({"cif_style": "long"}, "long.*choose from", id="style"),
        pytest.param({"min_sites": 9, "max_sites": 4}, "min_sites", id="range"),
        pytest.param({"tolerance": 0.0}, "tolerance", id="tolerance"),
    ],
)
def test_a_wrong_argument_is_named_at_once(arguments: dict[str, object], names: str) -> None:
    with pytest.raises(UsageError, match=names) as error:
        atomworld_env.AtomWorldEnv(**arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        pytest.param({"action": "fly"}, "fly", id="action"),
        pytest.param({"colour": 1}, "colour", id="option"),
        pytest.param({"task": "x"}, "needs an environment with a suite", id="id-without-suite"),
        pytest.param({"task": {"task_id": "x"}}, "lacks action", id="broken-record"),
    ],
)
def test_a_wrong_reset_option_is_named(options: dict[str, object], names: str) -> None:
    with pytest.raises(UsageError, match=names):
        make().reset(options=options)


def test_a_broken_ground_truth_raises_at_reset(small_tasks: dict[str, Task]) -> None:
    record = small_tasks["move"].to_json() | {"target": "data_x\n_cell_length_a 3\n"}
    with pytest.raises(UsageError, match="cannot be used"):
        make().reset(options={"task": record})


def test_rendering_shows_the_edit_and_the_answer() -> None:
    env = make(render_mode="ansi")
    env.reset(seed=6, options={"action": "move"})
    assert "not given yet" in env.render()
    env.step(oracle(env))
    assert "right" in env.render()
    picture = make(render_mode="rgb_array")
    picture.reset(seed=6)
    before = picture.render()
    picture.step("no structure here")
    after = picture.render()
    assert before.dtype == after.dtype == np.uint8
    assert before.shape == after.shape
    assert before.ndim == 3
    assert not np.array_equal(before, after)


class TestVector:
    def test_sync_with_same_step_autoreset(self) -> None:
        envs = gymnasium.make_vec(
            "AtomWorld-v0", num_envs=3, vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP}, **SMALL,
        )  # fmt: skip
        self.play(envs)

    def test_async_without_shared_memory(self) -> None:
        envs = gymnasium.make_vec(
            "AtomWorld-v0", num_envs=2, vectorization_mode="async",
            vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP, "shared_memory": False, "context": "spawn"},
            **SMALL,
        )  # fmt: skip
        self.play(envs)

    @staticmethod
    def play(envs: gymnasium.vector.VectorEnv) -> None:
        try:
            observations, infos = envs.reset(seed=7)
            singles = [make() for _ in range(envs.num_envs)]
            starts = [env.reset(seed=7 + k) for k, env in enumerate(singles)]
            assert list(observations["prompt"]) == [start[0]["prompt"] for start in starts]
            assert list(infos["task_id"]) == [start[1]["task_id"] for start in starts]
            answers = [oracle(singles[0])] + ["nothing"] * (envs.num_envs - 1)
            _, rewards, terminated, _, infos = envs.step(answers)
            assert rewards.tolist() == [1.0] + [0.0] * (envs.num_envs - 1)
            assert terminated.all()
            assert infos["final_info"]["success"].tolist() == [True] + [False] * (envs.num_envs - 1)
        finally:
            envs.close()

    def test_async_with_shared_memory_fails_loudly(self) -> None:
        # Gymnasium's own Text space silently returns "000…" here.
        with pytest.raises(Exception, match=r"(?i)shared_memory"):
            gymnasium.make_vec("AtomWorld-v0", num_envs=2, vectorization_mode="async", **SMALL)


def test_import_is_quick_and_brings_no_torch() -> None:
    code = (
        "import sys, time; start = time.perf_counter(); import atomworld_env; "
        "took = time.perf_counter() - start; "
        "print(took, *(m for m in ('torch', 'transformers', 'trl', 'pymatgen', 'matplotlib') if m in sys.modules))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert output[1:] == []
    assert float(output[0]) < 1.0


def test_public_names_resolve() -> None:
    for name in atomworld_env.__all__:
        assert getattr(atomworld_env, name) is not None
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = atomworld_env.nothing_of_the_kind


def test_environments_can_share_a_pool_that_is_loaded() -> None:
    pool = default_pool()
    env = make(pool=pool)
    env.reset(seed=0)
    assert env.unwrapped.family.sampler.pool is pool
    assert env.reset(seed=0)[1]["task_id"] == make().reset(seed=0)[1]["task_id"]


def test_both_engines_give_the_same_info(small_tasks: dict[str, Task]) -> None:
    fast, reference = make(engine="fast"), make(engine="reference")
    for task in small_tasks.values():
        for name in ("oracle", "noop", "wrong_site", "shifted", "garbage"):
            for env in (fast, reference):
                env.reset(options={"task": task})
            answer = BASELINES[name].answer(task)
            quick, slow = fast.step(answer), reference.step(answer)
            assert quick[1] == pytest.approx(slow[1], abs=1e-9)
            assert quick[4]["verdict_strict"] == slow[4]["verdict_strict"]
