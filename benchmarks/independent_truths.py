"""Compute every ground truth of a task file a second time, by other means, and compare.

    python benchmarks/independent_truths.py tasks.jsonl

A wrong ground truth is the one error that no reward, audit or training curve shows. So this file shares
nothing with the package: it has its own reader, its own lattice, its own images, and takes from a task only
the printed structure, the action and the parameters. Per edit it works in the way least like a product of
fractional coordinates:

    change, remove, add, move    edits of an ASE `Atoms` in Cartesian space
    swap                         the two chemical symbols change places instead of the two positions
    delete_below                 Cartesian heights of that `Atoms`, level sites told by a gap
    insert_between, move_towards explicit images of the partner, the nearest by length
    rotate_around                `ase.neighborlist` finds the images, `Atoms.rotate` turns them
    super_cell                   `ase.build.make_supercell`

It then asks each task whether it is well posed (one reading, far enough from every threshold, no impossible
contact, distinguishable from its input) and counts what is broken. Exit status: 0 all agree and none broken,
1 otherwise, 2 for a file that cannot be read.
"""

# ASE has few annotations.
# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import make_supercell
from ase.data import atomic_numbers, covalent_radii
from ase.neighborlist import neighbor_list
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[np.float64]

ACTIONS = (
    "change", "remove", "add", "insert_between", "swap",
    "delete_below", "move", "move_towards", "rotate_around", "super_cell",
)  # fmt: skip
KEEPS_COMPOSITION = {"swap", "move", "move_towards", "rotate_around"}

GAP = 0.05  # Å, between a threshold and anything it could be mistaken about
NEAR_MISS = 0.3  # Å, between the truth and a plausible other answer
CONTACT = 0.7  # of the sum of covalent radii
LAST_RADIUS = 96  # atomic number; beyond it ASE's radii are filled in
SLACK = 1e-6  # Å, forgiven to rounding when a rule is checked

EPILOG = """examples:
  python benchmarks/independent_truths.py suite/tasks.jsonl
  python benchmarks/independent_truths.py suite/tasks.jsonl --action rotate_around --show 20
  python benchmarks/independent_truths.py suite/tasks.jsonl --json > truths.json
"""


# ---- reading


@dataclass(frozen=True)
class Crystal:
    """What a P1 CIF prints: cell parameters, and label, symbol and three numbers per site, in file order."""

    cell_parameters: tuple[float, ...]
    labels: tuple[str, ...]
    symbols: tuple[str, ...]
    printed: tuple[tuple[str, str, str], ...]

    @property
    def fractional(self) -> Array:
        return np.array([[float(number) for number in row] for row in self.printed]).reshape(-1, 3)

    @property
    def lattice(self) -> Array:
        """Rows a, b, c. The Cholesky factor of the metric tensor is a along x, b in the xy-plane, c_z > 0."""
        a, b, c, alpha, beta, gamma = self.cell_parameters
        cos_alpha, cos_beta, cos_gamma = np.cos(np.radians([alpha, beta, gamma]))
        metric = np.array(
            [
                [a * a, a * b * cos_gamma, a * c * cos_beta],
                [a * b * cos_gamma, b * b, b * c * cos_alpha],
                [a * c * cos_beta, b * c * cos_alpha, c * c],
            ]
        )
        return np.linalg.cholesky(metric)

    def atoms(self) -> Atoms:
        lattice, fractional = self.lattice, self.fractional
        positions = sum(np.outer(fractional[:, k], lattice[k]) for k in range(3))
        return Atoms(list(self.symbols), positions=positions, cell=lattice, pbc=True)


def read_crystal(text: str) -> Crystal:
    """A P1 CIF with one atom-site loop, read line by line. Raises ValueError for anything else."""
    cell = []
    for name in ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma"):
        found = re.findall(rf"^\s*_cell_{name}\s+(\S+)\s*$", text, flags=re.MULTILINE)
        if len(found) != 1:
            raise ValueError(f"{len(found)} values of _cell_{name}")
        cell.append(float(found[0]))

    tags: list[str] = []
    rows: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "loop_":
            inside, tags = False, tags if rows else []
        elif words[0].startswith("_atom_site_") and not rows:
            inside = True
            tags.append(words[0])
        elif words[0].startswith("_") or words[0].startswith("data_"):
            inside = False
        elif inside:
            if len(words) != len(tags):
                raise ValueError(f"an atom-site row of {len(words)} words under {len(tags)} tags")
            rows.append(words)
    if not rows:
        raise ValueError("no atom sites")
    column = {tag.removeprefix("_atom_site_"): k for k, tag in enumerate(tags)}
    if "occupancy" in column and any(float(row[column["occupancy"]]) != 1 for row in rows):
        raise ValueError("an occupancy other than 1")
    return Crystal(
        cell_parameters=tuple(cell),
        labels=tuple(row[column["label"]] for row in rows),
        symbols=tuple(row[column["type_symbol"]] for row in rows),
        printed=tuple(tuple(row[column[f"fract_{axis}"]] for axis in "xyz") for row in rows),  # type: ignore[misc]
    )


def read_tasks(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and task, for each non-empty line. Raises ValueError naming file and line."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                task = json.loads(line)
                for key in ("action", "params", "structure", "target"):
                    task[key]
                if isinstance(task["params"], str):
                    task["params"] = json.loads(task["params"])
                if task["action"] not in ACTIONS:
                    raise ValueError(f"unknown action {task['action']!r}")
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}:{number}: not a task: {error!r}") from error
            # A JSONL loader that unifies columns fills the parameters of other edits with null.
            task["params"] = {key: value for key, value in task["params"].items() if value is not None}
            yield number, task


# ---- images


def heights(lattice: Array) -> Array:
    """Distance between opposite faces of the cell, one per axis, in Å."""
    a, b, c = lattice
    areas: Array = np.array([np.linalg.norm(np.cross(u, v)) for u, v in ((b, c), (c, a), (a, b))])
    return abs(float(np.dot(a, np.cross(b, c)))) / areas


def translations(lattice: Array, reach: float) -> Array:
    """Every lattice vector that can bring a wrapped difference within `reach` Å.

    A vector with coefficient x along an axis is at least |x| · height long, and a wrapped difference has
    |x| ≤ 1/2: so |n| ≤ reach / height + 1/2 leaves out no image, however skewed the cell.
    """
    counts = np.floor(reach / heights(lattice) + 0.5 + 1e-9).astype(int)
    steps = [np.arange(-n, n + 1) for n in counts]
    integers = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, 3)
    return sum(np.outer(integers[:, k], lattice[k]) for k in range(3))  # type: ignore[return-value]


def wrapped(differences: Array, lattice: Array) -> Array:
    """Cartesian differences moved by lattice vectors until every coefficient is in [-1/2, 1/2]."""
    coefficients = np.linalg.solve(lattice.T, differences.reshape(-1, 3).T).T
    whole = np.rint(coefficients)
    moved: Array = differences.reshape(-1, 3) - sum(np.outer(whole[:, k], lattice[k]) for k in range(3))
    return moved.reshape(differences.shape)


def images_within(lattice: Array, origin: Array, site: Array, reach: float) -> Array:
    """Vectors from `origin` to the images of `site` at most `reach` Å away, nearest first."""
    vectors = wrapped(site - origin, lattice) + translations(lattice, reach)
    lengths = np.linalg.norm(vectors, axis=1)
    order = np.argsort(lengths, kind="stable")
    near: Array = vectors[order][lengths[order] <= reach]
    return near


def two_nearest(lattice: Array, origin: Array, site: Array) -> Array:
    """Vectors from `origin` to the two nearest images of `site`.

    The wrapped difference is at most half the sum of the edges long, and one edge further lies another image.
    """
    edges = np.linalg.norm(lattice, axis=1)
    return images_within(lattice, origin, site, edges.sum() / 2 + edges.min() + SLACK)[:2]


def distances(lattice: Array, first: Array, second: Array, reach: float) -> Array:
    """Shortest image distance of each pair, (n, m); exact up to `reach`, an upper bound beyond it."""
    base = wrapped(first[:, None, :] - second[None, :, :], lattice)
    best = np.einsum("ijk,ijk->ij", base, base)
    for shift in translations(lattice, reach):
        moved = base + shift
        np.minimum(best, np.einsum("ijk,ijk->ij", moved, moved), out=best)
    shortest: Array = np.sqrt(best)
    return shortest


# ---- the truths


def edited(action: str, params: dict[str, Any], atoms: Atoms) -> tuple[Atoms, list[int]]:
    """The edited crystal and the indices of the atoms that the edit adds, moves or changes."""
    atoms = atoms.copy()
    index = params.get("index", 0)
    if action == "change":
        symbols = atoms.get_chemical_symbols()
        symbols[index] = params["element"]
        atoms.set_chemical_symbols(symbols)
        return atoms, [index]
    if action == "remove":
        del atoms[index]
        return atoms, []
    if action == "add":
        atoms += Atoms([params["element"]], positions=[params["position"]])
        return atoms, [len(atoms) - 1]
    if action == "insert_between":
        nearest = two_nearest(atoms.cell.array, atoms.positions[index], atoms.positions[params["towards"]])[0]
        place = atoms.positions[index] + nearest * (params["distance"] / np.linalg.norm(nearest))
        atoms += Atoms([params["element"]], positions=[place])
        return atoms, [len(atoms) - 1]
    if action == "swap":
        symbols = atoms.get_chemical_symbols()
        symbols[index], symbols[params["other"]] = symbols[params["other"]], symbols[index]
        atoms.set_chemical_symbols(symbols)
        return atoms, [index, params["other"]]
    if action == "delete_below":
        rise = atoms.positions[:, 2] - atoms.positions[index, 2]
        # Level sites are exactly level and the others at least GAP away: any cut between the two serves.
        lower = rise < (GAP / 3 if params["include_level"] else -GAP / 3)
        del atoms[[int(k) for k in np.flatnonzero(lower)]]
        return atoms, []
    if action == "move":
        atoms.positions[index] += np.array(params["displacement"])
        return atoms, [index]
    if action == "move_towards":
        nearest = two_nearest(atoms.cell.array, atoms.positions[index], atoms.positions[params["towards"]])[0]
        atoms.positions[index] += nearest * (params["distance"] / np.linalg.norm(nearest))
        return atoms, [index]
    if action == "rotate_around":
        centre, neighbours, vectors = neighbor_list("ijD", atoms, float(params["radius"]))
        chosen = centre == index
        neighbours, vectors = neighbours[chosen], vectors[chosen]
        origin = atoms.positions[index].copy()
        if len(neighbours):
            cluster = Atoms("X" * len(neighbours), positions=origin + vectors)
            cluster.rotate(params["angle"], params["axis"], center=origin)
            atoms.positions[neighbours] = cluster.positions
        return atoms, [int(k) for k in neighbours]
    return make_supercell(atoms, np.diag(params["factors"])), []


# ---- comparing


def by_element(atoms: Atoms) -> dict[str, Array]:
    symbols = np.array(atoms.get_chemical_symbols())
    return {str(symbol): atoms.positions[symbols == symbol] for symbol in np.unique(symbols)}


def difference(ours: Atoms, theirs: Atoms, tolerance: float) -> float:
    """Largest distance (Å) in a one-to-one pairing of equal elements; inf if species or cell differ."""
    if Counter(ours.get_chemical_symbols()) != Counter(theirs.get_chemical_symbols()):
        return float("inf")
    lattice = ours.cell.array
    if np.abs(lattice - theirs.cell.array).max() > 1e-5:
        return float("inf")
    worst = 0.0
    other = by_element(theirs)
    for symbol, positions in by_element(ours).items():
        # Zero reach is one image per pair and never too short; enough, where it already pairs everything.
        matrix = distances(lattice, positions, other[symbol], 0.0)
        nearest = matrix.argmin(axis=1)
        largest = float(matrix.min(axis=1).max())
        if len(set(nearest.tolist())) < len(nearest) or largest > tolerance:
            reach = np.linalg.norm(lattice, axis=1).sum() / 2
            matrix = distances(lattice, positions, other[symbol], reach)
            rows, columns = linear_sum_assignment(matrix)
            largest = float(matrix[rows, columns].max())
        worst = max(worst, largest)
    return worst


def bottleneck(before: Atoms, after: Atoms) -> float:
    """Smallest t (Å) such that sites of equal element can be paired with every distance ≤ t."""
    lattice = before.cell.array
    other = by_element(after)
    least = 0.0
    for symbol, positions in by_element(before).items():
        every = distances(lattice, positions, other[symbol], 0.0)
        rows, columns = linear_sum_assignment(every)
        reach = float(every[rows, columns].max())
        matrix = distances(lattice, positions, other[symbol], reach)
        steps = np.unique(matrix[matrix <= reach + SLACK])
        low, high = 0, len(steps) - 1
        while low < high:
            middle = (low + high) // 2
            forbidden = (matrix > steps[middle]).astype(float)
            rows, columns = linear_sum_assignment(forbidden)
            low, high = (low, middle) if forbidden[rows, columns].sum() == 0 else (middle + 1, high)
        least = max(least, float(steps[low]))
    return least


# ---- well posed


def closest_contact(atoms: Atoms, touched: list[int]) -> float:
    """Smallest distance of a touched atom to any atom or image, in units of the sum of covalent radii."""
    if not touched:
        return float("inf")
    radii = covalent_radii[atoms.numbers]
    lattice = atoms.cell.array
    reach = CONTACT * 2 * float(radii.max()) + GAP
    shifts = translations(lattice, reach)
    smallest = float("inf")
    for index in touched:
        vectors = wrapped(atoms.positions - atoms.positions[index], lattice)[:, None, :] + shifts[None, :, :]
        lengths = np.linalg.norm(vectors, axis=2)
        itself = (np.arange(len(atoms)) == index)[:, None] & (lengths < 1e-9)
        lengths = np.where(itself, np.inf, lengths)
        smallest = min(smallest, float((lengths.min(axis=1) / (radii[index] + radii)).min()))
    return smallest


def printed_to(value: float, decimals: int) -> bool:
    return abs(value - round(value, decimals)) < 1e-9


def violations(task: dict[str, Any], source: Crystal, after: Atoms, touched: list[int]) -> Iterator[tuple[str, str]]:
    """(rule, what was found) for each rule of a well-posed task that this one breaks."""
    action, params, before = task["action"], task["params"], source.atoms()
    lattice, positions = before.cell.array, before.positions
    index = params.get("index")
    sites = len(before)

    # The text itself.
    for k, (label, symbol) in enumerate(zip(source.labels, source.symbols, strict=True)):
        if label != f"{symbol}{k}":
            yield "labels carry the index", f"site {k} is labelled {label}"
            break
    signs = any("-" in number for row in source.printed for number in row)  # -0.0000 is not below 0
    if signs or source.fractional.min() < 0 or source.fractional.max() >= 1:
        yield "wrapped into [0, 1)", f"{source.fractional.min()} to {source.fractional.max()}"
    if task.get("n_sites", sites) != sites:
        yield "n_sites", f"{task['n_sites']} said, {sites} listed"
    for name in ("index", "other", "towards"):
        if name in params and not 0 <= params[name] < sites:
            yield "site exists", f"{name} {params[name]} of {sites}"
    if index is not None and index in (params.get("other"), params.get("towards")):
        yield "two different sites", f"both {index}"
    numbers = [params.get(name) for name in ("distance", "radius")]
    numbers += list(params.get("position", ())) + list(params.get("displacement", ()))
    if not all(printed_to(value, 2) for value in numbers if value is not None):
        yield "parameters in Å to 2 decimals", str(params)

    # The ranges of the published set.
    if "element" in params and atomic_numbers[params["element"]] > LAST_RADIUS:
        yield "elements with a radius", params["element"]
    if action == "change" and source.symbols[index] == params["element"]:
        yield "X differs", params["element"]
    if action == "swap" and source.symbols[index] == source.symbols[params["other"]]:
        yield "different elements", source.symbols[index]
    if action == "add":
        coefficients = np.linalg.solve(lattice.T, np.array(params["position"]))
        rounding = 0.01 / heights(lattice)
        if (coefficients < -rounding).any() or (coefficients > 1 + rounding).any():
            yield "added inside the cell", str(coefficients)
    if action == "super_cell":
        product = int(np.prod(params["factors"]))
        if not 2 <= product <= 8 or not all(1 <= n <= 4 for n in params["factors"]) or sites * product > 400:
            yield "factors 1-4, product 2-8, 400 sites", str(params["factors"])
    if action == "move_towards" and not 0.1 - SLACK <= params["distance"] <= 3 + SLACK:
        yield "0.1-3 Å towards", str(params["distance"])
    if action == "rotate_around":
        if not 1 - SLACK <= params["radius"] <= 4 + SLACK:
            yield "radius 1-4 Å", str(params["radius"])
        if not 45 <= params["angle"] <= 315 or params["angle"] != int(params["angle"]):
            yield "angle 45-315°", str(params["angle"])
        if sorted(map(abs, params["axis"])) != [0, 0, 1]:
            yield "axis ±x ±y ±z", str(params["axis"])

    # One reading.
    if action in ("insert_between", "move_towards"):
        images = two_nearest(lattice, positions[index], positions[params["towards"]])
        near, next_one = np.linalg.norm(images, axis=1)
        if next_one - near < GAP - SLACK:
            yield "one nearest image", f"{near:.4f} and {next_one:.4f} Å"
        if action == "move_towards" and near - params["distance"] < NEAR_MISS - SLACK:
            yield "stops before site j", f"{near - params['distance']:.4f} Å"
        if action == "insert_between":
            if abs(near - 2 * params["distance"]) < NEAR_MISS - SLACK:
                yield "not the point counted from j", f"{abs(near - 2 * params['distance']):.4f} Å"
            if not 0.1 - 0.01 / near <= params["distance"] / near <= 0.9 + 0.01 / near:
                yield "ratio 0.1-0.9", f"{params['distance'] / near:.4f}"
    if action == "rotate_around":
        selected = 0
        for k in range(sites):
            images = images_within(lattice, positions[index], positions[k], params["radius"] + 1)
            around = np.linalg.norm(images, axis=1)
            around = around[1:] if k == index else around
            if (np.abs(around - params["radius"]) < GAP - SLACK).any():
                yield "no image near r", f"site {k} at {around} Å, r {params['radius']}"
            inside = int((around <= params["radius"]).sum())
            if k == index and inside:
                yield "no image of i inside", f"{around.min():.4f} Å"
            elif inside > 1:
                yield "no site twice inside", f"site {k} at {around} Å"
            selected += inside if k != index else 0
        if not selected:
            yield "a site inside", f"r {params['radius']}"
    if action == "delete_below":
        rise = np.abs(positions[:, 2] - positions[index, 2])
        level = np.array([float(row[2]) == float(source.printed[index][2]) for row in source.printed])
        if ((rise < GAP - SLACK) & ~level).any():
            yield "level or clear by 0.05 Å", f"{rise[~level].min():.4f} Å"

    # Physical, not empty, discriminating.
    if not len(after):
        yield "not empty", "no site left"
    ratio = closest_contact(after, touched)
    if ratio < CONTACT - SLACK:
        yield "contacts", f"{ratio:.4f} of the sum of covalent radii"
    if action in KEEPS_COMPOSITION:
        distance = bottleneck(before, after)
        if distance < NEAR_MISS - SLACK:
            yield "discriminating", f"the input is {distance:.4f} Å from the target"
        stored = (task.get("baseline") or {}).get("max_displacement")
        if stored is not None and abs(stored - distance) > 1e-3:
            yield "baseline max_displacement", f"{stored} stored, {distance:.4f} found"
    elif Counter(before.get_chemical_symbols()) == Counter(after.get_chemical_symbols()):
        yield "discriminating", "composition unchanged"


# ---- command line


@dataclass
class Tally:
    tasks: int = 0
    worst: float = 0.0
    above: int = 0


def check(
    tasks: Iterator[tuple[int, dict[str, Any]]], tolerance: float, action: str | None
) -> tuple[dict[str, Tally], dict[tuple[str, str], list[str]], list[str]]:
    tallies: dict[str, Tally] = defaultdict(Tally)
    broken: dict[tuple[str, str], list[str]] = defaultdict(list)
    differing: list[str] = []
    started = time.perf_counter()
    for count, (number, task) in enumerate(tasks, start=1):
        if action is not None and task["action"] != action:
            continue
        name = f"line {number} {task.get('task_id', '')}"
        tally = tallies[task["action"]]
        tally.tasks += 1
        try:
            source = read_crystal(task["structure"])
            truth, touched = edited(task["action"], task["params"], source.atoms())
            distance = difference(truth, read_crystal(task["target"]).atoms(), tolerance)
        except (ValueError, KeyError, IndexError, TypeError, np.linalg.LinAlgError) as error:
            # The target of a task that leaves no site cannot be read; either way this task failed.
            differing.append(f"{name}: {error!r}")
            tally.above, tally.worst = tally.above + 1, float("inf")
            continue
        tally.worst = max(tally.worst, distance)
        if not distance <= tolerance:
            tally.above += 1
            differing.append(f"{name}: {distance:.4f} Å, {task['params']}")
        for rule, found in violations(task, source, truth, touched):
            broken[(task["action"], rule)].append(f"{name}: {found}")
        if count % 500 == 0:
            print(f"{count} tasks, {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return tallies, broken, differing


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Compute every ground truth of a task file a second time, by other means, and compare.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tasks", type=Path, help="task file, one JSON object a line")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="largest difference accepted, in Å (%(default)s)")
    parser.add_argument("--action", choices=ACTIONS, help="look at one edit only")
    parser.add_argument("--show", type=int, default=3, help="cases printed per failure (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
    options = parser.parse_args(arguments)

    started = time.perf_counter()
    try:
        tallies, broken, differing = check(read_tasks(options.tasks), options.tolerance, options.action)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    seconds = time.perf_counter() - started

    failed = bool(differing or broken)
    if options.json:
        result = {
            "edits": {name: vars(tally) for name, tally in tallies.items()},
            "violations": {f"{edit}: {rule}": len(cases) for (edit, rule), cases in broken.items()},
            "seconds": round(seconds, 1),
        }
        print(json.dumps(result, indent=2))
        return int(failed)

    print(f"{'edit':<16}{'tasks':>6}  {'worst / Å':>10}  {'above ' + format(options.tolerance, 'g') + ' Å':>13}")
    for name in ACTIONS:
        if name in tallies:
            tally = tallies[name]
            print(f"{name:<16}{tally.tasks:>6}  {tally.worst:>10.1e}  {tally.above:>13}")
    for case in differing[: options.show]:
        print("  " + case)
    print(f"\n{sum(map(len, broken.values()))} violations of the rules of a well-posed task")
    for (edit, rule), cases in sorted(broken.items()):
        print(f"{edit:<16}{len(cases):>6}  {rule}")
        for case in cases[: options.show]:
            print("  " + case)
    print(f"\n{sum(tally.tasks for tally in tallies.values())} tasks in {seconds:.0f} s")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
