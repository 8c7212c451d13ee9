"""Data URIs (RFC 2397): read them, check them, and write them in their canonical form."""

from __future__ import annotations

import base64
import binascii
import re
from urllib.parse import unquote_to_bytes

from attrs import field, frozen

from infinite_memory.core.errors import InvalidInput

_SCHEME = re.compile(r"\s*data:", re.IGNORECASE)
_BASE64 = re.compile(r";\s*base64\s*$", re.IGNORECASE)
# The names of RFC 6838, section 4.2.
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
_DEFAULT_MEDIA_TYPE = "text/plain"
_URL_SAFE = str.maketrans("-_", "+/")
# How files of these types begin; the signature of WebP follows the length of the file.
_SIGNATURES = (
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF87a"),
    ("image/gif", b"GIF89a"),
    ("application/pdf", b"%PDF-"),
)
_CHECKED_TYPES = frozenset(media_type for media_type, _ in _SIGNATURES) | {"image/webp"}


@frozen(kw_only=True)
class DataUri:
    """The media type and the bytes of a data URI."""

    media_type: str
    data: bytes = field(repr=False)

    def __str__(self) -> str:
        """Return the canonical form: base64 with padding, without parameters."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"


def is_data_uri(text: str) -> bool:
    """Return whether a text begins like a data URI."""
    return _SCHEME.match(text) is not None


def read_data_uri(text: str, *, max_bytes: int, media_type: str | None = None) -> DataUri:
    """Return the content of a data URI; `media_type` replaces a media type that it lacks.

    The parameters of the media type, such as the character set, are left out.

    Raises:
        InvalidInput: it is no data URI, is empty, holds more than `max_bytes`, or is of another
            type than it says.
    """
    head, comma, body = text[_find_end_of_scheme(text) :].partition(",")
    if not comma:
        raise InvalidInput(
            f"the data URI {text!r:.60} has no comma: give data:MEDIA/TYPE;base64,BYTES"
        )
    is_base64 = _BASE64.search(head)
    declared = (head[: is_base64.start()] if is_base64 else head).split(";", 1)[0].strip()
    stated = check_media_type(declared) if declared else media_type or _DEFAULT_MEDIA_TYPE
    if is_base64:
        return read_base64(body, max_bytes=max_bytes, media_type=stated)
    _check_length(len(body) // 3, max_bytes)
    return _check_content(unquote_to_bytes(body), stated, max_bytes)


def read_base64(text: str, *, max_bytes: int, media_type: str) -> DataUri:
    """Return the content of base64, which may lack its padding and have the letters of URLs.

    Raises:
        InvalidInput: it is no base64, is empty, holds more than `max_bytes`, or is of another type
            than `media_type`.
    """
    _check_length(len(text) * 3 // 4 - 2, max_bytes)
    joined = "".join(text.split())
    if "%" in joined:
        joined = unquote_to_bytes(joined).decode("ascii", errors="replace")
    digits = joined.rstrip("=").translate(_URL_SAFE)
    try:
        data = base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput(
            f"the data {text!r:.60} is no base64 ({error}): encode the bytes of the file as base64,"
            " or give a reference to it"
        ) from error
    return _check_content(data, check_media_type(media_type), max_bytes)


def check_media_type(value: object) -> str:
    """Return a media type in lower case, without parameters.

    Raises:
        InvalidInput: it is none.
    """
    name = value.split(";", 1)[0].strip().lower() if isinstance(value, str) else ""
    if not _MEDIA_TYPE.fullmatch(name):
        raise InvalidInput(
            f"media_type {value!r:.100} is none: give one such as image/png or audio/mpeg"
        )
    return name


def _find_end_of_scheme(text: str) -> int:
    match = _SCHEME.match(text)
    if match is None:
        raise InvalidInput(f"{text!r:.60} is no data URI: it begins with data:")
    return match.end()


def _check_content(data: bytes, media_type: str, max_bytes: int) -> DataUri:
    if not data:
        raise InvalidInput("the data is empty: give the bytes of the file, or a reference to it")
    _check_length(len(data), max_bytes)
    actual = _recognise_media_type(data)
    if actual is not None and media_type in _CHECKED_TYPES and actual != media_type:
        raise InvalidInput(
            f"the data is said to be {media_type} and begins like {actual}: give {actual}"
        )
    return DataUri(media_type=media_type, data=data)


def _check_length(size_bytes: int, max_bytes: int) -> None:
    if size_bytes > max_bytes:
        raise InvalidInput(
            f"the data has at least {size_bytes:,} bytes and the limit is {max_bytes:,}: give a"
            " reference instead, such as file:///home/ann/photo.png or an https address, or raise"
            " attachments.max_bytes and limits.max_text_bytes in the configuration"
        )


def _recognise_media_type(data: bytes) -> str | None:
    """Return the media type that the first bytes tell, None if they tell none."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((name for name, signature in _SIGNATURES if data.startswith(signature)), None)
