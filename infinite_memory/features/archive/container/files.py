"""Opens and creates the file of an archive, encrypted or not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from attrs import frozen

from infinite_memory.core.errors import (
    ArchiveDamaged,
    ArchiveError,
    ArchiveTooNew,
    ConfigurationError,
    NotEncrypted,
)
from infinite_memory.core.files.regular import open_regular
from infinite_memory.features.archive.container.codecs import unpack_frame
from infinite_memory.features.archive.container.encryption import (
    HEADER,
    ChunkSink,
    ChunkSource,
    EncryptionHeader,
)
from infinite_memory.features.archive.container.layout import (
    END,
    FORMAT_VERSION,
    FRAME,
    MAGIC,
    MAX_FRAME_BYTES,
    PREAMBLE,
    RECORD,
    SCHEMA_VERSION,
    TRAILER,
    Codec,
    Encryption,
)
from infinite_memory.features.archive.container.manifest import Manifest
from infinite_memory.features.archive.container.reader import ArchiveReader, Source
from infinite_memory.features.archive.container.writer import ArchiveWriter, Sink


@frozen(kw_only=True)
class Outline:
    """What the ends of a file say: whether it is encrypted, and its manifest if it can be read."""

    is_encrypted: bool
    manifest: Manifest | None


@contextmanager
def writing_archive(sink: Sink, passphrase: str | None) -> Iterator[ArchiveWriter]:
    """Write the preamble to `sink`, and give the writer of the rest for the length of a block.

    The block calls `ArchiveWriter.finish` at its end.
    """
    if passphrase is None:
        preamble = _pack_preamble(Encryption.NONE)
        sink.write(preamble)
        yield ArchiveWriter(sink, preamble)
        return
    header, key = EncryptionHeader.create(passphrase)
    preamble = _pack_preamble(Encryption.AES_256_GCM) + header.to_bytes()
    chunks = ChunkSink(sink, header, key, preamble)
    sink.write(preamble)
    yield ArchiveWriter(chunks, preamble)
    chunks.close()


@contextmanager
def open_archive(
    path: Path, passphrase: str | None = None, *, allow_plain: bool = False
) -> Iterator[ArchiveReader]:
    """Open an archive, and give its reader for the length of a block.

    Whoever gives a passphrase expects a file that only its holders could have written, so that
    `allow_plain` is needed for another.

    Raises:
        ArchiveError: the file is not there, is no archive, is damaged, or a newer version wrote it.
        NotEncrypted: it is not encrypted, a passphrase was given, and `allow_plain` is false.
        WrongPassphrase: it is encrypted, and the passphrase is missing or another.
        ConfigurationError: it is encrypted, and the package for that is missing.
    """
    with _open_file(path) as file:
        preamble, encryption = _read_preamble(file, path)
        is_encrypted = encryption is not Encryption.NONE
        if passphrase is not None and not (is_encrypted or allow_plain):
            raise _refuse_plain(path)
        source: Source = file
        if is_encrypted:
            header = file.read(HEADER.size)
            if len(header) < HEADER.size:
                raise ArchiveDamaged(f"{path} is cut short: use another backup")
            preamble += header
            parameters = EncryptionHeader.of(header, str(path))
            key = parameters.open(passphrase, str(path))
            source = ChunkSource(file.read, parameters, key, preamble, str(path))
        yield ArchiveReader(source, preamble, str(path), encrypted=is_encrypted)


def _refuse_plain(path: Path) -> NotEncrypted:
    return NotEncrypted(
        f"{path} is not encrypted, and a passphrase was given: anyone could have written it, with"
        " any content. Give the encrypted file, or --allow-plain (`allow_plain=True`) to go on;"
        " nothing was changed"
    )


def read_outline(path: Path) -> Outline | None:
    """Return what the ends of a file say without reading all of it, None if it is no archive."""
    try:
        with _open_file(path) as file:
            _, encryption = _read_preamble(file, path)
            if encryption is not Encryption.NONE:
                return Outline(is_encrypted=True, manifest=None)
            return Outline(is_encrypted=False, manifest=_read_manifest(file))
    # An archive in zstd, which this installation cannot read, is one all the same.
    except ConfigurationError:
        return Outline(is_encrypted=False, manifest=None)
    except (ArchiveError, ValueError, OSError):
        return None


def _read_manifest(file: BinaryIO) -> Manifest:
    """Return the manifest at the end of a file that is not encrypted; it may be damaged.

    Raises:
        ValueError: there is none.
    """
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - TRAILER.size))
    size, _, mark = TRAILER.unpack(file.read(TRAILER.size).ljust(TRAILER.size, b"\0"))
    if mark != END or not FRAME.size < size <= min(MAX_FRAME_BYTES + FRAME.size, end):
        raise ValueError("it has no end")
    file.seek(max(0, end - TRAILER.size - size))
    frame = file.read(size)
    _, codec, stored_bytes, content_bytes = FRAME.unpack_from(frame)
    if stored_bytes != size - FRAME.size or content_bytes > MAX_FRAME_BYTES:
        raise ValueError("its last frame is of another length")
    content = unpack_frame(Codec(codec), frame[FRAME.size :], content_bytes)
    if content is None:
        raise ValueError("its last frame cannot be decompressed")
    return Manifest.of(content[RECORD.size :])


def _pack_preamble(encryption: Encryption) -> bytes:
    return PREAMBLE.pack(MAGIC, FORMAT_VERSION, SCHEMA_VERSION, encryption)


def _read_preamble(file: BinaryIO, path: Path) -> tuple[bytes, Encryption]:
    preamble = file.read(PREAMBLE.size)
    if not preamble.startswith(MAGIC):
        raise ArchiveError(
            f"{path} is no archive of a store: give a file that `infinite-memory backup` wrote;"
            " nothing was changed"
        )
    if len(preamble) < PREAMBLE.size:
        raise ArchiveDamaged(f"{path} is cut short: use another backup; nothing was changed")
    _, version, schema, encryption = PREAMBLE.unpack(preamble)
    if version > FORMAT_VERSION or schema > SCHEMA_VERSION:
        raise ArchiveTooNew(
            f"{path} was written by a newer version of Infinite Memory (format {version}, records"
            f" {schema}; this version reads {FORMAT_VERSION} and {SCHEMA_VERSION}): upgrade"
            " infinite-memory; nothing was changed"
        )
    known = tuple(Encryption)
    if version < 1 or schema < 1 or encryption not in known or any(preamble[-3:]):
        raise ArchiveDamaged(f"{path} has a damaged beginning: use another backup")
    return preamble, Encryption(encryption)


@contextmanager
def _open_file(path: Path) -> Iterator[BinaryIO]:
    """Open the file of an archive, and close it after the block."""
    try:
        file = open_regular(path)
    except OSError as error:
        raise ArchiveError(
            f"{path} cannot be read: {error.strerror}: check its name and its permissions"
        ) from error
    with file:
        yield file
