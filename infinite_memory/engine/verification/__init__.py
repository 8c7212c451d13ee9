"""Verify a store and its journal, and diagnose an installation."""
