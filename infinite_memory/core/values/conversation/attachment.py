"""Attachments: the images, sounds and files of memories, each with a memory that describes it.

The memory of an attachment has the kind "attachment", and its text is the description. Its context
has an object `attachment` with `type`, `media_type`, `bytes`, either `uri` or the id `content` of
the memory that holds the stored bytes, and if given `model`, `embedding` and `metadata`. A memory
with stored bytes has the object `content` with `media_type`, `bytes` and `sha256`, and the bytes
themselves as a data URI (RFC 2397) in its text; no search finds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from attrs import field, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import (
    JsonValue,
    Memory,
    describe_content,
    describe_stored,
    get_count,
    get_text,
    is_content,
)

ATTACHMENT_REASON = "attachment"
"""The reason of the link from a memory to its attachment, and from there to stored bytes."""


@frozen(kw_only=True)
class Attachment(PlainData):
    """An image, a sound or a file, with the memory that describes it.

    `id` is the id of that memory. `type` is "image", "audio" or a further word. `uri` is the
    reference as it was given, None if the bytes are stored, in the memory with the id `content_id`.
    `model` and `dimensions` describe the embedding of the caller, None without one.
    """

    id: str
    type: str
    media_type: str | None = None
    uri: str | None = None
    content_id: str | None = None
    size_bytes: int | None = None
    description: str
    title: str | None = None
    tags: tuple[str, ...] = ()
    scope: str
    conversation_id: str | None = None
    happened_at: datetime
    model: str | None = None
    dimensions: int | None = None
    metadata: Mapping[str, JsonValue] = field(factory=dict)


@frozen(kw_only=True)
class AttachmentContent(PlainData):
    """The stored bytes of an attachment in `data`, or None and the reference in `uri`."""

    id: str
    media_type: str | None = None
    data: bytes | None = field(default=None, repr=False)
    uri: str | None = None


@frozen(kw_only=True)
class AttachmentMatch(PlainData):
    """An attachment, and the cosine of its embedding and the embedding in question."""

    attachment: Attachment
    cosine: float


def attachment_of(memory: Memory) -> Attachment | None:
    """Return the attachment that a memory describes, None if it describes none."""
    values = memory.context.get("attachment")
    if not isinstance(values, Mapping):
        return None
    uri, content_id = get_text(values, "uri"), get_text(values, "content")
    if uri is None and content_id is None:
        return None
    model, metadata = get_text(values, "model"), values.get("metadata")
    numbers = values.get("embedding") if model is not None else None
    return Attachment(
        id=memory.id,
        type=get_text(values, "type") or "file",
        media_type=get_text(values, "media_type"),
        uri=uri,
        content_id=content_id,
        size_bytes=get_count(values, "bytes"),
        description=memory.text,
        title=memory.title,
        tags=memory.tags,
        scope=memory.scope,
        conversation_id=memory.conversation_id,
        happened_at=memory.happened_at,
        model=model if isinstance(numbers, list) else None,
        dimensions=len(numbers) if isinstance(numbers, list) else None,
        metadata=metadata if isinstance(metadata, Mapping) else {},
    )


def is_reference(link: Link) -> bool:
    """Return whether a link leads from a memory to its attachment, or from there to its bytes."""
    return link.type is LinkType.CONTEXT and link.reason == ATTACHMENT_REASON


def describe_attachment(memory: Memory) -> str | None:
    """Return an attachment in a line, such as "image, image/png, 34.0 KB, stored", None if none.

    For stored bytes it is "image/png, 34.0 KB, stored", without the bytes.
    """
    if is_content(memory):
        return describe_content(memory)
    attachment = attachment_of(memory)
    if attachment is None:
        return None
    kind = attachment.type
    if attachment.media_type is not None:
        kind = f"{kind}, {attachment.media_type}"
    if attachment.uri is not None:
        return f"{kind}, {attachment.uri}"
    return describe_stored(kind, attachment.size_bytes)
