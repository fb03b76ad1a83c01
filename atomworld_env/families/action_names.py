"""Kinds of task of the families about CIF and properties, by name, so that the registry imports none of them."""

from __future__ import annotations

REPAIRS = tuple(
    f"repair_{fault}"
    for fault in (
        "lost_length", "lost_angle", "unknown_length", "unknown_angle", "unknown_coordinate", "cut_site", "cut_tail",
        "symbol_tag", "label_tag", "multiplicity_tag", "coordinate_tag", "occupancy_tag", "label_column",
        "length_spelling", "fract_spelling", "atom_spelling", "cell_spelling", "lattice_spelling",
        "missing_loop", "short_row", "glued_values", "swapped_columns", "symmetry",
        "decimal_commas", "units", "fence", "stray_text", "open_quote",
    )
)  # fmt: skip
"""Kinds of damage, as in :data:`atomworld_env.families.cif_repair_faults.FAULTS`, which a test holds against it."""

GENERATIONS = tuple(
    f"generate_{prototype}"
    for prototype in (
        "sc", "fcc", "bcc", "hcp", "diamond", "graphite", "beta_tin", "rocksalt", "cesium_chloride", "zincblende",
        "wurtzite", "nickel_arsenide", "tungsten_carbide", "boron_nitride", "fluorite", "antifluorite", "rutile",
        "anatase", "pyrite", "cadmium_iodide", "molybdenite", "cuprite", "aluminium_diboride", "laves_c15",
        "perovskite", "spinel", "rhenium_trioxide", "cu3au", "cuau", "a15", "bismuth_trifluoride", "heusler",
        "half_heusler", "thcr2si2",
    )
)  # fmt: skip
"""Structure types, as in :data:`atomworld_env.families.cif_gen_prototypes.PROTOTYPES`; a test holds them together."""

PROPERTY_CHANGES = ("raise_bulk_modulus", "lower_bulk_modulus", "raise_band_gap", "lower_band_gap")
"""Directions and properties, as in :data:`atomworld_env.properties.by_name.UNITS`, which a test holds against it."""
