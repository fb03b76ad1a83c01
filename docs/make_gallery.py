"""Make docs/gallery.md and its pictures: one task of each edit with a wrong answer.

    python docs/make_gallery.py

The same tasks come out on every machine; a test holds the text of the page against this script.
"""

from __future__ import annotations

from pathlib import Path

from atomworld_env.actions import ACTIONS
from atomworld_env.envs.rendering import answered_crystal, render_rgb_array
from atomworld_env.envs.text_rendering import render_text
from atomworld_env.policies.baselines import BASELINES
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import Task
from rewards import reward, verify

FOLDER = Path(__file__).resolve().parent
SITES = (8, 16)
SEEDS = {"move": 3}
ANSWERS = {
    "move": "cartesian_by_lengths",
    "add": "cartesian_by_lengths",
    "move_towards": "listed_copy",
    "insert_between": "listed_copy",
    "rotate_around": "in_cell_neighbours",
}
"""The shortcut whose answer is shown; the right edit on the wrong site where there is none."""

INTRODUCTION = """# Gallery: the ten edits

One task of each edit, with the answer of a policy that makes a typical mistake. Made by `python docs/make_gallery.py`
from the training split, structures of 8 to 16 sites; look at others with `atomworld sample --action NAME --target`.
"""


def gallery_tasks() -> dict[str, Task]:
    """One task of each edit, on oblique cells where the edit needs Cartesian coordinates."""
    sampler = TaskSampler(SamplerConfig(min_sites=SITES[0], max_sites=SITES[1], cif_style="compact"))
    tasks = {}
    for name, action in ACTIONS.items():
        seed = SEEDS.get(name, 0)
        task = sampler.sample(seed, name)
        while action.cartesian and (task.crystal.is_orthogonal or _is_right(task)):
            seed += 1
            task = sampler.sample(seed, name)
        tasks[name] = task
    return tasks


def _answer(task: Task) -> str:
    return BASELINES[ANSWERS.get(task.action, "wrong_site")].answer(task)


def _is_right(task: Task) -> bool:
    return bool(verify(_answer(task), task.target).success_strict)


def page(tasks: dict[str, Task]) -> str:
    """The page as Markdown."""
    parts = [INTRODUCTION]
    for name, task in tasks.items():
        verdict = verify(_answer(task), task.target)
        diff = render_text(
            task.crystal,
            task.target_crystal,
            answered_crystal(_answer(task), verdict),
            instruction=task.prompt,
            verdict=verdict,
            reward=reward(verdict, baseline=task.baseline),
            colour=False,
        )
        policy = ANSWERS.get(name, "wrong_site")
        parts.append(
            f"## `{name}` ({ACTIONS[name].category})\n\n"
            f"> {task.prompt}\n\n"
            f"![{name}: before, target, answer](pictures/{name}.png)\n\n"
            f"Answer of the policy `{policy}` ({BASELINES[policy].description}) to `{task.task_id}`:\n\n"
            f"```\n{diff}\n```\n"
        )
    return "\n".join(parts)


def main() -> None:
    """Write the page and the pictures."""
    from matplotlib.image import imsave

    tasks = gallery_tasks()
    (FOLDER / "gallery.md").write_text(page(tasks), encoding="utf-8")
    (FOLDER / "pictures").mkdir(exist_ok=True)
    for name, task in tasks.items():
        verdict = verify(_answer(task), task.target)
        earned = reward(verdict, baseline=task.baseline)
        imsave(FOLDER / "pictures" / f"{name}.png", render_rgb_array(task, _answer(task), verdict, earned))
    print(f"{len(tasks)} tasks in {FOLDER / 'gallery.md'}")


if __name__ == "__main__":
    main()
