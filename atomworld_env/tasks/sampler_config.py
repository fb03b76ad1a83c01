"""What tasks are drawn from: pool, split, edits and their ranges, how structures are printed."""

from __future__ import annotations

from dataclasses import dataclass, field

from atomworld_env.actions import ACTIONS, Action
from atomworld_env.errors import UsageError
from atomworld_env.structures.cif import CIF_STYLES, CifStyle
from atomworld_env.structures.contacts import CONTACT_FACTOR
from atomworld_env.structures.crystal import TARGET_DECIMALS
from atomworld_env.structures.splits import SPLITS

ALL_SPLITS = "all"


@dataclass(frozen=True)
class SamplerConfig:
    """What tasks are drawn from.

    Attributes:
        pool: "aflow" (embedded) or a folder, archive or file of CIFs.
        split: train, validation, test, or "all" (or None) for all families.
        actions: names of the edits drawn from, evenly.
        min_sites, max_sites: bounds on the sites of the input.
        difficulty: lowest and highest difficulty score accepted, 0 … 1.
        cif_style: "full" as pymatgen writes, or "compact".
        decimals: of the printed fractional coordinates, 2 … 8.
        contact_factor: see :mod:`atomworld_env.structures.contacts`; 0 switches the contact rule off.
        max_draws: draws on one structure before another is taken.
        max_structures: structures tried for one edit before giving up.
        edits: the edits with their parameter ranges.
    """

    pool: str = "aflow"
    split: str | None = "train"
    actions: tuple[str, ...] = tuple(ACTIONS)
    min_sites: int = 10
    max_sites: int = 100
    difficulty: tuple[float, float] = (0.0, 1.0)
    cif_style: CifStyle = "full"
    decimals: int = 4
    contact_factor: float = CONTACT_FACTOR
    max_draws: int = 200
    max_structures: int = 200
    edits: dict[str, Action] = field(default_factory=lambda: dict(ACTIONS))

    def __post_init__(self) -> None:
        unknown = [name for name in self.actions if name not in self.edits]
        if unknown or not self.actions:
            named = f"unknown action {unknown[0]!r}" if unknown else "no action is given"
            raise UsageError(f"{named}; choose from {', '.join(self.edits)}")
        if self.split == ALL_SPLITS:
            object.__setattr__(self, "split", None)
        if self.split is not None and self.split not in SPLITS:
            raise UsageError(f"unknown split {self.split!r}; choose from {', '.join(SPLITS)}, {ALL_SPLITS}")
        try:
            low, high = self.difficulty
            in_order = 0 <= low <= high
        except (TypeError, ValueError):
            in_order = False
        if not in_order:
            raise UsageError(
                f"difficulty must be two scores, lowest first, such as (0.2, 0.5), got {self.difficulty!r}"
            )
        if self.cif_style not in CIF_STYLES:
            raise UsageError(f"unknown CIF style {self.cif_style!r}; choose from {', '.join(CIF_STYLES)}")
        if not 2 <= self.decimals <= TARGET_DECIMALS:
            raise UsageError(f"decimals must be 2 to {TARGET_DECIMALS}, got {self.decimals}")
        if not 1 <= self.min_sites <= self.max_sites:
            raise UsageError(f"need 1 <= min_sites <= max_sites, got {self.min_sites} and {self.max_sites}")
