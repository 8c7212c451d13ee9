"""Searches in which an engine finds candidates, and the ranking chooses from them."""
