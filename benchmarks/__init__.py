"""Measurements: how good the retrieval is, and how long things take."""
