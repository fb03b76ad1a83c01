"""Bulk moduli by CHGNet beside literature values.

    python -m benchmarks.bulk_moduli

Takes the extra `mlip` and half a minute. Prints a Markdown table.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from atomworld_env.properties.by_name import PACKAGED
from rewards import Arrangement

KITTEL = "C. Kittel, Introduction to Solid State Physics, 8th ed., chapter 3, room temperature"
SPEZIALE = "S. Speziale et al., J. Geophys. Res. 106 (B1), 515 (2001), 300 K"

HALF, QUARTER = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)

CRYSTALS = (
    ("Cu", ("Cu",), 3.61, None, 137.0, KITTEL),
    ("Al", ("Al",), 4.05, None, 72.2, KITTEL),
    ("NaCl", ("Na", "Cl"), 5.64, HALF, 24.0, KITTEL),
    ("MgO", ("Mg", "O"), 4.21, HALF, 160.2, SPEZIALE),
    ("Si", ("Si", "Si"), 5.43, QUARTER, 98.8, KITTEL),
)
"""Name, elements, conventional lattice constant in Å, place of the second atom, literature value in GPa, its source."""


def primitive(elements: tuple[str, ...], constant: float, second: tuple[float, ...] | None) -> Arrangement:
    """The primitive cell of a face-centred cubic crystal with one atom or two."""
    edge = constant / 2**0.5
    sites = [(0.0, 0.0, 0.0)] if second is None else [(0.0, 0.0, 0.0), second]
    return Arrangement((edge, edge, edge, 60.0, 60.0, 60.0), elements, np.array(sites))


def main() -> None:
    """Print the table."""
    oracle = PACKAGED["bulk_modulus"]
    missing = oracle.missing()
    if missing is not None:
        raise SystemExit(missing)
    oracle.evaluate(primitive(("Cu",), 3.61, None))  # starts the worker
    print(f"{oracle.version}\n\n| crystal | computed, GPa | literature, GPa | relative error | seconds |")
    print("|---|---|---|---|---|")
    errors = []
    for name, elements, constant, second, literature, _ in CRYSTALS:
        begun = perf_counter()
        found = oracle.evaluate(primitive(elements, constant, second))
        seconds = perf_counter() - begun
        if found.value is None:
            raise SystemExit(f"{name}: {found.message}")
        errors.append(found.value / literature - 1)
        print(f"| {name} | {found.value:.1f} | {literature:g} | {errors[-1]:+.1%} | {seconds:.2f} |")
    print(f"\nMean absolute relative error {np.mean(np.abs(errors)):.1%}.")
    for source in (KITTEL, SPEZIALE):
        print(f"{', '.join(row[0] for row in CRYSTALS if row[5] == source)}: {source}.")


if __name__ == "__main__":
    main()
