"""Frozen values: what the rest of the package speaks about."""
