"""Search: the memories that answer a question, best first."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime

from infinite_memory.errors import InvalidInput, StoreDamaged
from infinite_memory.model.checks import (
    check_choice,
    check_count,
    check_field,
    check_flag,
    check_label,
    check_labels,
    check_moment,
)
from infinite_memory.model.criteria import Conditions, Criteria
from infinite_memory.model.hits import Hit, Hits
from infinite_memory.model.memory import Kind, Status
from infinite_memory.model.record import Record
from infinite_memory.operations.scopes import searched_scopes
from infinite_memory.operations.services import Services
from infinite_memory.search.query import Arm, Question

__all__ = ["DEFAULT_THRESHOLD", "MAX_LIMIT", "criteria_of", "question_of", "search"]

_log = logging.getLogger(__name__)
DEFAULT_THRESHOLD = 0.005
MAX_LIMIT = 1000
_MAX_QUESTION_CHARS = 100_000


def criteria_of(services: Services, question: str, conditions: Conditions) -> Criteria:
    """Return the checked form of `conditions`, for this question.

    Raises:
        InvalidInput: one of them is unknown, or cannot be used.
        UnknownScope: a scope was asked for that does not exist.
    """
    for name in conditions:
        check_field(name, Conditions.__annotations__, lack="a search has no condition")
    return _criteria(services, question, **conditions)


def _criteria(
    services: Services,
    question: str,
    *,
    scope: str | Iterable[str] | None = None,
    tags: Sequence[str] = (),
    kinds: Iterable[str] = (),
    statuses: Iterable[str] = (Status.CURRENT,),
    conversation_id: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Criteria:
    start = None if since is None else check_moment(since, "since")
    end = None if until is None else check_moment(until, "until")
    if start is not None and end is not None and end <= start:
        raise InvalidInput(f"until {end.isoformat()} must be later than since {start.isoformat()}")
    return Criteria(
        scopes=searched_scopes(scope, question, services),
        tags=check_labels(() if tags is None else tags, "tags"),
        kinds=frozenset(check_choice(kind, Kind, "kind") for kind in _listed(kinds)) or None,
        statuses=frozenset(check_choice(s, Status, "status") for s in _listed(statuses)) or None,
        conversation_id=(
            None if conversation_id is None else check_label(conversation_id, "conversation_id")
        ),
        since=start,
        until=end,
    )


def search(
    services: Services,
    text: str,
    conditions: Conditions,
    *,
    limit: int,
    threshold: float | None,
    arms: Iterable[str],
    explain: bool,
) -> Hits:
    """Return the memories that answer `text` best, as they are at this moment in every process.

    Raises:
        InvalidInput: the question is empty, or a condition cannot be used.
        UnknownScope: a scope was asked for that does not exist.
    """
    question = question_of(
        services,
        text,
        conditions,
        limit=limit,
        threshold=threshold,
        arms=arms,
        explain=explain,
    )
    ranking = services.models.search(question)
    records = _records(services, [candidate.id for candidate in ranking.candidates])
    scopes = question.criteria.scopes
    return Hits(
        items=tuple(
            Hit(
                memory=records[candidate.id].memory,
                score=candidate.score,
                explanation=candidate.explanation,
                twins=candidate.twins,
            )
            for candidate in ranking.candidates
            # Another process may have changed or erased one since the index was read.
            if candidate.id in records and question.criteria.admit(records[candidate.id].memory)
        ),
        scopes=None if scopes is None else tuple(sorted(scopes)),
        eligible=ranking.eligible,
        more=ranking.more,
        below=ranking.below,
        pending=ranking.pending,
        note=ranking.note,
    )


def question_of(
    services: Services,
    text: str,
    conditions: Conditions,
    *,
    limit: int,
    threshold: float | None,
    arms: Iterable[str],
    explain: bool,
) -> Question:
    """Return the checked form of a question.

    Raises:
        InvalidInput: the question is empty, or a condition cannot be used.
        UnknownScope: a scope was asked for that does not exist.
    """
    return Question(
        text=_question_text(text),
        criteria=criteria_of(services, text, conditions),
        limit=check_count(limit, "limit", low=1, high=MAX_LIMIT),
        threshold=_threshold(threshold),
        arms=_arms(arms),
        explain=check_flag(explain, "explain"),
    )


def _records(services: Services, ids: Sequence[str]) -> dict[str, Record]:
    """Return the records of these ids; one that was damaged since it was indexed is left out."""
    try:
        return services.storage.get(ids, models=())
    except StoreDamaged as error:
        _log.error("%s", error)
    records: dict[str, Record] = {}
    for memory_id in ids:
        with suppress(StoreDamaged):
            records.update(services.storage.get([memory_id], models=()))
    return records


def _question_text(text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"query {text!r:.100} is empty: give words to look for")
    if len(text) > _MAX_QUESTION_CHARS:
        raise InvalidInput(
            f"query has {len(text):,} characters and the limit is {_MAX_QUESTION_CHARS:,}:"
            " shorten it"
        )
    # Half a surrogate pair matches nothing, and the tokenizer cannot read it.
    return text.encode(errors="replace").decode()


def _threshold(value: float | None) -> float:
    if value is None:
        return DEFAULT_THRESHOLD
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise InvalidInput(f"threshold {value!r:.100} cannot be used: give a number from 0 to 1")


def _arms(names: Iterable[str]) -> frozenset[Arm]:
    arms = frozenset(check_choice(name, Arm, "arm") for name in _listed(names))
    if not arms:
        raise InvalidInput(f"arms is empty: name at least one of {', '.join(Arm)}")
    return arms


def _listed(values: str | Iterable[str] | None) -> list[str]:
    if values is None or isinstance(values, str):
        return [values] if values else []
    if not isinstance(values, Iterable):
        raise InvalidInput(f"{values!r:.100} cannot be used: give a name, or a list of names")
    return list(values)
