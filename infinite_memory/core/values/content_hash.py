"""The hash of the content of a memory: its text, kind, scope, key, speaker and conversation.

Stores hold these hashes, so the rule is fixed: no release may change what `content_hash` returns
for a memory.
"""

from __future__ import annotations

import unicodedata
from hashlib import sha256

from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.scope import fold_name

# Written out, since the white space that `str.strip` removes depends on the version of Unicode.
_WHITE_SPACE = " \t\n\v\f\r\x85\xa0\u2028\u2029\u3000"


def content_hash(memory: Memory) -> bytes:
    """Return the SHA-256 of the text, kind, scope, key, speaker and conversation of `memory`.

    Hashed are the normalized text, the kind, the folded scope, the key, the speaker and the
    conversation. Times, tags, origin and importance do not count.
    """
    fields = (
        normalize_content(memory.text),
        memory.kind.value,
        fold_name(memory.scope),
        memory.key,
        memory.speaker,
        memory.conversation_id,
    )
    # Each field begins with its own length, so that no value runs into the next. A lone surrogate
    # has no UTF-8; it must not make another hash impossible.
    encoded = [None if f is None else f.encode("utf-8", "surrogatepass") for f in fields]
    parts = [b"-" if field is None else b"%d:%s" % (len(field), field) for field in encoded]
    return sha256(b"".join(parts)).digest()


def normalize_content(text: str) -> str:
    """Return `text` in NFC, with "\\n" as its line ending and no white space around it."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.strip(_WHITE_SPACE)
