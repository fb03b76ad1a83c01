"""From a task to the text or the chat messages a model reads."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from atomworld_env.errors import UsageError

PLACEHOLDERS = ("{structure}", "{instruction}")

Message = dict[str, str]


@dataclass(frozen=True)
class PromptTemplate:
    """A text with the placeholders ``{structure}`` and ``{instruction}``.

    Only these two are replaced, so a template may hold any other brace. A system message is optional and takes no
    placeholders.

    Attributes:
        text, system: of the user's and the system's message.
        shows_structure: false for a family whose tasks have no structure to show; then the instruction is enough.
    """

    text: str
    system: str | None = None
    shows_structure: bool = True

    def __post_init__(self) -> None:
        for placeholder in PLACEHOLDERS if self.shows_structure else ("{instruction}",):
            if placeholder not in self.text:
                raise UsageError(f"the prompt template lacks {placeholder}; put it where it belongs in the text")

    @classmethod
    def from_file(cls, path: str | Path, *, system: str | None = None, shows_structure: bool = True) -> PromptTemplate:
        """A template of the user's own.

        Args:
            shows_structure: see :class:`PromptTemplate`.

        Raises:
            UsageError: if the file cannot be read or lacks a placeholder.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the prompt template {path}: {error}") from None
        try:
            return cls(text, system, shows_structure)
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None

    @property
    def digest(self) -> str:
        """Short hash of the template, for manifests."""
        return hashlib.sha256(repr((self.text, self.system)).encode()).hexdigest()[:12]

    def render(self, structure: str, instruction: str) -> str:
        """The prompt as plain text, the system message left out."""
        before, _, after = self.text.partition("{instruction}")
        # Replaced piece by piece, so that a placeholder inside a structure or an instruction stays as it is.
        pieces = [part.replace("{structure}", structure.rstrip("\n")) for part in (before, after)]
        return instruction.join(pieces).rstrip("\n")

    def messages(self, structure: str, instruction: str) -> list[Message]:
        """The prompt as chat messages (role, content)."""
        user = {"role": "user", "content": self.render(structure, instruction)}
        return [user] if self.system is None else [{"role": "system", "content": self.system}, user]


TEMPLATES = ("default", "short")
"""Names of the templates in this package."""


@cache
def _packaged(name: str) -> PromptTemplate:
    text = files("atomworld_env.prompts").joinpath(f"{name}_prompt.txt").read_text(encoding="utf-8")
    return PromptTemplate(text, shows_structure="{structure}" in text)


def default_template() -> PromptTemplate:
    """The prompt that states the conventions of this project once and asks for ``<cif>`` tags."""
    return _packaged("default")


def load_template(name_or_path: str | Path = "default", *, default: str = "default") -> PromptTemplate:
    """The template of a name, or the one in a file.

    Args:
        default: what ``default`` stands for: the name of a family's own template.

    ``default`` states all conventions. ``short`` is instruction and structure alone, in this order: for a policy that
    was trained on the conventions, such as the small one that ships with the package.
    """
    name = str(name_or_path)
    if name not in TEMPLATES:
        return PromptTemplate.from_file(name_or_path, shows_structure=_packaged(default).shows_structure)
    return _packaged(default if name == "default" else name)
