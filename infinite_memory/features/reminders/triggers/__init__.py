"""Evaluators of the conditions of long-term memories: rules as data, and JavaScript."""
