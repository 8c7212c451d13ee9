"""The repositories that were seen on this machine, and the scope of each, in a file of the store.

A repository keeps the scope that it got first, wherever its folder goes: it is known by its folder
of git, and in another place by the mark of that folder or by its first commit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, frozen

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.files.atomic import write_atomically
from infinite_memory.core.files.locks import FileLock
from infinite_memory.core.files.regular import read_regular
from infinite_memory.core.values.scope import fold_name
from infinite_memory.features.sessions.git import Repository, find_first_commit, read_git_text
from infinite_memory.features.sessions.scope_names import LOCAL, fit_name, name_by_folder

_FILE, _LOCK = "repositories.json", "repositories.lock"
_LOCK_SECONDS = 0.5
_DAMAGED = (ValueError, TypeError, RecursionError)
_HOUR_SECONDS = 3600
_SHORT_COMMIT = 7


@frozen(kw_only=True)
class KnownRepository:
    """A repository that was seen: its `scope`, and its folder of git, "" once another is there.

    `mark` tells that folder from one that is made in its place, and stays in a move. `commit` is
    the first commit, "" if it is not known. While it `waits`, what earlier versions put into other
    scopes is to be moved, also from the `former` scopes, in which they would have kept it.
    """

    git: str
    scope: str
    mark: str
    commit: str = ""
    former: Sequence[str] = ()
    waits: bool = True

    @property
    def is_gone(self) -> bool:
        """Whether the repository is in its place no more."""
        try:
            return not self.git or _read_mark(Path(self.git)) != self.mark
        except FileNotFoundError:
            return True
        except OSError:  # it may not be looked at
            return False


@frozen
class _Sight:
    """A repository as it is seen now.

    `commit` is its first commit, "" before that, and None if git does not say. `named` is its name
    by a remote, None without one. `is_clone` says that it was cloned from a path.
    """

    repository: Repository
    mark: str
    commit: str | None
    named: str | None
    is_clone: bool

    def may_be(self, entry: KnownRepository) -> bool:
        """Return whether a repository of the same folder, or of the same mark, is this one."""
        return self.commit is None or not entry.commit or entry.commit == self.commit


@frozen
class KnownRepositories:
    """The repositories that the store in a folder knows; it learns none if that is read-only.

    A store without a folder knows none.
    """

    folder: Path | None

    def read(self) -> list[KnownRepository]:
        """Return those that are known, none if the file cannot be read."""
        with suppress(OSError, *_DAMAGED):
            return self._load()
        return []

    def _load(self) -> list[KnownRepository]:
        if self.folder is None:
            return []
        with suppress(FileNotFoundError):
            return list(_parse_file(read_regular(self.folder / _FILE)))
        return []

    def scope_in_place(self, repository: Repository) -> str | None:
        """Return the scope of what was seen in a folder of git, None if nothing was."""
        entry = _find_by_folder(self.read(), repository.git)
        return None if entry is None else entry.scope

    def find_scope(
        self, repository: Repository, named: str | None, *, is_clone: bool = False
    ) -> str:
        """Return the scope of a repository, which is noted if it is new or has changed.

        `named` is its name by a remote, None without one. A clone of a path where nothing is any
        more belongs to what has the same first commit.
        """
        known, git = self.read(), repository.git
        entry = _find_by_folder(known, git)
        mark = _read_mark_or(git, "" if entry is None else entry.mark)
        commit: str | None = None
        if entry is not None and entry.mark == mark:
            commit = entry.commit
            if named is None:
                commit = commit or _look_up_first_commit(git, mark)
                is_news = bool(commit) and commit != entry.commit
            else:
                is_news = fold_name(named) != fold_name(entry.scope)
            if not is_news:
                return entry.scope
        elif entry is not None or named is None:
            commit = _look_up_first_commit(git, mark)
        sight = _Sight(repository, mark, commit, named, is_clone)
        found = _find_by_folder(_add_sight(known, sight), git)
        with suppress(OSError, StorageUnavailable):
            found = _find_by_folder(self._change(lambda now: _add_sight(now, sight)), git)
        assert found is not None
        return found.scope

    def settle(self, settled: Iterable[KnownRepository]) -> None:
        """Note that nothing is left to move for some repositories.

        Raises:
            OSError, StorageUnavailable: the file cannot be written.
        """
        done = {(entry.git, entry.scope) for entry in settled}

        def change(known: Sequence[KnownRepository]) -> list[KnownRepository]:
            return [
                evolve(e, former=(), waits=False) if (e.git, e.scope) in done else e for e in known
            ]

        self._change(change)

    def _change(
        self, change: Callable[[Sequence[KnownRepository]], list[KnownRepository]]
    ) -> list[KnownRepository]:
        if self.folder is None:
            return change([])
        lock = FileLock(self.folder / _LOCK)
        if not lock.acquire(_LOCK_SECONDS):
            raise StorageUnavailable(f"{lock.path} was held for {_LOCK_SECONDS} s")
        try:
            try:
                known = self._load()
            except _DAMAGED:  # also one of a later version; what is in it is kept
                path, known = self.folder / _FILE, []
                path.replace(path.with_suffix(".damaged"))
            known = change(known)
            content = json.dumps([asdict(entry) for entry in known], indent=1)
            write_atomically(self.folder / _FILE, content.encode("utf-8", "surrogatepass"))
        finally:
            lock.release()
        return known


@lru_cache(maxsize=4)  # for a server, which is asked at every prompt
def _parse_file(content: bytes) -> tuple[KnownRepository, ...]:
    values: Any = json.loads(content)
    return tuple([KnownRepository(**each) for each in values])


def _add_sight(known: Sequence[KnownRepository], sight: _Sight) -> list[KnownRepository]:
    """Return what is known after a repository was seen, which comes last."""
    git = str(sight.repository.git)
    entry = _find_by_folder(known, sight.repository.git)
    others = [each for each in known if each is not entry]
    if entry is not None and entry.mark != sight.mark and not sight.may_be(entry):
        others.append(evolve(entry, git=""))  # another repository was here
        entry = None
    if entry is None and (entry := _find_moved(others, sight)) is not None:
        others.remove(entry)
    if entry is None:
        entry = _make_entry(others, sight)
    scope = sight.named or entry.scope
    if fold_name(scope) != fold_name(entry.scope) and entry.scope.startswith(LOCAL):
        # It has got a remote, and what was cloned from its path has that too.
        former = (*entry.former, entry.scope)
        others = [evolve(e, scope=scope) if e.scope == entry.scope else e for e in others]
        entry = evolve(entry, former=former, waits=True)
    # The name of another is not given again, but one that stands on a server stays there.
    others = [each for each in others if each.scope.startswith(LOCAL) or not each.is_gone]
    commit = sight.commit or entry.commit
    return [*others, evolve(entry, git=git, mark=sight.mark, commit=commit, scope=scope)]


def _find_moved(others: Sequence[KnownRepository], sight: _Sight) -> KnownRepository | None:
    """Return the repository that was elsewhere before, None if it is seen for the first time.

    Of two copies both are there, and only the first of them is the repository that was known. A
    copy whose own folder is gone is told from the others of its first commit by its mark.
    """
    marked = [e for e in others if e.mark == sight.mark and sight.may_be(e) and e.is_gone]
    if marked or sight.is_clone:  # which does not take the place of what it was cloned from
        return marked[-1] if marked else None
    same = [entry for entry in others if sight.commit and entry.commit == sight.commit]
    is_single = len({entry.scope for entry in same}) == 1
    return same[-1] if is_single and all(entry.is_gone for entry in same) else None


def _make_entry(others: Sequence[KnownRepository], sight: _Sight) -> KnownRepository:
    """Return a repository that is seen for the first time."""
    base = name_by_folder(sight.repository.place)
    scope, commit = sight.named, sight.commit or ""
    if scope is None and sight.is_clone and commit:
        scope = next((entry.scope for entry in others if entry.commit == commit), None)
    if scope is None:
        taken = {fold_name(entry.scope) for entry in others}
        names = _list_names(base, commit)
        scope = next(name for name in names if fold_name(name) not in taken)
    former = () if fold_name(scope) == fold_name(base) else (base,)
    return KnownRepository(
        git=str(sight.repository.git), scope=scope, mark=sight.mark, commit=commit, former=former
    )


def _list_names(base: str, commit: str) -> Iterator[str]:
    """Yield the names for a repository, of which it takes the first that no other one has."""
    yield base
    if commit:
        yield fit_name(f"{base}~{commit[:_SHORT_COMMIT]}")
    yield from (fit_name(f"{base}~{number}") for number in count(2))


def _find_by_folder(known: Iterable[KnownRepository], git: Path) -> KnownRepository | None:
    return next((entry for entry in known if entry.git == str(git)), None)


def _look_up_first_commit(git: Path, mark: str) -> str | None:
    """Return the first commit of a repository, "" if it has none yet, None if git does not say."""
    head = read_git_text(git / "HEAD").strip()
    branch = head.removeprefix("ref:").strip() if head.startswith("ref:") else "HEAD"
    with suppress(OSError, ValueError):
        if not head or not any((git / n).exists() for n in (branch, "packed-refs", "reftable")):
            return ""
    return find_first_commit(git, mark, int(time.time()) // _HOUR_SECONDS)


def _read_mark(git: Path) -> str:
    """Return the mark of a folder of git: the time of a file that only its creation writes.

    Raises:
        OSError: it is not there, or may not be looked at.
    """
    try:
        return f"{(git / 'description').stat().st_mtime_ns:x}"
    except FileNotFoundError:
        return f"folder {git.stat().st_ino}"


def _read_mark_or(git: Path, mark: str) -> str:
    with suppress(OSError):
        return _read_mark(git)
    return mark
