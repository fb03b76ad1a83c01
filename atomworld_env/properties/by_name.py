"""The oracles of the package, by property, and a user's own by its command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import MappingProxyType

from atomworld_env.errors import UsageError
from atomworld_env.programs import PREFIX, program_of
from atomworld_env.properties import chgnet_relaxation, dft_gap
from atomworld_env.properties.cache import CachedOracle
from atomworld_env.properties.command_oracle import CommandOracle
from atomworld_env.properties.isolation import Isolated
from atomworld_env.properties.oracle import CostClass, Failure, Noise, PropertyOracle, PropertyValue
from rewards import Arrangement

UNITS: Mapping[str, str] = MappingProxyType({"bulk_modulus": "GPa", "band_gap": "eV"})
"""The properties and their units."""

NOISE: Mapping[str, Noise] = MappingProxyType({"bulk_modulus": Noise(3.0, 0.05), "band_gap": Noise(0.1, 0.05)})
"""Measured by `python -m benchmarks.property_noise`; docs/structprop.md has the figures."""

DEFAULT = "default"


@dataclass(frozen=True)
class PackagedOracle:
    """An oracle of this package, run in a worker process of its own.

    Attributes:
        property, unit, version, cost, noise: see :class:`~atomworld_env.properties.oracle.PropertyOracle`.
        extra: of this distribution that installs what it needs.
        modules: that must be there.
        computation: run elsewhere.
        deterministic: on one machine.
    """

    property: str
    unit: str
    version: str
    cost: CostClass
    noise: Noise
    extra: str
    modules: tuple[str, ...]
    computation: Isolated
    deterministic: bool = True

    def missing(self) -> str | None:
        """One sentence, with the mend, if a package is not installed."""
        lacking = [name for name in self.modules if find_spec(name) is None]
        if not lacking:
            return None
        return (
            f"the {self.property.replace('_', ' ')} of a new crystal needs {' and '.join(lacking)}: "
            f"pip install -c constraints.txt -e '.[{self.extra}]'"
        )

    def evaluate(self, crystal: Arrangement) -> PropertyValue:
        """The value, computed in the worker process."""
        missing = self.missing()
        if missing is not None:
            return PropertyValue(None, self.unit, failure=Failure.MISSING, message=missing)
        return self.computation(crystal)


PACKAGED: Mapping[str, PackagedOracle] = MappingProxyType(
    {
        "bulk_modulus": PackagedOracle(
            property="bulk_modulus",
            unit="GPa",
            version=chgnet_relaxation.VERSION,
            cost="seconds",
            noise=NOISE["bulk_modulus"],
            extra="mlip",
            modules=("chgnet",),
            computation=Isolated(chgnet_relaxation.bulk_modulus, chgnet_relaxation.warm_up, "GPa", 120.0),
        ),
        "band_gap": PackagedOracle(
            property="band_gap",
            unit="eV",
            version=dft_gap.VERSION,
            cost="minutes",
            noise=NOISE["band_gap"],
            extra="mlip,dft",
            modules=("chgnet", "pyscf"),
            computation=Isolated(dft_gap.band_gap, dft_gap.warm_up, "eV", 300.0),
        ),
    }
)
"""The default oracle of each property."""


AnyOracle = str | CachedOracle
"""A name, see :func:`oracle_of`, or an oracle whose values are kept."""


def oracle_of(property_name: str, oracle: AnyOracle = DEFAULT) -> CachedOracle:
    """The oracle of a property, its values kept; one of each name for all that ask in this process.

    Args:
        property_name: a key of :data:`UNITS`.
        oracle: ``default``, ``command:"PROGRAM ARGUMENTS"``, or one that must compute this property.

    Raises:
        UsageError: if there is none.
    """
    if isinstance(oracle, str):
        return _named(property_name, oracle)
    if oracle.oracle.property != property_name or oracle.oracle.unit != UNITS[property_name]:
        computes = f"{oracle.oracle.property} in {oracle.oracle.unit}"
        raise UsageError(
            f"the oracle computes {computes}, not {property_name} in {UNITS[property_name]}; name the actions of its "
            "property"
        )
    return oracle


@cache
def _named(property_name: str, name: str) -> CachedOracle:
    return CachedOracle(_oracle(property_name, name))


def _oracle(property_name: str, name: str) -> PropertyOracle:
    if property_name not in UNITS:
        raise UsageError(f"unknown property {property_name!r}; choose from {', '.join(UNITS)}")
    if name == DEFAULT:
        return PACKAGED[property_name]
    if name.startswith(PREFIX):
        return CommandOracle(property_name, UNITS[property_name], program_of(name), NOISE[property_name])
    raise UsageError(f'unknown oracle {name!r}; choose {DEFAULT} or {PREFIX}"PROGRAM ARGUMENTS"')
