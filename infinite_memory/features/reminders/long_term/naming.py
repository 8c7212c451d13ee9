"""Names of long-term memories: how they are compared, and the id that a name has."""

from __future__ import annotations

import unicodedata
from hashlib import blake2b

from infinite_memory.core.values.checks import check_label
from infinite_memory.core.values.scope import fold_name

DEFAULT_CONVERSATION = "default"
"""The conversation of a long-term memory whose caller names none."""

_PREFIX = "reminder:"
_DIGEST_BYTES = 16


def check_name(name: object) -> str:
    """Return the name of a long-term memory in NFC, without white space around it.

    Raises:
        InvalidInput: it is no text of 1 to 256 characters on one line.
    """
    return unicodedata.normalize("NFC", check_label(name, "name"))


def fold_memory_name(name: str) -> str:
    """Return the form in which names of long-term memories are compared.

    Letter case and surrounding white space do not count; every other sign does, so that "C++" and
    "C#", or two names of punctuation alone, stay different. Keys of facts are folded more, and are
    no names of this kind.
    """
    return fold_name(name)


def name_id(name: str, conversation_id: str, scope: str) -> str:
    """Return the id of a new memory with this name, the same in every process.

    Of two processes that add the name at once, the storage refuses the later.
    """
    parts = [fold_name(scope), conversation_id, fold_memory_name(name)]
    content = b"".join(b"%d:%s" % (len(encoded), encoded) for encoded in map(str.encode, parts))
    return _PREFIX + blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()
