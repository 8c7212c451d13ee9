"""Store a chunk: check it, keep excluded files out, and link it to related memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from attrs import evolve, frozen

from infinite_memory.core.errors import Conflict, InvalidInput, NotFound
from infinite_memory.core.values.checks import (
    check_choice,
    check_field,
    check_label,
    check_labels,
    check_text,
)
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.ids import check_id
from infinite_memory.core.values.memory import Kind, shorten
from infinite_memory.core.values.receipt import Outcome, Receipt
from infinite_memory.core.values.scope import fold_name
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.remember import remember
from infinite_memory.engine.writes.validation import check_fields
from infinite_memory.features.projects.checkout import Checkout, open_checkout, relative_path
from infinite_memory.features.projects.chunk import (
    CHUNK_KINDS,
    PARTS,
    SOLVING_KINDS,
    ChunkDetails,
    Difficulty,
    WorkOutcome,
)
from infinite_memory.features.projects.conflicts import find_contradicted, name_contradicted
from infinite_memory.features.projects.exclusion import Exclusion
from infinite_memory.features.projects.loading import CONTRADICTS, find_open, load_chunks
from infinite_memory.features.projects.repositories import name_repository, prepare_repository
from infinite_memory.search.text.question_terms import find_subject

_FIELDS = tuple(get_type_hints(ChunkDetails))
_LABELS = ("branch", "commit", "component", "session")
_KEPT = ("happened_at", "supersedes", "important", "id", "origin")
_CHECKED = ("text", "title", "context", "tags", "happened_at", "important", "origin")
_MAX_SUMMARY_CHARS = 200
_HEADING_CHARS = 100
_MAX_PATH_CHARS = 1024
_MAX_MINUTES = 60 * 24 * 366
# So many chunks before a solution are looked at for the problem that it solves.
_MOST_EARLIER = 100
_RELATED = "related work"
# How the parts of a kind stand in the text of its memory, so that a search finds them.
_SHOWN = ("problem", "solution", "rationale", "alternatives", "consequences", "impact", "error")


def check_kind(kind: object) -> Kind:
    """Return the kind of a chunk.

    Raises:
        InvalidInput: a chunk cannot be of that kind.
    """
    checked = check_choice(kind, Kind, "type")
    if checked not in CHUNK_KINDS:
        names = ", ".join(sorted(CHUNK_KINDS))
        raise InvalidInput(f"type {checked.value!r} is no type of a chunk: give one of {names}")
    return checked


def check_part(services: Services, value: object, name: str) -> str:
    """Return a text without which a chunk says nothing, such as the reason of a decision.

    Raises:
        InvalidInput: it is blank, too long, or no text.
    """
    return check_text(value, name, max_bytes=services.config.limits.max_text_bytes)


def store_chunk(
    services: Services,
    content: str,
    *,
    kind: str,
    repository: str | None,
    details: Mapping[str, Any],
) -> Receipt:
    """Store a chunk; see `Projects.store_chunk`.

    Raises:
        InvalidInput: a value cannot be used.
        NotFound: a related memory does not exist.
        Conflict: the id belongs to another memory.
    """
    related = _check_existing(services, details, "related")
    details = {**details, "supersedes": tuple(_check_existing(services, details, "supersedes"))}
    # Everything is checked before the scope is created.
    name = name_repository(services, repository)
    draft = draft_of(services, content, kind=kind, scope=name, details=details)
    given = {field: getattr(draft, field) for field in _CHECKED}
    check_fields({field: value for field, value in given.items() if value is not None}, services)
    if draft.id is not None:
        check_id(draft.id)
    _check_scopes(services, draft, name)
    scope = prepare_repository(services, name)
    # Links never join two scopes.
    named = [each.id for each in load_memories(services, related).values() if each.scope == scope]
    solved = [] if related else _find_solved_problem(services, draft, scope)
    contradicted = find_contradicted(services, draft, scope)
    links = dict.fromkeys([*named, *solved], _RELATED) | dict.fromkeys(contradicted, CONTRADICTS)
    receipt = remember(services, evolve(draft, scope=scope), create_scope=True, related=links)
    if receipt.outcome is not Outcome.STORED:
        return receipt
    return name_contradicted(receipt, contradicted)


def _find_solved_problem(services: Services, draft: Draft, scope: str) -> list[str]:
    """Return the last open problem that a new solution may solve.

    It is on one of its files, or of its session and has a telling word in common.
    """
    outcome = draft.context.get("outcome")
    if draft.kind not in SOLVING_KINDS or outcome not in (None, WorkOutcome.SUCCESS):
        return []
    at = draft.happened_at
    told_at = services.clock() if at is None else services.read_time(at, "happened_at")
    newest = load_chunks(services, {scope}, most=_MOST_EARLIER)
    earlier = [chunk for chunk in newest if chunk.happened_at <= told_at]
    opened = find_open(services, earlier, earlier[-1].happened_at) if earlier else []
    files, session = set(draft.context.get("files") or ()), draft.context.get("session")
    words = find_subject(draft.text)
    return [
        problem.id
        for problem in opened
        if problem.kind is Kind.PROBLEM
        and (
            files & set(problem.files)
            or (session and problem.session == session and words & find_subject(problem.content))
        )
    ][:1]


def draft_of(
    services: Services,
    content: str,
    *,
    kind: str,
    scope: str,
    details: Mapping[str, Any],
    is_whole: bool = False,
) -> Draft:
    """Return the draft of a chunk in the scope of a repository, without excluded files.

    The text of the memory is the content with the parts that it lacks; a content that `is_whole`
    lacks none.

    Raises:
        InvalidInput: a value cannot be used.
    """
    for name in details:
        check_field(name, _FIELDS, lack="a chunk has no field")
    checked_kind = check_kind(kind)
    exclusion = Exclusion(services.config.projects.rules_of(scope).exclude)
    reader = _Reader(services, scope, exclusion, details)
    text = reader.redact(check_text(content, "content", max_bytes=reader.max_bytes))
    parts = reader.parts()
    context = {**reader.work(), **parts}
    summary = reader.label("summary", _MAX_SUMMARY_CHARS)
    if summary is None and (subject := parts.get("decision") or parts.get("problem")):
        summary = shorten(subject, _HEADING_CHARS)
    return Draft(
        text=text if is_whole else compose_text(text, parts),
        kind=checked_kind,
        title=summary,
        scope=scope,
        context={name: value for name, value in context.items() if value not in (None, [], {})},
        tags=reader.tags(),
        **{name: details[name] for name in _KEPT if details.get(name) is not None},
    )


def compose_text(content: str, parts: Mapping[str, str]) -> str:
    """Return the text of the memory: the content, then the parts that it does not hold."""
    lines = [content]
    for name in _SHOWN:
        part = parts.get(name)
        if part is not None and part not in content:
            lines.append(f"{name.capitalize()}: {part}")
    return "\n".join(lines)


@frozen
class _Reader:
    """Reads the fields of a chunk that a caller gave."""

    services: Services
    scope: str
    exclusion: Exclusion
    details: Mapping[str, Any]

    @property
    def max_bytes(self) -> int:
        return self.services.config.limits.max_text_bytes

    def redact(self, text: str) -> str:
        return self.exclusion.redact(text)

    def label(self, name: str, max_chars: int = 256) -> str | None:
        value = self.details.get(name)
        if value is None:
            return None
        # What stands for a name may be longer than the name.
        return self.redact(check_label(value, name, max_chars=max_chars))[:max_chars]

    def choice(self, name: str, kinds: type[Any]) -> str | None:
        value = self.details.get(name)
        return None if value is None else str(check_choice(value, kinds, name))

    def parts(self) -> dict[str, str]:
        parts = {}
        for name in PARTS:
            value = self.details.get(name)
            if name == "alternatives" and value is not None and not isinstance(value, str):
                value = "; ".join(check_labels(value, name, max_chars=4096)) or None
            if value is None or (isinstance(value, str) and not value.strip()):
                continue
            parts[name] = self.redact(check_text(value, name, max_bytes=self.max_bytes))
        return parts

    def work(self) -> dict[str, Any]:
        """Return the context of the work: where it was done, with which files, and how it went."""
        checkout = open_checkout(self.details.get("folder"), self.services.data_folder)
        if checkout is not None and not checkout.is_of(self.scope):
            checkout = None
        labels = {name: self.label(name) for name in _LABELS}
        files = self._read_files(checkout)
        blobs: dict[str, str] = {}
        if checkout is not None:
            commit, branch = checkout.head()
            blobs = checkout.hashes(files, labels["commit"])
            labels["commit"] = labels["commit"] or commit
            labels["branch"] = labels["branch"] or branch
        return {
            **labels,
            "files": files,
            "blobs": blobs,
            "tools": [self.redact(tool) for tool in self._read_labels("tools")],
            "outcome": self.choice("outcome", WorkOutcome),
            "difficulty": self.choice("difficulty", Difficulty),
            "minutes": self._read_minutes(),
        }

    def tags(self) -> tuple[str, ...]:
        """Return the tags, without those that name an excluded file."""
        return tuple(tag for tag in self._read_labels("tags") if not self.exclusion.names_in(tag))

    def _read_labels(self, name: str) -> tuple[str, ...]:
        return check_labels(self.details.get(name) or (), name)

    def _read_files(self, checkout: Checkout | None) -> list[str]:
        given = check_labels(self.details.get("files") or (), "files", max_chars=_MAX_PATH_CHARS)
        folder = None if checkout is None else checkout.folder
        paths = [relative_path(path, folder) for path in given]
        return self.exclusion.keep(dict.fromkeys(paths))

    def _read_minutes(self) -> float | None:
        minutes = self.details.get("minutes")
        if minutes is None:
            return None
        is_number = isinstance(minutes, int | float) and not isinstance(minutes, bool)
        if not is_number or not 0 <= minutes <= _MAX_MINUTES:
            raise InvalidInput(
                f"minutes {minutes!r:.100} cannot be used: give the minutes spent, 0 or more"
            )
        return round(float(minutes), 2)


def _check_scopes(services: Services, draft: Draft, scope: str) -> None:
    """Refuse an id of another scope before the scope of the chunk is created for nothing."""
    given = [*draft.supersedes, *filter(None, [draft.id])]
    for memory in load_memories(services, given).values():
        if fold_name(memory.scope) == fold_name(scope):
            continue
        if memory.id == draft.id:
            raise Conflict(f"id {memory.id!r} belongs to another memory: choose another id")
        raise InvalidInput(
            f"supersedes {memory.id!r} is not possible: it is not in {scope!r}: revise it with the"
            " status superseded instead; nothing was changed"
        )


def _check_existing(services: Services, details: Mapping[str, Any], name: str) -> Sequence[str]:
    """Return the ids in a field, all of memories that exist."""
    ids = [check_id(memory_id) for memory_id in check_labels(details.get(name) or (), name)]
    memories = load_memories(services, ids)
    missing = [memory_id for memory_id in ids if memory_id not in memories]
    if missing:
        raise NotFound(f"there is no memory with the id {missing[0]!r}: leave it out of {name}")
    return ids
