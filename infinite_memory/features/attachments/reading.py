"""List the attachments of a memory, and read their stored bytes."""

from __future__ import annotations

from infinite_memory.core.errors import InvalidInput, NotFound
from infinite_memory.core.values.conversation.attachment import (
    Attachment,
    AttachmentContent,
    attachment_of,
)
from infinite_memory.core.values.memory import Memory, Status, is_content
from infinite_memory.engine.load_memories import get_memory, load_memories
from infinite_memory.engine.services import Services
from infinite_memory.features.attachments.data_uri import read_data_uri


def list_attachments(services: Services, memory_id: str) -> tuple[Attachment, ...]:
    """Return the attachments of a memory in the order in which it names them.

    Names that are none, such as the path of a file, are left out, and so are forgotten attachments.

    Raises:
        NotFound: there is no such memory.
    """
    names = get_memory(services, memory_id).attachments
    memories = load_memories(services, names) if names else {}
    listed = [
        memories[name]
        for name in names
        if name in memories and memories[name].status is not Status.FORGOTTEN
    ]
    services.note_returned(listed)
    attachments = map(attachment_of, listed)
    return tuple([attachment for attachment in attachments if attachment is not None])


def read_attachment(services: Services, attachment_id: str) -> AttachmentContent:
    """Return the stored bytes of an attachment, or its reference.

    Raises:
        NotFound: there is no such memory, or its bytes are gone.
        InvalidInput: the memory is no attachment.
    """
    memory = get_memory(services, attachment_id)
    services.note_returned([memory])
    if is_content(memory):
        return _decode_content(memory, attachment_id, None)
    attachment = attachment_of(memory)
    if attachment is None:
        raise InvalidInput(
            f"memory {attachment_id!r} is no attachment: give the id of one, as"
            " attachments.list(memory_id) returns it"
        )
    if attachment.content_id is None:
        return AttachmentContent(
            id=attachment_id, media_type=attachment.media_type, uri=attachment.uri
        )
    content = load_memories(services, [attachment.content_id]).get(attachment.content_id)
    if content is None or not is_content(content):
        raise NotFound(
            f"the bytes of attachment {attachment_id!r} are not here: they were erased, are"
            " damaged, or are in another scope; attach the file again"
        )
    return _decode_content(content, attachment_id, attachment.media_type)


def _decode_content(
    content: Memory, attachment_id: str, media_type: str | None
) -> AttachmentContent:
    uri = read_data_uri(content.text, max_bytes=len(content.text))
    return AttachmentContent(
        id=attachment_id, media_type=media_type or uri.media_type, data=uri.data
    )
