"""The search of pymatgen's ``StructureMatcher`` with equal verdicts in a fraction of the time.

:mod:`rewards.matcher.search` holds the argument. The other modules, in the order in which they build on one another:
``mappings`` (of one lattice on another), ``prepared`` (what is kept of a crystal, and answers that need no search),
``pairing`` (the assignment), ``pairs``, ``ties`` and ``candidates`` (compiled by numba on first use, and kept on disk
by it), ``open_candidates`` (what is left to ``StructureMatcher`` itself).
"""
