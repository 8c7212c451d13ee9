"""How far a memory is trusted: by the way it came in, by its form and by its words."""

from __future__ import annotations

import re

from infinite_memory.core.secrets import find_secrets
from infinite_memory.core.values.memory import Memory, Origin, Status
from infinite_memory.engine.trivial import is_trivial
from infinite_memory.search.text.injection import commands_model

# What prompts write to a model, and hardly anybody into a note.
_ADDRESSES_MODEL = re.compile(
    r"\b(?:ignore|disregard|forget|override|ignorier|vergiss|missachte|ignora|olvida|oublie)\w{0,3}\b"
    r"(?=[^.\n]{0,60}\b(?:previous|prior|above|earlier|vorherig|bisherig|obig|anterior|précédent))"
    r"[^.\n]{0,60}\b(?:instruc|prompt|rules\b|messages\b|anweisung|regeln|reglas|consigne|règles)"
    r"|(?:忽略|无视|忘记)[^。\n]{0,10}(?:指令|指示|提示|规则)"
    r"|\byou are now (?:an?|in developer)\b|\bdu bist (?:jetzt|nun) ein|\bahora eres una?\b"
    r"|\btu es (?:maintenant|désormais) une?\b|你现在是一个|\bdo not tell the user\b"
    r"|</?(?:system|assistant|user|human|instructions?|(?:tool|function|system)[_-]\w+)>"
    r"|<\|\w+\|>|\[/?INST\]|^[# ]{0,8}system(?: prompt|: ?you\b)",
    re.IGNORECASE | re.MULTILINE,
)


def is_waiting(memory: Memory) -> bool:
    """Return whether a memory waits in the inbox: it seems to command a model.

    What the user said or accepted never waits. The origin decides, which no tool or import of
    another program's files can claim.
    """
    if memory.origin is Origin.USER:
        return False
    return (
        memory.status is not Status.FORGOTTEN and memory.is_indexed and is_command(_whole(memory))
    )


def may_be_pushed(memory: Memory) -> bool:
    """Return whether a memory may enter a conversation unasked.

    It says something, was not brought in, and is fit to be told. This holds back nothing that is
    asked for.
    """
    is_open = not memory.is_brought_in and not is_waiting(memory)
    return is_open and is_fit_to_tell(_whole(memory)) and not is_trivial(memory.text)


def is_fit_to_tell(text: str) -> bool:
    """Return whether a text has no secret and does not address the model by its form."""
    return _ADDRESSES_MODEL.search(text) is None and not find_secrets(text)


def is_command(text: str) -> bool:
    """Return whether a text seems to command a model, by its form or by its words."""
    return _ADDRESSES_MODEL.search(text) is not None or commands_model(text)


def _whole(memory: Memory) -> str:
    return f"{memory.title or ''}\n{memory.text}"
