"""Verbs: what the product does, one a file."""
