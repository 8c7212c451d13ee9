"""Which memories no retention and no limit touches."""

from __future__ import annotations

from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.engine.profile import is_profile_fact

_KINDS = frozenset(
    {
        *(Kind.FACT, Kind.DECISION, Kind.LESSON, Kind.REMINDER, Kind.SUMMARY),
        *(Kind.INSTRUCTION, Kind.CONCLUSION),
    }
)


def is_protected(memory: Memory) -> bool:
    """Return whether only an explicit rule for its scope may archive a memory.

    So it is with important memories, facts, decisions, lessons, instructions, conclusions,
    reminders, summaries, the profile, and everything that has a key.
    """
    return (
        memory.important
        or memory.kind in _KINDS
        or memory.key is not None
        or is_profile_fact(memory)
    )
