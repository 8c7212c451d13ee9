"""Conditions as rules: JSON objects that are checked in microseconds."""
