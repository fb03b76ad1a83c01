"""Tasks from your own CIF files.

    python examples/own_cifs.py FOLDER_OR_ARCHIVE

Without an argument a small folder is made first, from crystals of the embedded pool and one file that is no CIF.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import gymnasium

import atomworld_env
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.pool import default_pool, load_pool


def demonstration_folder(folder: Path) -> Path:
    """Twelve CIF files and a broken one."""
    for number, entry in enumerate(default_pool().entries("train", 10, 30)[::40][:12]):
        (folder / f"crystal-{number}.cif").write_text(write_cif(entry.crystal), encoding="utf-8")
    (folder / "broken.cif").write_text("this is no CIF\n", encoding="utf-8")
    return folder


def main(path: Path) -> None:
    """One task from the folder, and what was skipped."""
    pool = load_pool(str(path))
    print(f"{len(pool)} structures; skipped: {dict(pool.skipped_files)}")
    env = gymnasium.make(atomworld_env.ENV_ID, pool=pool, split="train", min_sites=2, max_sites=200)
    _, info = env.reset(seed=0)
    print(info["structure_id"], "-", info["action"])
    print(info["messages"][-1]["content"][-300:])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(demonstration_folder(Path(temporary)))
