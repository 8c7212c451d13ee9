"""Removal of a person: export what is theirs, erase all of it, and look for what is left."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.files.regular import open_regular
from infinite_memory.core.values.access.key import AccessKey, KeyState, RemovedPerson
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.exchange import ExportFormat
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Record, to_steps
from infinite_memory.core.values.scope import ScopeTable, fold_name, names_spelled, names_within
from infinite_memory.engine.access_keys import choose_key, list_keys, revoke_key
from infinite_memory.engine.change_feed import every_change
from infinite_memory.engine.scopes import delete_scope
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.bulk_erase import erase_all, finish_erasing
from infinite_memory.engine.writes.mask_stored import rewrite_revisions
from infinite_memory.features.archive.access import backup_folder, refuse_narrow_handles
from infinite_memory.features.archive.exchange.exporting import ExportRequest, run_export
from infinite_memory.features.archive.exchange.output_file import check_path
from infinite_memory.features.archive.exchange.selection import choose_memories

_PAGE = 1000
# A page of the database may end within a text, so it is looked for in pieces. A shorter piece may
# stand anywhere by chance.
_PIECE, _LEAST = 24, 12
_MOST_PIECES = 8
_BLOCK = 8 << 20


def remove_person(services: Services, name_or_id: object, *, export_to: object) -> RemovedPerson:
    """Remove the person with a key; see `AccessKeys.remove`.

    Raises:
        AccessDenied: this handle does not manage keys, or does not show the whole store.
        NotFound: no key has the name or the id.
        InvalidInput: the key is that of no person, or the path cannot be used.
        Conflict: there is something at the path, or the scope is the parent of others.
    """
    keys = list_keys(services)
    refuse_narrow_handles(services)
    key = choose_key(services, {each.id: each for each in keys}, name_or_id)
    scope = key.own_scope
    if scope is None:
        raise InvalidInput(
            f"the key {key.name!r} is that of no person, so nothing is theirs: infinite-memory keys"
            f" revoke {key.id} ends it"
        )
    spelled = _find_spellings(services, scope)
    path = None if export_to is None else check_path(export_to)
    _refuse_other_keys(services, keys, key, scope)
    _revoke_keys(services, keys, scope, path if spelled else None)
    traces = Traces()
    erased = _erase_scope(services, spelled, traces)
    blanked = _blank_past(services, scope, traces)
    pending = finish_erasing(services, erased)
    for name in spelled:
        delete_scope(services, name)
    left_out = () if path is None else (path,)
    scan = find_leftovers(services, traces, without=(backup_folder(services).path, *left_out))
    return RemovedPerson(
        name=key.name,
        scope=scope,
        export=None if path is None or not spelled else str(path),
        erased=len(erased),
        blanked=len(blanked),
        scanned_files=scan.files,
        scanned_bytes=scan.size_bytes,
        looked_for=len(traces),
        leftovers=scan.found,
        pending=pending,
        backups=_list_backups(services, key),
    )


def _revoke_keys(
    services: Services, keys: Collection[AccessKey], scope: str, path: Path | None
) -> None:
    """Export the scope of a person to `path`, if any, and revoke the keys of its holder."""
    position = services.storage.position()
    if path is not None:
        _export(services, scope, path)
    # Only now, since an export that fails changes nothing.
    for each in keys:
        if each.own_scope and fold_name(each.own_scope) == fold_name(scope):
            revoke_key(services, each.id)
    if path is not None and services.storage.position() != position:
        # What was stored during the export would be lost.
        _export(services, scope, path, force=True)


def _refuse_other_keys(
    services: Services, keys: Collection[AccessKey], key: AccessKey, scope: str
) -> None:
    """Refuse the key of a former person, whose scope another has now, and keys that stay.

    Raises:
        Conflict: the scope is of somebody else by now, or another active key writes there.
    """
    now = services.clock()
    for each in keys:
        if each.state_at(now) is not KeyState.ACTIVE or each.id == key.id:
            continue
        own = each.own_scope
        is_own = own is not None and fold_name(own) == fold_name(scope)
        if is_own and key.revoked_at is not None and each.created_at > key.revoked_at:
            raise Conflict(
                f"the key {key.id} was revoked before {each.name!r} ({each.id}) was made, whose"
                f" scope {scope!r} is now: give that key to remove it; nothing was removed"
            )
        if not is_own and fold_name(scope) in map(fold_name, each.scopes):
            raise Conflict(
                f"the key {each.name!r} ({each.id}) has the scope {scope!r} too and would write"
                " there again: revoke it first; nothing was removed"
            )


def _find_spellings(services: Services, scope: str) -> list[str]:
    table = ScopeTable.of(services.storage.scopes())
    spelled = list(names_spelled(scope, table))
    within = [name for each in spelled for name in names_within(each, table)]
    if within:
        raise Conflict(
            f"the scope {scope!r} is the parent of {len(within)} others, and nothing was removed:"
            f" give {within[0]!r} another parent first, or delete it"
        )
    return spelled


def _export(services: Services, scope: str, path: Path, *, force: bool = False) -> None:
    selection = choose_memories(services, {"scope": scope}, private=True)
    request = ExportRequest(path=path, format=ExportFormat.JSONL, selection=selection, force=force)
    run_export(services, request)


def _erase_scope(services: Services, spelled: list[str], traces: Traces) -> list[str]:
    """Erase every memory of a scope, of any status; return the ids."""
    erased: list[str] = []
    criteria = Criteria(scopes=frozenset(spelled))
    while spelled:
        page = services.storage.find(criteria, limit=_PAGE).memories
        if not page:
            break
        for record in services.storage.get([memory.id for memory in page]).values():
            traces.add_record(record)
            for memory in services.storage.history(record.memory.id):
                traces.add(memory)
        erased += erase_all(services, page)
    return erased


def _blank_past(services: Services, scope: str, traces: Traces) -> list[str]:
    """Take the texts from the revisions that memories had in a scope before they left it."""

    def is_theirs(memory: Memory) -> bool:
        return fold_name(memory.scope) == fold_name(scope)

    def blank(memory: Memory) -> Memory:
        if not is_theirs(memory):
            return memory
        emptied = evolve(memory, text="removed", title=None, tags=(), context={}, key=None)
        return evolve(emptied, speaker=None, conversation_id=None)

    moved: list[str] = []
    for memory in _iterate_revised(services):
        past = [each for each in services.storage.history(memory.id) if is_theirs(each)]
        if any(blank(each) != each for each in past):
            moved.append(memory.id)
            for each in past:
                traces.add(each)
    for start in range(0, len(moved), _PAGE):
        part = moved[start : start + _PAGE]
        rewrite_revisions(services, part, blank, reason=f"the past of {len(part)} memories")
    return moved


def _iterate_revised(services: Services) -> Iterator[Memory]:
    for change in every_change(services.storage, 0, ()):
        if change.record is not None and change.record.memory.revision > 1:
            yield change.record.memory


def _list_backups(services: Services, key: AccessKey) -> tuple[str, ...]:
    """Return the names of the backups that were made since the person has a key."""
    backups = backup_folder(services).backups()
    return tuple(each.name for each in backups if each.created_at >= key.created_at)


@frozen
class Traces:
    """The pieces of bytes by which erased memories are recognised: of texts, titles and vectors."""

    pieces: set[bytes] = field(factory=set)

    def __len__(self) -> int:
        return len(self.pieces)

    def add(self, memory: Memory) -> None:
        """Take in a revision."""
        self.pieces.update(_cut(memory))

    def add_record(self, record: Record) -> None:
        """Take in a memory with its vectors."""
        self.add(record.memory)
        self.pieces.update(_cut_vectors(record))


@frozen(kw_only=True)
class Scan:
    """Which files hold a trace, of how many that were read."""

    files: int
    size_bytes: int
    found: tuple[str, ...]


def find_leftovers(services: Services, traces: Traces, *, without: Collection[Path]) -> Scan:
    """Read every file of the store, but those below `without`, and return which hold a trace.

    What memories that are still there have as well is no trace of those that were erased.
    """
    folders = {folder for folder in (services.data_folder, services.config.home) if folder}
    paths = {
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and not any(path.is_relative_to(each) for each in without)
    }
    by_file: dict[Path, set[bytes]] = {}
    unread: list[str] = []
    for path in sorted(paths):
        try:
            by_file[path] = set(_find_pieces(path, traces.pieces))
        except FileNotFoundError:
            continue  # another process has replaced its index
        except OSError as error:
            unread.append(f"{path}, which cannot be read ({error.strerror})")
    met = set().union(*by_file.values()) if by_file else set()
    if met:
        met -= _find_told(services, met)
    return Scan(
        files=len(by_file),
        size_bytes=sum(path.stat().st_size for path in by_file if path.exists()),
        found=(*(str(path) for path, pieces in by_file.items() if pieces & met), *unread),
    )


def _cut(memory: Memory) -> Iterator[bytes]:
    """Yield pieces of the texts of a revision, also as JSON has them."""
    for text in filter(None, (memory.text, memory.title)):
        for form in {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}:
            content = form.encode()
            step = max(_PIECE, len(content) // _MOST_PIECES)
            pieces = (content[at : at + _PIECE] for at in range(0, len(content), step))
            yield from filter(_is_telling, pieces)


def _cut_vectors(record: Record) -> Iterator[bytes]:
    for embedding in record.embeddings:
        if embedding.vectors.any():
            steps, _ = to_steps(embedding.vectors)
            for row in (*steps.astype("<i2"), *embedding.vectors.astype("<f4")):
                content = row.tobytes()
                pieces = (content[at : at + _PIECE] for at in range(0, len(content), _PIECE))
                yield from islice(filter(_is_telling, pieces), 1)


def _is_telling(piece: bytes) -> bool:
    """Return whether a piece stands nowhere by chance, as a row of zeros does."""
    return len(piece) >= _LEAST and len(set(piece)) >= _LEAST // 2


def _find_told(services: Services, pieces: Collection[bytes]) -> set[bytes]:
    """Return the pieces that are in memories that are still there, in any revision."""
    told: set[bytes] = set()
    for change in every_change(services.storage, 0, None):
        record = change.record
        if record is None:
            continue
        revised = record.memory.revision > 1
        revisions = services.storage.history(record.memory.id) if revised else [record.memory]
        forms = {
            form.encode()
            for memory in revisions
            for text in filter(None, (memory.text, memory.title))
            for form in (text, json.dumps(text), json.dumps(text, ensure_ascii=False))
        }
        told |= {piece for piece in pieces if any(piece in form for form in forms)}
        told |= set(pieces).intersection(_cut_vectors(record))
    return told


def _find_pieces(path: Path, pieces: Collection[bytes]) -> Iterator[bytes]:
    """Yield the pieces that a file holds, read in blocks."""
    # Many texts begin alike: at a start only the lengths are tried, each by one look-up.
    by_start: defaultdict[int, set[int]] = defaultdict(set)
    for piece in pieces:
        by_start[int.from_bytes(piece[:8], "little")].add(len(piece))
    first = np.zeros(1 << 16, dtype=bool)
    first[[start & 0xFFFF for start in by_start]] = True
    starts = np.array(sorted(by_start), dtype="<u8")
    tail = b""
    with open_regular(path) as file:
        while block := file.read(_BLOCK):
            data = tail + block
            yield from _match(data, pieces, by_start, first, starts)
            tail = data[-_PIECE:]


def _match(
    data: bytes,
    pieces: Collection[bytes],
    by_start: Mapping[int, Collection[int]],
    first: NDArray[np.bool_],
    starts: NDArray[np.uint64],
) -> Iterator[bytes]:
    for shift in range(min(8, max(0, len(data) - 7))):
        windows = np.frombuffer(data, "<u8", count=(len(data) - shift) // 8, offset=shift)
        likely = np.flatnonzero(first[windows & np.uint64(0xFFFF)])
        for at in likely[np.isin(windows[likely], starts)]:
            begin = shift + 8 * int(at)
            met = (data[begin : begin + length] for length in by_start[int(windows[at])])
            yield from (piece for piece in met if piece in pieces)
