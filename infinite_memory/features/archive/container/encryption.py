"""Encrypts the body of an archive with a passphrase, in chunks that cannot be cut or reordered.

The construction is STREAM (Hoang, Reyhanitabar, Rogaway and Vizár, "Online Authenticated-Encryption
and its Nonce-Reuse Misuse-Resistance", CRYPTO 2015) with AES-256-GCM: the nonce of a chunk has a
random prefix, the number of the chunk, and whether the chunk is the last. The key comes from the
passphrase by scrypt (RFC 7914). Everything before the first chunk is authenticated with each chunk.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
import unicodedata
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from infinite_memory.core.errors import (
    ArchiveDamaged,
    InvalidInput,
    WrongPassphrase,
    requiring,
)
from infinite_memory.features.archive.container.reader import Source
from infinite_memory.features.archive.container.writer import Sink

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = struct.Struct("<BBBx16s7sx16s")
"""log2 of n, r and p of scrypt, salt, prefix of the nonces, check value of the key."""

_CHUNK_BYTES = 1 << 20
_TAG_BYTES = 16
_LOG_N, _R, _P = 17, 8, 1
# scrypt needs 128 n r bytes: 128 MiB at most, whatever a header says.
_ALLOWED_LOG_N = range(14, 18)
_MAX_P = 4
_MIN_CHARS = 8
_MAX_CHARS = 1024
_MAX_CHUNKS = 2**32


def check_passphrase(passphrase: object) -> str:
    """Return a passphrase for a new archive, of 8 to 1,024 characters.

    Raises:
        InvalidInput: it is shorter or longer, or no text.
    """
    if not isinstance(passphrase, str) or not _MIN_CHARS <= len(passphrase) <= _MAX_CHARS:
        raise InvalidInput(
            f"the passphrase has {len(str(passphrase)):,} characters: give {_MIN_CHARS} to"
            f" {_MAX_CHARS:,}, and keep it where the backup is not"
        )
    return passphrase


@frozen(kw_only=True)
class EncryptionHeader:
    """The parameters of an encrypted archive, which anyone may read."""

    log_n: int
    r: int = _R
    p: int = _P
    salt: bytes
    prefix: bytes
    check: bytes

    @classmethod
    def create(cls, passphrase: str, log_n: int = _LOG_N) -> tuple[EncryptionHeader, bytes]:
        """Return a new header and the key."""
        header = cls(log_n=log_n, salt=os.urandom(16), prefix=os.urandom(7), check=bytes(16))
        key, check = header._derive_keys(passphrase)
        return evolve(header, check=check), key

    @classmethod
    def of(cls, content: bytes, name: str) -> EncryptionHeader:
        """Return the header in `content`.

        Raises:
            ArchiveDamaged: it asks for more than this version would ever write.
        """
        log_n, r, p, salt, prefix, check = HEADER.unpack(content)
        if log_n not in _ALLOWED_LOG_N or r != _R or not 1 <= p <= _MAX_P:
            raise ArchiveDamaged(
                f"{name} asks for scrypt with n = 2^{log_n}, r = {r}, p = {p}, beyond what any"
                " version writes: use another backup; nothing was changed"
            )
        return cls(log_n=log_n, r=r, p=p, salt=salt, prefix=prefix, check=check)

    def to_bytes(self) -> bytes:
        """Return the header as it stands in the file."""
        return HEADER.pack(self.log_n, self.r, self.p, self.salt, self.prefix, self.check)

    def open(self, passphrase: str | None, name: str) -> bytes:
        """Return the key.

        Raises:
            WrongPassphrase: the passphrase is missing, or another.
            InvalidInput: the passphrase is no text.
        """
        if passphrase is None:
            raise WrongPassphrase(
                f"{name} is encrypted: give its passphrase with --passphrase-file, in the variable"
                " INFINITE_MEMORY_PASSPHRASE, or as `passphrase`; nothing was changed"
            )
        if not isinstance(passphrase, str):
            raise InvalidInput(f"the passphrase is a {type(passphrase).__name__}: give it as text")
        key, check = self._derive_keys(passphrase)
        if not hmac.compare_digest(check, self.check):
            raise WrongPassphrase(
                f"the passphrase is not that of {name}, or the beginning of the file is damaged:"
                " check the passphrase; nothing was changed"
            )
        return key

    def _derive_keys(self, passphrase: str) -> tuple[bytes, bytes]:
        n = 1 << self.log_n
        # The same passphrase, typed on two systems, may be composed differently.
        secret = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
        derived = hashlib.scrypt(
            secret,
            salt=self.salt,
            n=n,
            r=self.r,
            p=self.p,
            maxmem=128 * n * self.r + 128 * self.r * self.p + (1 << 20),
            dklen=48,
        )
        return derived[:32], derived[32:]


def _load_cipher(key: bytes) -> Any:
    otherwise = "leave the passphrase out; nothing was changed"
    with requiring("encryption", "to encrypt a backup, or to open one", otherwise):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415
    return AESGCM(key)


def _make_nonce(prefix: bytes, number: int, *, is_last: bool) -> bytes:
    if number >= _MAX_CHUNKS:
        raise InvalidInput("an encrypted archive has at most 4 PiB: leave the passphrase out")
    return prefix + number.to_bytes(4, "big") + bytes([is_last])


class ChunkSink:
    """Encrypts the written bytes; `close` writes the last chunk."""

    def __init__(self, sink: Sink, header: EncryptionHeader, key: bytes, preamble: bytes) -> None:
        """Write chunks to `sink`, each authenticated together with `preamble`."""
        self._sink = sink
        self._prefix = header.prefix
        self._preamble = preamble
        self._cipher = _load_cipher(key)
        self._waiting = bytearray()
        self._number = 0

    def write(self, content: bytes) -> None:
        """Encrypt `content`, as soon as there is a whole chunk and more."""
        self._waiting += content
        # A whole chunk waits as well: it may be the last.
        while len(self._waiting) > _CHUNK_BYTES:
            self._write_chunk(bytes(self._waiting[:_CHUNK_BYTES]), is_last=False)
            del self._waiting[:_CHUNK_BYTES]

    def close(self) -> None:
        """Write the last chunk."""
        self._write_chunk(bytes(self._waiting), is_last=True)
        self._waiting.clear()

    def _write_chunk(self, content: bytes, *, is_last: bool) -> None:
        nonce = _make_nonce(self._prefix, self._number, is_last=is_last)
        self._sink.write(self._cipher.encrypt(nonce, content, self._preamble))
        self._number += 1


class ChunkSource:
    """Reads the chunks of a `ChunkSink`."""

    def __init__(
        self,
        read: Callable[[int], bytes],
        header: EncryptionHeader,
        key: bytes,
        preamble: bytes,
        name: str,
    ) -> None:
        """Read the file by `read`, from the first chunk on; errors name it as `name`."""
        self._read_file = read
        self._prefix = header.prefix
        self._preamble = preamble
        self._name = name
        self._cipher = _load_cipher(key)
        self._plain = bytearray()
        self._number = 0
        self._next = read(_CHUNK_BYTES + _TAG_BYTES)
        self._is_over = False

    def read(self, size: int) -> bytes:
        """Return `size` bytes, fewer only at the end.

        Raises:
            ArchiveDamaged: a chunk was altered, moved or removed.
        """
        while len(self._plain) < size and not self._is_over:
            self._decrypt_next()
        content = bytes(self._plain[:size])
        del self._plain[:size]
        return content

    def _decrypt_next(self) -> None:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        chunk, self._next = self._next, self._read_file(_CHUNK_BYTES + _TAG_BYTES)
        self._is_over = not self._next
        nonce = _make_nonce(self._prefix, self._number, is_last=self._is_over)
        try:
            self._plain += self._cipher.decrypt(nonce, chunk, self._preamble)
        except (InvalidTag, ValueError) as error:
            raise ArchiveDamaged(
                f"{self._name} is damaged or cut short, at its encrypted part {self._number + 1}:"
                " use another backup; nothing was changed"
            ) from error
        self._number += 1


if TYPE_CHECKING:
    _: type[Source] = ChunkSource
