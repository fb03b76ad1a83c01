"""Standard structure types: their sites in the conventional cell, written out, and what a prompt has to say of them.

Sites and settings: International Tables for Crystallography A; assignments to types: Villars, Pearson's Handbook, and
the AFLOW prototype encyclopedia (Mehl et al., Comput. Mater. Sci. 136, S1, 2017). No symmetry finder is used: every
site of the cell is a row of the tables below, and the tests build each type a second time from its space group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from atomworld_env.structures.crystal import TARGET_DECIMALS, Crystal, wrap

_CENTRINGS = {
    "P": ("0 0 0",),
    "I": ("0 0 0", "1/2 1/2 1/2"),
    "F": ("0 0 0", "0 1/2 1/2", "1/2 0 1/2", "1/2 1/2 0"),
}
_ANGLES = {"cubic": (90.0, 90.0, 90.0), "tetragonal": (90.0, 90.0, 90.0), "hexagonal": (90.0, 90.0, 120.0)}


@dataclass(frozen=True)
class Prototype:
    """One structure type.

    Attributes:
        name: the kind of task is ``generate_`` and this.
        title: its name in words.
        system: ``cubic``, ``tetragonal`` or ``hexagonal``; says which lattice constants there are.
        roles: the kind of element on each role, in the order of the formula: ``element``, ``metal`` or ``anion``.
        centring: of the conventional cell.
        sites: rows ``x y z`` of each role; a coordinate is a sum of fractions and of ``u``.
        bond: roles and the two sites (as written) whose distance is the sum of radii, with the image of the second.
        axial: range of c/a, for a type with c.
        free: range of the free coordinate, called u; its middle is what most say of the type.
        says: what the name leaves open, with roles in braces.
    """

    name: str
    title: str
    system: str
    roles: Mapping[str, str]
    sites: Mapping[str, str]
    bond: tuple[str, str, str, str]
    centring: str = "P"
    axial: tuple[float, float] | None = None
    free: tuple[float, float] | None = None
    says: str = ""
    counts: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        listed = {role: len(self.sites[role].split(",")) for role in self.roles}
        divisor = int(np.gcd.reduce(list(listed.values())))
        object.__setattr__(self, "counts", {role: count // divisor for role, count in listed.items()})

    def formula(self, elements: Mapping[str, str]) -> str:
        """The reduced formula, elements in the order of the roles."""
        return "".join(f"{elements[role]}{count if count > 1 else ''}" for role, count in self.counts.items())

    def crystal(self, elements: Mapping[str, str], a: float, c: float | None = None, u: float = 0.0) -> Crystal:
        """The conventional cell.

        Args:
            elements: symbol of each role.
            a, c: lattice constants in Å; c where the type has one.
            u: the free coordinate, where the type has one.
        """
        rows = [
            (elements[role], place(row, u) + place(centre, u))
            for role in self.roles
            for row in self.sites[role].split(",")
            for centre in _CENTRINGS[self.centring]
        ]
        frac = wrap(np.array([at for _, at in rows]), TARGET_DECIMALS)
        alpha, beta, gamma = _ANGLES[self.system]
        return Crystal((a, a, a if c is None else c, alpha, beta, gamma), tuple(symbol for symbol, _ in rows), frac)

    def bond_length(self, axial: float, u: float) -> float:
        """Length of :attr:`bond` in units of a."""
        cell = self.crystal(dict.fromkeys(self.roles, "H"), 1.0, axial)
        first, second = (place(row, u) for row in self.bond[2:])
        return float(np.linalg.norm((second - first) @ cell.matrix))


def place(row: str, u: float) -> np.ndarray:
    """The numbers of a row ``x y z``, each a sum of fractions and of ``u``; a blank stands between coordinates only."""
    return np.array([sum(_term(term, u) for term in _terms(word)) for word in row.split()], dtype=float)


def _terms(word: str) -> list[str]:
    return [term for term in word.replace("-", "+-").split("+") if term]


def _term(term: str, u: float) -> float:
    if term in ("u", "-u"):
        return u if term == "u" else -u
    return float(Fraction(term))


_METALLIC = {"A": "metal"}
_SPINEL_X = (
    "u u u, 3/4-u 1/4-u 1/2+u, 1/4-u 1/2+u 3/4-u, 1/2+u 3/4-u 1/4-u, "
    "3/4+u 1/4+u 1/2-u, -u -u -u, 1/4+u 1/2-u 3/4+u, 1/2-u 3/4+u 1/4+u"
)
_PYRITE_X = (
    "u u u, 1/2-u -u 1/2+u, -u 1/2+u 1/2-u, 1/2+u 1/2-u -u, -u -u -u, 1/2+u u 1/2-u, u 1/2-u 1/2+u, 1/2-u 1/2+u u"
)

_TYPES = (
    Prototype("sc", "simple cubic (A_h, alpha-Po type)", "cubic", _METALLIC, {"A": "0 0 0"},
              ("A", "A", "0 0 0", "1 0 0")),
    Prototype("fcc", "face-centred cubic (A1, Cu type)", "cubic", _METALLIC, {"A": "0 0 0"},
              ("A", "A", "0 0 0", "1/2 1/2 0"), centring="F"),
    Prototype("bcc", "body-centred cubic (A2, W type)", "cubic", _METALLIC, {"A": "0 0 0"},
              ("A", "A", "0 0 0", "1/2 1/2 1/2"), centring="I"),
    Prototype("hcp", "hexagonal close-packed (A3, Mg type)", "hexagonal", _METALLIC,
              {"A": "1/3 2/3 1/4, 2/3 1/3 3/4"}, ("A", "A", "0 0 0", "1 0 0"), axial=(1.55, 1.70)),
    Prototype("diamond", "diamond (A4, C type)", "cubic", {"A": "element"}, {"A": "0 0 0, 1/4 1/4 1/4"},
              ("A", "A", "0 0 0", "1/4 1/4 1/4"), centring="F"),
    Prototype("graphite", "hexagonal graphite with AB stacking (A9, C type, 4 atoms in the cell)", "hexagonal",
              {"A": "element"}, {"A": "0 0 1/4, 0 0 3/4, 1/3 2/3 1/4, 2/3 1/3 3/4"},
              ("A", "A", "0 0 1/4", "1/3 2/3 1/4"), axial=(2.3, 2.9), says="All layers are flat"),
    Prototype("beta_tin", "beta-tin (A5, white Sn type)", "tetragonal", _METALLIC, {"A": "0 0 0, 0 1/2 1/4"},
              ("A", "A", "0 0 0", "0 1/2 1/4"), centring="I", axial=(0.50, 0.60)),
    Prototype("rocksalt", "rocksalt (B1, NaCl type)", "cubic", {"A": "metal", "X": "anion"},
              {"A": "0 0 0", "X": "1/2 1/2 1/2"}, ("A", "X", "0 0 0", "1/2 0 0"), centring="F"),
    Prototype("cesium_chloride", "cesium chloride (B2, CsCl type)", "cubic", {"A": "metal", "X": "element"},
              {"A": "0 0 0", "X": "1/2 1/2 1/2"}, ("A", "X", "0 0 0", "1/2 1/2 1/2")),
    Prototype("zincblende", "zincblende (B3, ZnS type)", "cubic", {"A": "metal", "X": "anion"},
              {"A": "0 0 0", "X": "1/4 1/4 1/4"}, ("A", "X", "0 0 0", "1/4 1/4 1/4"), centring="F"),
    Prototype("wurtzite", "wurtzite (B4, ZnS type)", "hexagonal", {"A": "metal", "X": "anion"},
              {"A": "1/3 2/3 0, 2/3 1/3 1/2", "X": "1/3 2/3 u, 2/3 1/3 1/2+u"},
              ("A", "X", "1/3 2/3 0", "1/3 2/3 u"), axial=(1.58, 1.68), free=(0.33, 0.42),
              says="With {A} at (1/3, 2/3, 0), {X} is at (1/3, 2/3, u)"),
    Prototype("nickel_arsenide", "nickel arsenide (B8_1, NiAs type)", "hexagonal", {"A": "metal", "X": "anion"},
              {"A": "0 0 0, 0 0 1/2", "X": "1/3 2/3 1/4, 2/3 1/3 3/4"}, ("A", "X", "0 0 0", "1/3 2/3 1/4"),
              axial=(1.2, 1.7), says="{A} has the place of Ni, {X} the place of As"),
    Prototype("tungsten_carbide", "tungsten carbide (B_h, WC type)", "hexagonal", {"A": "metal", "X": "element"},
              {"A": "0 0 0", "X": "1/3 2/3 1/2"}, ("A", "X", "0 0 0", "1/3 2/3 1/2"), axial=(0.93, 1.02)),
    Prototype("boron_nitride", "hexagonal boron nitride (B_k, BN type)", "hexagonal",
              {"A": "element", "X": "anion"},
              {"A": "1/3 2/3 1/4, 2/3 1/3 3/4", "X": "2/3 1/3 1/4, 1/3 2/3 3/4"},
              ("A", "X", "1/3 2/3 1/4", "2/3 1/3 1/4"), axial=(2.3, 2.9),
              says="All layers are flat, and along c each {A} is above an {X}"),
    Prototype("fluorite", "fluorite (C1, CaF2 type)", "cubic", {"A": "metal", "X": "anion"},
              {"A": "0 0 0", "X": "1/4 1/4 1/4, 3/4 3/4 3/4"}, ("A", "X", "0 0 0", "1/4 1/4 1/4"), centring="F"),
    Prototype("antifluorite", "antifluorite (Li2O type)", "cubic", {"A": "metal", "X": "anion"},
              {"X": "0 0 0", "A": "1/4 1/4 1/4, 3/4 3/4 3/4"}, ("A", "X", "1/4 1/4 1/4", "0 0 0"), centring="F"),
    Prototype("rutile", "rutile (C4, TiO2 type)", "tetragonal", {"A": "metal", "X": "anion"},
              {"A": "0 0 0, 1/2 1/2 1/2", "X": "u u 0, -u -u 0, 1/2+u 1/2-u 1/2, 1/2-u 1/2+u 1/2"},
              ("A", "X", "0 0 0", "u u 0"), axial=(0.62, 0.70), free=(0.285, 0.325),
              says="With {A} at (0, 0, 0), {X} is at (u, u, 0)"),
    Prototype("anatase", "anatase (C5, TiO2 type)", "tetragonal", {"A": "metal", "X": "anion"},
              {"A": "0 0 0, 0 1/2 1/4", "X": "0 0 u, 0 0 -u, 0 1/2 1/4+u, 0 1/2 1/4-u"},
              ("A", "X", "0 0 0", "0 0 u"), centring="I", axial=(2.4, 2.6), free=(0.192, 0.224),
              says="With {A} at (0, 0, 0), {X} is at (0, 0, u)"),
    Prototype("pyrite", "pyrite (C2, FeS2 type)", "cubic", {"A": "metal", "X": "anion"},
              {"A": "0 0 0, 0 1/2 1/2, 1/2 0 1/2, 1/2 1/2 0", "X": _PYRITE_X},
              ("A", "X", "0 0 0", "1/2-u u-1/2 u"), free=(0.365, 0.405),
              says="With {A} at (0, 0, 0), {X} is at (u, u, u)"),
    Prototype("cadmium_iodide", "cadmium iodide (C6, CdI2 type, one layer in the cell)", "hexagonal",
              {"A": "metal", "X": "anion"}, {"A": "0 0 0", "X": "1/3 2/3 u, 2/3 1/3 -u"},
              ("A", "X", "0 0 0", "1/3 -1/3 u"), axial=(1.5, 1.7), free=(0.22, 0.28),
              says="With {A} at (0, 0, 0), {X} is at (1/3, 2/3, u)"),
    Prototype("molybdenite", "molybdenite (C7, 2H-MoS2 type)", "hexagonal", {"A": "metal", "X": "anion"},
              {"A": "1/3 2/3 1/4, 2/3 1/3 3/4", "X": "1/3 2/3 u, 2/3 1/3 1/2+u, 2/3 1/3 -u, 1/3 2/3 1/2-u"},
              ("A", "X", "1/3 2/3 1/4", "2/3 1/3 1-u"), axial=(3.7, 4.0), free=(0.605, 0.635),
              says="With {A} at (1/3, 2/3, 1/4), {X} is at (1/3, 2/3, u)"),
    Prototype("cuprite", "cuprite (C3, Cu2O type)", "cubic", {"A": "metal", "X": "anion"},
              {"X": "0 0 0, 1/2 1/2 1/2", "A": "1/4 1/4 1/4, 3/4 3/4 1/4, 3/4 1/4 3/4, 1/4 3/4 3/4"},
              ("A", "X", "1/4 1/4 1/4", "0 0 0")),
    Prototype("aluminium_diboride", "aluminium diboride (C32, AlB2 type)", "hexagonal",
              {"A": "metal", "X": "element"}, {"A": "0 0 0", "X": "1/3 2/3 1/2, 2/3 1/3 1/2"},
              ("A", "X", "0 0 0", "1/3 2/3 1/2"), axial=(1.0, 1.15)),
    Prototype("laves_c15", "cubic Laves phase (C15, MgCu2 type)", "cubic", {"A": "metal", "X": "metal"},
              {"A": "1/8 1/8 1/8, 7/8 7/8 7/8", "X": "1/2 1/2 1/2, 1/2 1/4 1/4, 1/4 1/2 1/4, 1/4 1/4 1/2"},
              ("X", "X", "1/2 1/2 1/2", "1/2 1/4 1/4"), centring="F"),
    Prototype("perovskite", "cubic perovskite (E2_1, ideal CaTiO3 type)", "cubic",
              {"A": "metal", "B": "metal", "X": "anion"},
              {"A": "0 0 0", "B": "1/2 1/2 1/2", "X": "1/2 1/2 0, 1/2 0 1/2, 0 1/2 1/2"},
              ("B", "X", "1/2 1/2 1/2", "1/2 1/2 0"),
              says="{A} has 12 neighbours {X} (the place of Ca), {B} has 6 (the place of Ti)"),
    Prototype("spinel", "normal spinel (H1_1, MgAl2O4 type)", "cubic", {"A": "metal", "B": "metal", "X": "anion"},
              {"A": "1/8 1/8 1/8, 7/8 7/8 7/8", "B": "1/2 1/2 1/2, 1/2 1/4 1/4, 1/4 1/2 1/4, 1/4 1/4 1/2",
               "X": _SPINEL_X},
              ("B", "X", "1/2 1/2 1/2", "3/4-u 3/4-u u"), centring="F", free=(0.251, 0.272),
              says="With {A} at (1/8, 1/8, 1/8) and {B} at (1/2, 1/2, 1/2), {X} is at (u, u, u)"),
    Prototype("rhenium_trioxide", "rhenium trioxide (D0_9, ReO3 type)", "cubic", {"A": "metal", "X": "anion"},
              {"A": "0 0 0", "X": "1/2 0 0, 0 1/2 0, 0 0 1/2"}, ("A", "X", "0 0 0", "1/2 0 0")),
    Prototype("cu3au", "ordered Cu3Au (L1_2, auricupride type)", "cubic", {"A": "metal", "X": "metal"},
              {"A": "0 1/2 1/2, 1/2 0 1/2, 1/2 1/2 0", "X": "0 0 0"}, ("A", "X", "1/2 1/2 0", "0 0 0")),
    Prototype("cuau", "ordered CuAu (L1_0), described in its primitive tetragonal cell of two atoms", "tetragonal",
              {"A": "metal", "X": "metal"}, {"A": "0 0 0", "X": "1/2 1/2 1/2"},
              ("A", "X", "0 0 0", "1/2 1/2 1/2"), axial=(1.25, 1.40)),
    Prototype("a15", "A15 (Cr3Si type)", "cubic", {"A": "metal", "X": "element"},
              {"A": "1/4 0 1/2, 3/4 0 1/2, 1/2 1/4 0, 1/2 3/4 0, 0 1/2 1/4, 0 1/2 3/4", "X": "0 0 0, 1/2 1/2 1/2"},
              ("A", "X", "0 1/2 1/4", "0 0 0")),
    Prototype("bismuth_trifluoride", "bismuth trifluoride (D0_3, BiF3 type)", "cubic",
              {"A": "element", "X": "metal"}, {"A": "0 0 0", "X": "1/2 1/2 1/2, 1/4 1/4 1/4, 3/4 3/4 3/4"},
              ("A", "X", "0 0 0", "1/4 1/4 1/4"), centring="F"),
    Prototype("heusler", "full Heusler (L2_1, Cu2MnAl type)", "cubic", {"A": "metal", "B": "metal", "X": "element"},
              {"A": "1/4 1/4 1/4, 3/4 3/4 3/4", "B": "0 0 0", "X": "1/2 1/2 1/2"},
              ("A", "X", "1/4 1/4 1/4", "1/2 1/2 1/2"), centring="F"),
    Prototype("half_heusler", "half-Heusler (C1_b, MgAgAs type)", "cubic",
              {"A": "metal", "B": "metal", "X": "element"},
              {"A": "1/4 1/4 1/4", "B": "0 0 0", "X": "1/2 1/2 1/2"},
              ("A", "X", "1/4 1/4 1/4", "1/2 1/2 1/2"), centring="F",
              says="{A} is the one with 4 neighbours {B} and 4 neighbours {X}; {B} and {X} make a rocksalt lattice"),
    Prototype("thcr2si2", "ThCr2Si2 (D1_3, the ordered BaAl4 type)", "tetragonal",
              {"A": "metal", "B": "metal", "X": "element"},
              {"A": "0 0 0", "B": "0 1/2 1/4, 1/2 0 1/4", "X": "0 0 u, 0 0 -u"},
              ("B", "X", "0 1/2 1/4", "0 0 u"), centring="I", axial=(2.4, 2.7), free=(0.36, 0.39),
              says="{A} has the place of Th, {B} that of Cr; with {A} at (0, 0, 0), {X} is at (0, 0, u)"),
)  # fmt: skip

PROTOTYPES: Mapping[str, Prototype] = MappingProxyType({each.name: each for each in _TYPES})
"""Every structure type, by name."""
