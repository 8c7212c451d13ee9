"""Frozen values, which the rest of the package works with."""
