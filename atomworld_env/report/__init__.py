"""Runs as a page one can open anywhere, as figures and as tables for a paper."""
