"""A year of facts that change."""
