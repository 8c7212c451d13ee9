"""How the content of a frame is compressed: by zstd, or by zlib where zstd is not installed."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from infinite_memory.core.errors import ConfigurationError, requiring
from infinite_memory.features.archive.container.layout import MAX_FRAME_BYTES, Codec

_ZSTD_LEVEL = 3
# A higher level takes twice the time for a few per cent: most of an archive are vectors.
_ZLIB_LEVEL = 1


def find_compressor() -> tuple[Codec, Callable[[bytes], bytes]]:
    """Return the best codec that this installation has, and what compresses by it."""
    try:
        with requiring("zstd", "to compress by zstd", "use zlib"):
            import zstandard  # noqa: PLC0415 -- an optional package
    except ConfigurationError:
        return Codec.ZLIB, lambda content: zlib.compress(content, _ZLIB_LEVEL)
    compressor = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=False)
    return Codec.ZSTD, compressor.compress


def unpack_frame(codec: Codec, stored: bytes, content_bytes: int) -> bytes | None:
    """Return the content of a frame, None if it is not of the length `content_bytes`.

    Raises:
        ConfigurationError: it is compressed by zstd, which is not installed.
    """
    if codec is Codec.RAW:
        content: bytes | None = stored
    else:
        content = (_unpack_zstd if codec is Codec.ZSTD else _unpack_zlib)(stored, content_bytes)
    return content if content is not None and len(content) == content_bytes else None


def _unpack_zlib(stored: bytes, content_bytes: int) -> bytes | None:
    decompressor = zlib.decompressobj()
    try:
        # One more, so that a content that is longer is noticed, and that the end is read.
        content = decompressor.decompress(stored, content_bytes + 1)
    except zlib.error:
        return None
    return content if decompressor.eof and not decompressor.unused_data else None


def _unpack_zstd(stored: bytes, content_bytes: int) -> bytes | None:
    with requiring("zstd", "to read this archive", "write it where it is not installed either"):
        import zstandard  # noqa: PLC0415 -- an optional package
    try:
        # The length in the header of zstd decides how much it allocates.
        if zstandard.frame_content_size(stored) != content_bytes:
            return None
        decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_FRAME_BYTES)
        return decompressor.decompress(
            stored, max_output_size=content_bytes, allow_extra_data=False
        )
    except zstandard.ZstdError:
        return None
