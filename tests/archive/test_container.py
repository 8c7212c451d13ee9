"""The file of an archive: what is refused, and that nothing in it can fill the memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
import zstandard

from infinite_memory import ArchiveDamaged, ArchiveError, ArchiveTooNew, WrongPassphrase
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.record import Usage
from infinite_memory.features.archive.backup import describe_file, verify_file, write_backup
from infinite_memory.features.archive.backup_folder import BackupFolder
from infinite_memory.features.archive.container.encryption import HEADER, EncryptionHeader
from infinite_memory.features.archive.container.layout import (
    END,
    FRAME,
    MAX_FRAME_BYTES,
    PREAMBLE,
    TRAILER,
    Codec,
    RecordType,
    is_ratio_allowed,
)
from infinite_memory.features.archive.restore import RestoreRequest, replace_content
from infinite_memory.features.archive.transfer.records import decode_record
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.storage_contract import put
from tests.harness.everything import fill

NOW = datetime(2026, 6, 5, tzinfo=UTC)
PASSPHRASE = "correct horse battery"
CHUNK = (1 << 20) + 16


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("archives")
    with closing(InMemoryStorage()) as storage:
        fill(storage, plain=20)
        write_backup(storage, folder / "plain", now=NOW)
        # Text that does not compress, so that there are three chunks.
        noise = os.urandom(1 << 20).hex()
        storage.commit(Commit(puts=[put("noise", text=noise), put("more", text=noise[::-1])]))
        with pytest.MonkeyPatch.context() as quicker:
            quicker.setattr(EncryptionHeader, "create", partial(EncryptionHeader.create, log_n=14))
            write_backup(storage, folder / "encrypted", now=NOW, passphrase=PASSPHRASE)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(tmp_path: Path, content: bytes, kind: type[Exception], match: str) -> None:
    path = tmp_path / "altered.imarchive"
    path.write_bytes(content)
    with pytest.raises(kind, match=match) as raised:
        verify_file(path, PASSPHRASE, allow_plain=True)
    assert "altered.imarchive" in str(raised.value)


@pytest.mark.parametrize("name", ["plain", "encrypted"])
def test_an_archive_that_is_cut_anywhere_is_refused(
    archives: dict[str, bytes], tmp_path: Path, name: str
) -> None:
    content = archives[name]
    steps = {0, 1, 15, 16, 17, len(content) // 2, len(content) - 1, len(content) - TRAILER.size}
    for length in steps | {len(content) - CHUNK}:
        if 0 <= length < len(content):
            refused(tmp_path, content[:length], ArchiveError, "altered")


@pytest.mark.parametrize("name", ["plain", "encrypted"])
def test_an_archive_with_something_after_its_end_is_refused(
    archives: dict[str, bytes], tmp_path: Path, name: str
) -> None:
    refused(tmp_path, archives[name] + b"\0", ArchiveDamaged, "bytes after its end|is damaged")
    refused(tmp_path, archives[name] * 2, ArchiveDamaged, "bytes after its end|is damaged")


def test_chunks_that_are_moved_repeated_or_left_out_are_noticed(
    archives: dict[str, bytes], tmp_path: Path
) -> None:
    content = archives["encrypted"]
    begin = PREAMBLE.size + HEADER.size
    head, body = content[:begin], content[begin:]
    chunks = [body[i : i + CHUNK] for i in range(0, len(body), CHUNK)]
    assert len(chunks) >= 3
    for altered in (
        [chunks[1], chunks[0], *chunks[2:]],
        [chunks[0], chunks[0], *chunks[1:]],
        chunks[1:],
        chunks[:-1],
        [*chunks[:-2], chunks[-1]],
        [*chunks, b""][:-2],
    ):
        refused(tmp_path, head + b"".join(altered), ArchiveDamaged, "damaged or cut short")


def test_another_passphrase_is_refused_before_anything_is_decrypted(
    archives: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "encrypted.imarchive"
    path.write_bytes(archives["encrypted"])
    with pytest.raises(WrongPassphrase, match="is not that of"):
        verify_file(path, "correct horse battery.")
    with pytest.raises(WrongPassphrase, match="--passphrase-file"):
        verify_file(path)
    assert verify_file(path, PASSPHRASE).counts is not None
    # As a person types it on another system.
    header, key = EncryptionHeader.create("Gürtel und Äpfel")
    assert header.open("Gu\u0308rtel und A\u0308pfel", "x") == key


@pytest.mark.parametrize("values", [(30, 8, 1), (13, 8, 1), (17, 255, 1), (17, 8, 200), (17, 8, 0)])
def test_a_header_cannot_ask_for_more_than_is_ever_written(
    archives: dict[str, bytes], tmp_path: Path, values: tuple[int, int, int]
) -> None:
    content = bytearray(archives["encrypted"])
    content[PREAMBLE.size : PREAMBLE.size + 3] = bytes(values)
    refused(tmp_path, bytes(content), ArchiveDamaged, "asks for scrypt")


def test_a_newer_version_is_refused_with_the_way_out(
    archives: dict[str, bytes], tmp_path: Path
) -> None:
    for place in (8, 10):
        content = bytearray(archives["plain"])
        content[place] = 9
        refused(tmp_path, bytes(content), ArchiveTooNew, "upgrade")


@pytest.mark.parametrize("content", [b"", b"IMA", b"SQLite format 3\0" * 9, b"\x89PNG\r\n\x1a\n"])
def test_other_files_are_no_archives(tmp_path: Path, content: bytes) -> None:
    refused(tmp_path, content, ArchiveError, "is no archive")
    assert describe_file(tmp_path / "altered.imarchive") is None


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "", "nothing"):
        with pytest.raises(ArchiveError, match=r"regular file|cannot be read"):
            verify_file(tmp_path / name)


def bomb(claimed: int, zeros: int) -> tuple[bytes, str]:
    stored = zstandard.ZstdCompressor().compress(bytes(zeros))
    return FRAME.pack(2, Codec.ZSTD, len(stored), claimed) + stored, "frame"


@pytest.mark.parametrize(
    "frame",
    [
        lambda: bomb(1 << 30, 1 << 26)[0],
        lambda: bomb(MAX_FRAME_BYTES, MAX_FRAME_BYTES)[0],
        lambda: bomb(2000, 1 << 26)[0],
        lambda: FRAME.pack(2, Codec.RAW, 5, 2**32 - 1) + b"xxxxx",
        lambda: FRAME.pack(2, Codec.RAW, 0, 0),
        lambda: FRAME.pack(99, Codec.RAW, 5, 5) + b"xxxxx",
        lambda: FRAME.pack(2, 7, 5, 5) + b"xxxxx",
        lambda: FRAME.pack(2, Codec.RAW, 9, 9) + b"R" + (2**32 - 1).to_bytes(4, "little") + b"xxxx",
    ],
)
def test_a_frame_that_lies_about_its_length_is_refused_unread(
    archives: dict[str, bytes], tmp_path: Path, frame: Callable[[], bytes]
) -> None:
    refused(tmp_path, archives["plain"][: PREAMBLE.size] + frame(), ArchiveDamaged, "frame|record")


def test_text_that_compresses_too_well_is_stored_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "one.imarchive"
    with closing(InMemoryStorage()) as storage:
        storage.commit(Commit(puts=[put("long", text="x" * 3_000_000)]))
        backup, _ = write_backup(storage, path, now=NOW)
    assert backup.size_bytes > 2 * MAX_FRAME_BYTES
    assert verify_file(path) == backup
    assert is_ratio_allowed(1000, 64_000)
    assert not is_ratio_allowed(1000, 65_000)


def test_a_checksum_covers_every_byte(archives: dict[str, bytes], tmp_path: Path) -> None:
    content = archives["plain"]
    manifest, digest, end = TRAILER.unpack(content[-TRAILER.size :])
    assert end == END
    assert hashlib.sha256(content[: -TRAILER.size]).digest() == digest
    assert manifest < 4096
    for place in range(0, len(content), 97):
        altered = bytearray(content)
        altered[place] ^= 1
        refused(tmp_path, bytes(altered), ArchiveError, "altered")


@pytest.mark.parametrize(
    "line",
    [
        b'{"id": "' + b"x" * (9 << 20) + b'"}',
        b'{"context": {"a": [' + b"[[]]," * 700_000 + b"0]}}",
    ],
)
def test_json_that_would_take_much_memory_is_refused_unparsed(line: bytes) -> None:
    with pytest.raises(ValueError, match="more than any that is written"):
        decode_record(RecordType.REVISION, line + b"\ntext")


def test_an_archive_of_version_1_of_the_records_keeps_its_recalls(tmp_path: Path) -> None:
    """The program of schema 2 wrote the file, before there were activations."""
    path = Path(__file__).parent / "records_1.imarchive"
    request = RestoreRequest(archive=path, folder=BackupFolder(tmp_path), now=NOW)
    with closing(InMemoryStorage()) as storage:
        assert replace_content(storage, request).whole
        at = datetime(2026, 6, 5, 9, tzinfo=UTC)
        expected = {"deadline": Usage(count=3, last=at), "job": Usage(count=1, last=at)}
        assert storage.usage(["deadline", "job"]) == expected


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ('"count":0', "neither a recall nor an activation"),
        ('"count":2', "no moment: give last"),
        ('"count":0,"activation":5.5', "no moment: give activated_at"),
        ('"count":0,"activation":-1.0,"activated_at":"2026-06-05T00:00:00Z"', "from 0 on"),
        ('"count":0,"activation":1e999,"activated_at":"2026-06-05T00:00:00Z"', "from 0 on"),
        ('"count":0,"activation":NaN,"activated_at":"2026-06-05T00:00:00Z"', "number NaN"),
        ('"count":0,"activation":"5","activated_at":"2026-06-05T00:00:00Z"', "decimal point"),
        ('"count":0,"activation":5.5,"activated_at":"2026-06-05T00:00:00"', "not in UTC"),
        ('"count":0,"last":null', "last is no text"),
    ],
)
def test_a_usage_that_no_store_can_keep_is_refused(fields: str, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        decode_record(RecordType.USAGE, f'{{"id":"a",{fields}}}'.encode())
