"""The answers to writes and to feedback, and the preview of a write to many memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b

from attrs import field, frozen

from infinite_memory.core.plain import PlainData, describe_in_a_line
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.messages import format_count


class Outcome(StrEnum):
    """The effect of a write."""

    STORED = "stored"
    REVISED = "revised"
    FORGOTTEN = "forgotten"
    ERASED = "erased"
    UNCHANGED = "unchanged"
    STRENGTHENED = "strengthened"
    ECHO = "echo"


class Searchable(StrEnum):
    """How a memory can be found: by its words at once, by meaning when it is embedded."""

    MEANING = "meaning"
    WORDS = "words"
    NOT = "not"


@frozen(kw_only=True)
class Similar(PlainData):
    """A current memory that is similar to a new memory, or is probably replaced by it.

    `text` is its beginning on one line, at most 240 characters, with "…" at the end where it is
    cut. `score` in [0, 1] grows with the nearness.
    """

    id: str
    text: str
    happened_at: datetime
    scope: str
    key: str | None
    score: float


@frozen(kw_only=True)
class KeyHolder(PlainData):
    """A current memory whose key is the key of a new memory, or the nearest key.

    `text` is its beginning as in `Similar`; None if a search of the scope of the new memory does
    not see the memory.
    """

    id: str
    key: str
    scope: str
    text: str | None
    happened_at: datetime


@frozen(kw_only=True)
class Receipt(PlainData):
    """The result of a request to write; everything reported as stored is durable.

    The outcome `unchanged` means that the same request was carried out before; `strengthened` that
    an equal memory was stored within the hour, with nothing else in its scope since: nothing was
    stored again, and `id` is the id of that memory; `echo` that the text came back from a recall
    within the hour. `replaces` names at most one current memory of its scope that it probably
    replaces, which the caller settles with `supersedes`; `similar` at most one other that says
    nearly the same. If its key is new in its scope,
    `nearest_key` has a memory whose key may stand for the same fact; `same_key` names at most three
    memories with its key in a parent scope, in `Global` or in a child scope, which stay current.
    `erased` lists in words what a hard forget removed, such as "3 revisions". `superseded` are the
    ids of memories that the new memory replaced; `superseded_by` is the id of a memory that
    replaces it, because it began later. `conflicts` are the ids of memories with the same key and
    beginning but a different text; all stay current until the caller decides. `pending` describes
    steps that failed after the write was durable, such as the embedding of the text, and what to do
    about them. `secrets` are the kinds of the secrets that it holds in clear, one for each, such as
    "AWS access key", and `masked` those in whose place a mask was stored.
    """

    id: str
    outcome: Outcome
    revision: int
    scope: str
    stored_at: datetime
    searchable: Searchable
    erased: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    superseded_by: str | None = None
    conflicts: tuple[str, ...] = ()
    replaces: tuple[Similar, ...] = ()
    similar: tuple[Similar, ...] = ()
    nearest_key: KeyHolder | None = None
    same_key: tuple[KeyHolder, ...] = ()
    pending: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()

    def __repr__(self) -> str:
        said = ("superseded", "superseded_by", "conflicts", "pending")
        given = {name: value for name in said if (value := getattr(self, name))}
        return describe_in_a_line(self, self.outcome.value, id=self.id, scope=self.scope, **given)


@frozen(kw_only=True)
class MaskedSecrets(PlainData):
    """What was found of secrets in the store.

    `ids` are the memories with a secret in any revision, in whose place there is a mask now unless
    it was a `dry_run`; `secrets` counts the different ones by their kinds. `unreadable` are
    sentences on memories that are damaged, `pending` on what is still to be done.
    """

    ids: tuple[str, ...] = ()
    secrets: Mapping[str, int] = field(factory=dict)
    dry_run: bool = False
    unreadable: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()


PREVIEWED = 10
"""The most memories that a preview shows."""

_TOKEN_BYTES = 6


@frozen(kw_only=True)
class Preview(PlainData):
    """The memories that a change of many memories would change.

    `count` is the number of memories and `memories` are the first ten of them, in the order of the
    selection; `by_scope` counts all of them. `token` confirms the change of exactly these memories
    at these revisions. If nothing matches, `elsewhere` counts by scope the memories of other open
    scopes that meet the same conditions.
    """

    token: str
    count: int
    memories: tuple[Memory, ...] = ()
    by_scope: Mapping[str, int] = field(factory=dict)
    elsewhere: Mapping[str, int] = field(factory=dict)


@frozen(kw_only=True)
class BulkReceipt(PlainData):
    """The ids of the memories that a commit, with its entry of the journal, has changed."""

    ids: tuple[str, ...]


def make_token(memories: Iterable[Memory]) -> str:
    """Return 12 hexadecimal digits that stand for the memories at their revisions, in any order."""
    lines = sorted(f"{memory.id} {memory.revision}\n" for memory in memories)
    digest = blake2b("".join(lines).encode(), digest_size=_TOKEN_BYTES, person=b"forget")
    return digest.hexdigest()


class FeedbackOutcome(StrEnum):
    """The effect of feedback."""

    MARKED = "marked"
    TAKEN_BACK = "taken_back"
    UNCHANGED = "unchanged"


@frozen(kw_only=True)
class Feedback(PlainData):
    """The answer to `not_useful`.

    `queries` are the questions for which the memory `id` is marked now, oldest first; `revision` is
    its present revision.
    """

    id: str
    query: str
    outcome: FeedbackOutcome
    queries: tuple[str, ...]
    revision: int


def describe_secrets(kinds: Iterable[str] | Mapping[str, int]) -> str:
    """Return how many secrets of which kinds: "3 secrets (AWS access key, password (2))"."""
    counts = Counter(kinds)
    listed = [kind if count == 1 else f"{kind} ({count:,})" for kind, count in counts.items()]
    return f"{format_count(counts.total(), 'secret')} ({', '.join(listed)})"


def describe_feedback(feedback: Feedback, name: str, *, take_back: bool) -> str:
    """Return a sentence on the effect of feedback; `name` is how the caller shows the id."""
    query = repr(feedback.query)
    if feedback.outcome is FeedbackOutcome.MARKED:
        return f"From now on {name} ranks lower for questions like {query}."
    if feedback.outcome is FeedbackOutcome.TAKEN_BACK:
        return f"Taken back: {name} is no longer marked as not useful for {query}."
    if not take_back:
        return f"Nothing was changed: {name} is marked as not useful for {query} already."
    others = ", ".join(map(repr, feedback.queries)) or "no question"
    return (
        f"Nothing was changed: {name} is not marked as not useful for {query}; it is marked for"
        f" {others}."
    )
