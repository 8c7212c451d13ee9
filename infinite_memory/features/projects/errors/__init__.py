"""Errors: the signature of an error in any place, and the past solution that fits it."""

from __future__ import annotations

from infinite_memory.features.projects.errors.normalize import normalize_error
from infinite_memory.features.projects.errors.ranking import compare_errors, rank_solutions
from infinite_memory.features.projects.errors.sameness import is_same_kind
from infinite_memory.features.projects.errors.signature import ErrorSignature, find_error

__all__ = [
    "ErrorSignature",
    "compare_errors",
    "find_error",
    "is_same_kind",
    "normalize_error",
    "rank_solutions",
]
