"""What a look at an installation and its store has found, a sentence for each check."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

__all__ = ["Diagnosis", "State"]


class State(StrEnum):
    """How serious a diagnosis is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@frozen
class Diagnosis:
    """The result of a check: its subject in a word or two, and a sentence with the way out."""

    about: str
    state: State
    sentence: str
