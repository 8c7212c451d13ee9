"""The attachments of a new or stored memory as a caller gives them, checked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any, TypedDict
from urllib.parse import unquote, urlsplit

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.core.config import Config
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import (
    check_context,
    check_field,
    check_label,
    check_labels,
    check_text,
)
from infinite_memory.core.values.memory import JsonValue
from infinite_memory.features.attachments.data_uri import (
    DataUri,
    check_media_type,
    is_data_uri,
    read_base64,
    read_data_uri,
)

DEFAULT_MODEL = "default"
"""The name of the model of an embedding that is given without one."""

_MAX_ATTACHMENTS = 256
_MAX_URI_CHARS = 2048
_MAX_TYPE_CHARS = 64
_FILE = "file"
# Kinds of numpy: truth values, texts, bytes, dates and lengths of time, complex numbers.
_NOT_NUMBERS = frozenset("bUSmMcV")
_UNKNOWN_MEDIA_TYPE = "application/octet-stream"
# The first name is that of the field; the rest are names under which others give it.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "type": ("type", "modality"),
    "uri": ("uri", "url", "path", "href"),
    "data": ("data", "base64"),
    "description": ("description", "alt", "caption", "transcript", "text"),
    "title": ("title", "name", "filename"),
    "tags": ("tags", "keywords"),
    "media_type": ("media_type", "mimeType", "mime_type", "mime"),
    "embedding": ("embedding", "vector"),
    "model": ("model", "embedding_model"),
    "metadata": ("metadata",),
    "features": ("features",),
}
_KNOWN = {known: name for name, names in _NAMES.items() for known in names}
# The tables of the standard library differ between machines and versions of Python.
_ENDINGS = {
    **{f".{name}": f"image/{name}" for name in ("png", "jpeg", "gif", "webp", "bmp", "avif")},
    **{f".{name}": f"audio/{name}" for name in ("ogg", "opus", "flac", "aac")},
    **{f".{name}": f"video/{name}" for name in ("mp4", "webm", "mpeg")},
    **{".jpg": "image/jpeg", ".svg": "image/svg+xml", ".tif": "image/tiff", ".tiff": "image/tiff"},
    **{".heic": "image/heic", ".mp3": "audio/mpeg", ".wav": "audio/wav", ".m4a": "audio/mp4"},
    **{".mov": "video/quicktime", ".pdf": "application/pdf"},
}


class AttachmentDetails(TypedDict, total=False):
    """The fields of an attachment that `attach` takes by keyword, besides those it names."""

    type: str | None
    media_type: str | None
    title: str | None
    metadata: Mapping[str, Any] | None


@frozen(kw_only=True)
class AttachmentDraft:
    """A checked attachment: its reference in `uri`, or its bytes in `data`.

    `description` is None if nothing was said about it and its reference stands for it. `embedding`
    has the numbers of the caller, rounded to float32.
    """

    type: str
    media_type: str | None
    uri: str | None
    data: DataUri | None
    description: str | None
    title: str | None
    tags: tuple[str, ...]
    embedding: tuple[float, ...] | None
    model: str | None
    metadata: Mapping[str, JsonValue]

    @property
    def text(self) -> str:
        """The description, or else the title, or else the name of the file."""
        return self.description or self.title or _find_name(self.uri or "") or str(self.uri)


def check_attachments(
    values: object, config: Config, name: str = "attachments"
) -> tuple[AttachmentDraft, ...]:
    """Return the attachments of a memory, checked; None stands for none.

    Raises:
        InvalidInput: one cannot be used; the message has its position, counted from 1.
    """
    if values is None:
        return ()
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} is a list of objects with a uri each, not {values!r:.100}")
    listed = list(values)
    if len(listed) > _MAX_ATTACHMENTS:
        raise InvalidInput(f"{name} has {len(listed):,} entries, the limit is {_MAX_ATTACHMENTS}")
    drafts = []
    for position, value in enumerate(listed, 1):
        try:
            is_checked = isinstance(value, AttachmentDraft)
            drafts.append(value if is_checked else check_attachment(value, config))
        except InvalidInput as error:
            raise InvalidInput(f"entry {position} of {len(listed)} in {name}: {error}") from error
    return tuple(drafts)


def check_attachment(values: object, config: Config) -> AttachmentDraft:
    """Return an attachment, checked.

    It has `uri`, a reference or a data URI, or else `data`, base64 or a data URI; and if known
    `type`, `media_type`, `description`, `title`, `tags`, `embedding` with its `model`, and
    `metadata`. Names that are common elsewhere, such as `url`, `alt` and `transcript`, are
    understood, and so are an embedding and keywords in `features`.

    Raises:
        InvalidInput: it cannot be used.
    """
    fields = _read_fields(values)
    data, uri = _check_data(fields, config), _check_uri(fields)
    if (data is None) == (uri is None):
        lack = "both a uri and data" if data is not None else "neither a uri nor data"
        raise InvalidInput(f"an attachment with {lack}: give either a reference, or the bytes")
    media_type = data.media_type if data is not None else _find_media_type(fields, uri or "")
    description, title = _check_words(fields, config)
    if data is not None and description is None and title is None:
        raise InvalidInput(
            "an attachment with data needs a description: say what it shows, so that a search"
            " finds it"
        )
    embedding = fields.get("embedding")
    vector = None if embedding is None else check_embedding(embedding)
    return AttachmentDraft(
        type=_check_type(fields.get("type"), media_type),
        media_type=media_type,
        uri=uri,
        data=data,
        description=description,
        title=title,
        tags=check_labels(fields.get("tags") or (), "tags", max_chars=128),
        embedding=None if vector is None else _shorten_vector(vector, config),
        model=None if vector is None else check_model(fields.get("model")),
        metadata=_check_metadata(fields.get("metadata") or {}, config),
    )


def check_embedding(value: object) -> NDArray[np.float32]:
    """Return the numbers of an embedding as float32, shape (dimensions,).

    Raises:
        InvalidInput: it is no list of finite numbers, is empty, or has no direction.
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInput(f"embedding is a list of numbers, not {value!r:.100}")
    numbers: Any = value if isinstance(value, np.ndarray) else list(value)
    try:
        given = np.asarray(numbers)
        vector = given.astype(np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInput(f"embedding {numbers!r:.60} is no list of numbers") from error
    if given.dtype.kind in _NOT_NUMBERS:
        raise InvalidInput(f"embedding {numbers!r:.60} holds texts or truth values: give numbers")
    if vector.ndim != 1 or not len(vector):
        raise InvalidInput(
            f"embedding has the shape {vector.shape}: give one list of numbers, and at least one"
        )
    with np.errstate(over="ignore"):
        rounded = vector.astype(np.float32)
    if not np.isfinite(rounded).all():
        position = int(np.flatnonzero(~np.isfinite(rounded))[0])
        raise InvalidInput(
            f"embedding has {vector[position]} at position {position}, which is not finite as a"
            " float32: give what the model returned"
        )
    if not rounded.any():
        raise InvalidInput("embedding has only zeros, and so no direction: leave it out")
    return rounded


def check_model(value: object) -> str:
    """Return the name of the model of an embedding, `DEFAULT_MODEL` for None."""
    return DEFAULT_MODEL if value is None else check_label(value, "model")


def _read_fields(values: object) -> dict[str, Any]:
    """Return the given fields by our names, without None and empty texts."""
    if not isinstance(values, Mapping):
        raise InvalidInput(f"an attachment is an object with a uri, not {values!r:.100}")
    fields: dict[str, Any] = {}
    for name in values:
        check_field(name, _KNOWN, lack="an attachment has no field")
    for name, aliases in _NAMES.items():
        for alias in aliases:
            value = values.get(alias)
            # A comparison with an array would give an array.
            if value is not None and not (isinstance(value, str) and not value):
                fields.setdefault(name, value)
    features = fields.pop("features", {})
    if not isinstance(features, Mapping):
        raise InvalidInput(f"features is an object, not {features!r:.100}")
    nested = {
        "embedding": features.get("embedding"),
        "tags": features.get("tags") or features.get("keywords"),
    }
    return {**{name: value for name, value in nested.items() if value is not None}, **fields}


def _check_data(fields: Mapping[str, Any], config: Config) -> DataUri | None:
    given = fields.get("data")
    if given is None and isinstance(fields.get("uri"), str) and is_data_uri(fields["uri"]):
        given = fields["uri"]
    elif given is None:
        return None
    most = config.attachments.max_bytes
    media_type = fields.get("media_type")
    stated = None if media_type is None else check_media_type(media_type)
    if isinstance(given, bytes | bytearray):
        raise InvalidInput("data is bytes: give it as base64, or as a data URI")
    if not isinstance(given, str):
        raise InvalidInput(f"data is a text in base64, not {given!r:.100}")
    if is_data_uri(given):
        return read_data_uri(given, max_bytes=most, media_type=stated)
    return read_base64(given, max_bytes=most, media_type=stated or _UNKNOWN_MEDIA_TYPE)


def _check_uri(fields: Mapping[str, Any]) -> str | None:
    uri = fields.get("uri")
    if uri is None or (isinstance(uri, str) and is_data_uri(uri)):
        return None
    return check_label(uri, "uri", max_chars=_MAX_URI_CHARS)


def _find_media_type(fields: Mapping[str, Any], uri: str) -> str | None:
    if fields.get("media_type") is not None:
        return check_media_type(fields["media_type"])
    return _ENDINGS.get(PurePosixPath(_find_name(uri)).suffix.lower())


def _check_words(fields: Mapping[str, Any], config: Config) -> tuple[str | None, str | None]:
    description, title = fields.get("description"), fields.get("title")
    return (
        None
        if description is None
        else check_text(description, "description", max_bytes=config.limits.max_text_bytes),
        None if title is None else check_label(title, "title", max_chars=500),
    )


def _check_metadata(value: object, config: Config) -> Mapping[str, JsonValue]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata is an object with names and values, not {value!r:.100}")
    return check_context(value, max_bytes=config.limits.max_context_bytes)


def _check_type(value: object, media_type: str | None) -> str:
    """Return the type in lower case, by default the first part of the media type."""
    if value is None:
        major = (media_type or _FILE).partition("/")[0]
        return _FILE if major in ("application", "text") else major
    return check_label(value, "type", max_chars=_MAX_TYPE_CHARS).lower()


def _shorten_vector(vector: NDArray[np.float32], config: Config) -> tuple[float, ...]:
    """Return the numbers with the fewest digits that give the same float32 again."""
    numbers = tuple([float(str(number)) for number in vector])
    size = len(json.dumps(numbers))
    most = config.limits.max_context_bytes
    if size > most:
        raise InvalidInput(
            f"embedding has {len(numbers):,} numbers, which take {size:,} bytes, and the limit of a"
            f" context is {most:,}: give a smaller one, or raise limits.max_context_bytes in the"
            " configuration"
        )
    return numbers


def _find_name(uri: str) -> str:
    """Return the last part of the path in a reference, "" if it has none."""
    try:
        path = urlsplit(uri).path
    except ValueError:
        path = uri
    return PurePosixPath(unquote(path.replace("\\", "/"))).name.strip()
