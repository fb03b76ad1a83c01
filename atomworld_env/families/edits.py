"""The first family: the ten edits of a crystal, answered by CIF text."""

from __future__ import annotations

from functools import lru_cache

from atomworld_env.actions import ACTIONS
from atomworld_env.prompts.prompt import Message, PromptTemplate, default_template
from atomworld_env.structures.pool import StructurePool
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import PUBLISHED, Task
from rewards import PreparedTarget, TargetError, Verdict, prepare_target, verify


class CrystalEdits:
    """The ten edits (see :mod:`atomworld_env.actions`).

    Args:
        config: what tasks are sampled from; the sampler is made when the first task is sampled.
        pool: structures already loaded; the configured ones are loaded when not given.
        template: the prompt.
        tolerance: max_displacement in Å up to which an answer is right under the strict profile.
        strict_tags: accept the CIF only as the published protocol does.
        engine: of the verification, see :func:`rewards.verify`.
    """

    name = "edits"

    def __init__(
        self,
        config: SamplerConfig | None = None,
        *,
        pool: StructurePool | None = None,
        template: PromptTemplate | None = None,
        tolerance: float = 0.1,
        strict_tags: bool = False,
        engine: str = "fast",
    ) -> None:
        self.config = SamplerConfig() if config is None else config
        self.pool = pool
        self.template = default_template() if template is None else template
        self.tolerance = tolerance
        self.strict_tags = strict_tags
        self.engine = engine
        self._sampler: TaskSampler | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        return self.config.actions

    @property
    def sampler(self) -> TaskSampler:
        """The sampler behind :meth:`sample`, with its counts."""
        if self._sampler is None:
            self._sampler = TaskSampler(self.config, pool=self.pool)
        return self._sampler

    def sample(self, seed: int, action: str | None = None) -> Task:
        return self.sampler.sample(seed, action)

    def prompt(self, task: Task) -> str:
        return self.template.render(task.structure, task.prompt)

    def messages(self, task: Task) -> list[Message]:
        return self.template.messages(task.structure, task.prompt)

    def verify(self, task: Task, answer: object, *, profile: str) -> Verdict:
        return verify(
            answer,
            prepared(task.target, self.engine),
            profile=profile,
            tolerance=self.tolerance,
            strict_tags=self.strict_tags,
            engine=self.engine,
        )


def check_task(task: Task) -> None:
    """See that the parameters of an edit are complete and both its structures can be read.

    Raises:
        ValueError: in one line, naming what is wrong.
    """
    try:
        if task.params or task.version != PUBLISHED:
            ACTIONS[task.action].instruction(task.params)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the parameters do not fit {task.action} ({type(error).__name__}: {error})") from None
    for name, cif in (("structure", task.structure), ("target", task.target)):
        try:
            _ = prepare_target(cif).arrangement
        except TargetError as error:
            raise ValueError(f"the {name} cannot be used: {error}") from None
    _ = task.crystal, task.target_crystal


def edits_of_split(split: str) -> CrystalEdits:
    """The family with its defaults, sampling from one split."""
    return CrystalEdits(SamplerConfig(split=split))


@lru_cache(maxsize=256)
def prepared(target: str, engine: str = "fast") -> PreparedTarget:
    """The prepared form of a target CIF; the answers of a group share one.

    Raises:
        rewards.TargetError: if the ground truth cannot be read.
    """
    return prepare_target(target, engine=engine)
