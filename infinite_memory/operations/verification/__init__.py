"""Verify a store, its journal and its surroundings."""
