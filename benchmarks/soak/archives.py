"""Restore altered archives: each is refused with a typed error, or restored as it was.

python -m benchmarks.soak.archives --mutants 10000
python -m benchmarks.soak.archives --mutants 300 --broken unchecked    (or: hungry, outside, rude)

A mutant is an archive, plain or encrypted, whose bytes were altered at random. A forgery has
altered records under right checksums, or frames that lie about their length: it is refused as well,
or the store that it becomes is sound, but for vectors that `verify` reports. Each is restored in a
worker process, which may not take a minute for one, nor use more than 300 MB, nor write outside its
folder.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import zstandard
from attrs import frozen

from benchmarks.soak.report import conclude, scratch
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.protocols import Storage
from infinite_memory.features.archive.backup import write_backup
from infinite_memory.features.archive.backup_folder import BackupFolder
from infinite_memory.features.archive.container import reader
from infinite_memory.features.archive.container.layout import RECORD, Codec
from infinite_memory.features.archive.container.manifest import Manifest
from infinite_memory.features.archive.container.reader import ArchiveReader
from infinite_memory.features.archive.restore import RestoreRequest, replace_content
from infinite_memory.features.archive.transfer.decoding import Decoder
from infinite_memory.features.archive.transfer.importing import Import
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.archive_mutants import forge, mutate
from tests.harness.everything import dump, fill

SABOTAGES = ("unchecked", "hungry", "outside", "rude")
"""Builds that must be caught: without the checksums, without limits, writing elsewhere, untyped."""

_NOW = datetime(2026, 6, 5, tzinfo=UTC)
_PASSPHRASE = "correct horse battery"
_MOST_BYTES = 300 << 20
_SECONDS = 60.0
_SQLITE_EVERY = 25
_FORGED_SHARE = 0.3
_ENCRYPTED_SHARE = 0.1


@frozen(kw_only=True)
class Outcome:
    """How many mutants were refused, by error, how many restored, and what went wrong."""

    results: Counter[str]
    most_bytes: int
    slowest_seconds: float
    faults: tuple[str, ...]


def make_archives(folder: Path) -> tuple[bytes, bytes, str]:
    """Return an archive, the same encrypted, and the digest of what they hold."""
    with closing(InMemoryStorage()) as storage:
        fill(storage, plain=60)
        digest = digest_of(storage)
        plain, encrypted = folder / "plain.imarchive", folder / "encrypted.imarchive"
        write_backup(storage, plain, now=_NOW)
        write_backup(storage, encrypted, now=_NOW, passphrase=_PASSPHRASE)
    return plain.read_bytes(), encrypted.read_bytes(), digest


def digest_of(storage: Storage) -> str:
    lines = (line.encode() for line in dump(storage))
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def make_mutant(number: int, seed: int, plain: bytes, encrypted: bytes) -> tuple[bytes, bool, bool]:
    """Return a mutant, whether it is encrypted, and whether it is a forgery."""
    random = Random(f"{seed}-{number}")
    if random.random() < _FORGED_SHARE:
        return forge(plain, random), False, True
    if random.random() < _ENCRYPTED_SHARE:
        return mutate(encrypted, random), True, False
    return mutate(plain, random), False, False


def restore(path: Path, folder: Path, *, encrypted: bool, forged: bool, in_file: bool) -> str:
    """Restore a mutant into a new store; return what became of it."""
    storage: Storage = SqliteStorage.open(folder / "store") if in_file else InMemoryStorage()
    request = RestoreRequest(
        archive=path,
        passphrase=_PASSPHRASE if encrypted else None,
        with_keys=True,
        folder=BackupFolder(folder / "backups"),
        now=_NOW,
    )
    with closing(storage):
        empty = digest_of(storage)
        try:
            replace_content(storage, request)
        except InfiniteMemoryError as error:
            changed = "" if digest_of(storage) == empty else ", and the store was changed"
            return f"refused: {type(error).__name__}{changed}"
        if not forged:
            return f"restored: {digest_of(storage)}"
        verification = storage.verify()  # type: ignore[attr-defined]
        # A storage keeps any passages and numbers, so a backup does; `verify` names them, and the
        # text is embedded again.
        kept = ("not of length 1", "ends before it begins", "lies outside the text")
        findings = [f for f in verification.findings if not f.what.endswith(kept)]
        return f"forged: {'sound' if not findings else findings[0].what}"


class _Watch:
    """Notes every path outside of a folder that this process opens for writing, or changes."""

    def __init__(self, folder: Path) -> None:
        self._inside = (str(folder), "/dev/", "/proc/self/")
        self.paths: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = (*arguments, None, None, None)[:3]
            is_written = bool(isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR))
            self._note(path if is_written or set(mode or "") & set("wax+") else None)
        elif event in ("os.remove", "os.rmdir"):
            self._note(arguments[0], arguments[1])
        elif event == "os.mkdir":
            self._note(arguments[0], arguments[2])
        elif event in ("os.rename", "os.link", "os.symlink"):
            self._note(arguments[0])
            self._note(arguments[1])

    def _note(self, path: object, descriptor: int = -1) -> None:
        if isinstance(path, str | os.PathLike):
            base = Path("/proc/self/cwd" if descriptor == -1 else f"/proc/self/fd/{descriptor}")
            name = os.path.normpath(base.readlink() / path)
            if not name.startswith(self._inside) and "__pycache__" not in name:
                self.paths.append(name)


def _sabotage(broken: str | None) -> None:
    """Break this process in a way that the soak must notice."""
    if broken == "unchecked":
        ArchiveReader._finish_reading = _finish_unchecked  # type: ignore[method-assign]
        Decoder.check_manifest = lambda *_: None  # type: ignore[method-assign]
    elif broken == "hungry":
        reader.is_ratio_allowed = lambda *_: True  # type: ignore[attr-defined]
        reader.MAX_FRAME_BYTES = 2**32  # type: ignore[attr-defined]
        reader.unpack_frame = _unpack_everything
    elif broken == "outside":
        Import.run = _run_outside  # type: ignore[method-assign]
    elif broken == "rude":
        ArchiveReader._make_damage_error = lambda *_: RuntimeError()  # type: ignore


def _finish_unchecked(self: ArchiveReader, _: int, content: bytes) -> None:
    self.manifest = Manifest.of(content[RECORD.size :])


def _unpack_everything(_: Codec, stored: bytes, __: int) -> bytes | None:
    try:
        return zstandard.ZstdDecompressor().decompress(stored, max_output_size=2**30)
    except zstandard.ZstdError:
        return None


_import = Import.run


def _run_outside(self: Import, records: Any) -> None:
    Path(tempfile.gettempdir(), f"soak-leak-{os.getpid()}").write_text("x")
    Path(tempfile.gettempdir(), f"soak-leak-{os.getpid()}").unlink()
    _import(self, records)


def _work(pipe: Connection, folder: Path, seed: int, broken: str | None) -> None:
    """Restore the mutants whose numbers come through the pipe, each in a folder of its own."""
    logging.disable(logging.WARNING)
    _sabotage(broken)
    plain, encrypted = (folder / "plain").read_bytes(), (folder / "encrypted").read_bytes()
    watch = _Watch(folder)
    sys.addaudithook(watch)
    while (number := pipe.recv()) is not None:
        place = folder / f"{os.getpid()}-{number}"
        place.mkdir()
        mutant, is_encrypted, is_forged = make_mutant(number, seed, plain, encrypted)
        path = place / "mutant.imarchive"
        path.write_bytes(mutant)
        try:
            in_file = not number % _SQLITE_EVERY
            result = restore(path, place, encrypted=is_encrypted, forged=is_forged, in_file=in_file)
        except Exception as error:  # noqa: BLE001 -- what is no typed error is what is looked for
            result = f"raised: {type(error).__name__}: {error!s:.200}"
        if watch.paths:
            result = f"wrote outside: {watch.paths.pop()}"
            watch.paths.clear()
        shutil.rmtree(place)
        pipe.send((result, _peak_bytes()))


def _peak_bytes() -> int:
    """Return the most memory that this process had resident.

    `ru_maxrss` would do elsewhere; on Linux it includes what the parent had at the fork.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


class _Worker:
    """A process that restores mutants, one after the other."""

    def __init__(self, folder: Path, seed: int, broken: str | None) -> None:
        # Not forked: the memory of this process would count.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, folder, seed, broken))
        self.process.start()
        theirs.close()

    def restore(self, number: int) -> tuple[str, int]:
        """Return what became of a mutant, and the most bytes that the process has used."""
        self._pipe.send(number)
        if not self._pipe.poll(_SECONDS):
            self.process.kill()
            return "hung", 0
        try:
            answer: tuple[str, int] = self._pipe.recv()
        except EOFError:
            return "died", 0
        return answer

    def stop(self) -> None:
        if self.process.is_alive():
            self._pipe.send(None)
        self.process.join()


def run(folder: Path, *, mutants: int, seed: int = 1, broken: str | None = None) -> Outcome:
    """Restore so many mutants, and return what became of them."""
    plain, encrypted, digest = make_archives(folder)
    (folder / "plain").write_bytes(plain)
    (folder / "encrypted").write_bytes(encrypted)
    results: Counter[str] = Counter()
    faults: list[str] = []
    most = 0
    slowest = 0.0
    worker = _Worker(folder, seed, broken)
    try:
        for number in range(mutants):
            began = time.perf_counter()
            result, used = worker.restore(number)
            slowest = max(slowest, time.perf_counter() - began)
            most = max(most, used)
            kind = "identical" if result == f"restored: {digest}" else result
            results[kind.partition(": ")[2] if kind.startswith("refused") else kind] += 1
            is_good = kind == "identical" or kind == "forged: sound"
            is_good |= kind.startswith("refused") and "changed" not in kind
            if not is_good or used > _MOST_BYTES:
                faults.append(f"mutant {number} of seed {seed}: {kind}, {used / 2**20:,.0f} MiB")
            if not worker.process.is_alive() or used > _MOST_BYTES:
                worker.process.kill()
                worker = _Worker(folder, seed, broken)
    finally:
        worker.stop()
    return Outcome(results=results, most_bytes=most, slowest_seconds=slowest, faults=tuple(faults))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broken", choices=SABOTAGES)
    parser.add_argument("--home", help="a folder on the disk to be used")
    flags = parser.parse_args()
    started = time.perf_counter()
    with scratch(flags.home, in_memory=True) as folder:
        outcome = run(folder, mutants=flags.mutants, seed=flags.seed, broken=flags.broken)
    for result, count in outcome.results.most_common():
        print(f"{count:7,} {result}")
    return conclude(
        f"{flags.mutants:,} altered archives in {time.perf_counter() - started:.0f} s: "
        f"{len(outcome.faults)} faults, at most {outcome.most_bytes / 2**20:,.0f} MiB,"
        f" {outcome.slowest_seconds:.1f} s for the slowest",
        outcome.faults,
        expected=flags.broken is not None,
    )


if __name__ == "__main__":
    raise SystemExit(main())
