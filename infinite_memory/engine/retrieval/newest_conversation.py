"""What is newest, for a question about "last time" that finds nothing."""

from __future__ import annotations

import re

from attrs import evolve

from infinite_memory.core.values.criteria import Criteria, Depth
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.question import Question
from infinite_memory.engine.retrieval.browse import load_page
from infinite_memory.engine.services import Services
from infinite_memory.search.text.question_terms import split_terms

_LAST_TIME = re.compile(
    r"\b(?:last|previous) (?:time|chat|talk|conversation|session)\b"
    r"|\bletzte[snr]? (?:mal|gespräch)\b|\bla última (?:vez|conversación)\b"
    r"|\bla dernière (?:fois|conversation)\b"
    "|上(?:一)?次|上回|前回",
    re.IGNORECASE,
)
# "Talk", or "talk" and "meet": with more words the question has a subject of its own.
_MOST_WORDS = 2
_BATCH = 200
_MOST_BATCHES = 5


def load_newest_conversation(services: Services, question: Question) -> tuple[Memory, ...]:
    """Return the last memories of the newest conversation that `question` may read, oldest first.

    If none of the newest 1,000 memories belongs to a conversation, they are the newest memories.
    Without any if the question asks for something else than the last time, or has a subject of its
    own. At most `question.limit` memories are returned.
    """
    is_first_page = question.offset == 0 and question.depth is not Depth.EXHAUSTIVE
    if not is_first_page or not _asks_for_last_time(question.text):
        return ()
    told = evolve(question.criteria, topic_summaries=False)
    conversation_id = told.conversation_id or _find_newest(services, told)
    criteria = evolve(told, conversation_id=conversation_id)
    newest = load_page(services.storage, criteria, question.limit, None).memories
    return tuple(reversed(newest))


def _asks_for_last_time(text: str) -> bool:
    match = _LAST_TIME.search(text)
    if match is None:
        return False
    telling, _ = split_terms(f"{text[: match.start()]} {text[match.end() :]}")
    return len(telling) <= _MOST_WORDS


def _find_newest(services: Services, criteria: Criteria) -> str | None:
    """Return the conversation of the newest memory that belongs to a conversation."""
    after: str | None = None
    for _ in range(_MOST_BATCHES):
        page = load_page(services.storage, criteria, _BATCH, after)
        for memory in page.memories:
            if memory.conversation_id is not None:
                return memory.conversation_id
        if page.next is None:
            break
        after = page.next
    return None
