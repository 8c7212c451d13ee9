"""`store.attachments`: images, sounds and files that belong to memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Unpack

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.checks import check_label
from infinite_memory.core.values.conversation.attachment import (
    Attachment,
    AttachmentContent,
    AttachmentMatch,
)
from infinite_memory.core.values.ids import check_id
from infinite_memory.core.values.receipt import Receipt
from infinite_memory.engine.calls import count_call
from infinite_memory.features.attachments.attaching import Place, attach
from infinite_memory.features.attachments.draft import AttachmentDetails, check_attachment
from infinite_memory.features.attachments.reading import list_attachments, read_attachment
from infinite_memory.features.attachments.similarity import find_similar
from infinite_memory.store.lifetime import Group


@measure_calls("attachments.")
class Attachments(Group):
    """Images, sounds and files that belong to memories: references to them, or their bytes.

    Each is a memory of kind "attachment", whose text is its description: searches find it by its
    description and its tags, and it is exported, forgotten and erased with the memory that has it.
    """

    @count_call
    def attach(
        self,
        memory_id: str | None = None,
        *,
        uri: str,
        description: str | None = None,
        tags: Sequence[str] = (),
        embedding: Iterable[float] | None = None,
        model: str | None = None,
        conversation_id: str | None = None,
        scope: str | None = None,
        **details: Unpack[AttachmentDetails],
    ) -> Receipt:
        """Attach an image, a sound or a file to a memory, and return the receipt of its own memory.

        `uri` is a reference, such as an address or a path, which is kept as it is and never opened;
        or a data URI, whose bytes are stored once in their scope. The description may be left out
        if a title or the name of the file says enough. `details` are `type`, such as "image" or
        "audio", `media_type`, `title` and `metadata`; both types are read from the data or from the
        ending of a name if they are left out. `embedding` is yours, by the `model` of that name:
        any number of dimensions, the same for all of a model. Without a memory the attachment
        stands alone in its scope. The same call again changes nothing; with another description,
        tags or embedding it revises the attachment.

        Raises:
            InvalidInput: a value cannot be used, or the data has more than `attachments.max_bytes`.
            NotFound: there is no such memory.
            Conflict: the memory was forgotten, or others kept changing it.
        """
        fields = {
            "uri": uri,
            "description": description,
            "tags": tags,
            "embedding": embedding,
            "model": model,
            **details,
        }
        draft = check_attachment(fields, self._services.config)
        conversation = (
            None if conversation_id is None else check_label(conversation_id, "conversation_id")
        )
        place = Place(
            memory_id=None if memory_id is None else check_id(memory_id),
            scope=scope,
            conversation_id=conversation,
        )
        (receipt,) = attach(self._services, place, [draft])
        return receipt

    def list(self, memory_id: str) -> tuple[Attachment, ...]:
        """Return the attachments of a memory, in the order in which they were attached.

        Raises:
            NotFound: there is no such memory.
        """
        return list_attachments(self._services, memory_id)

    def read(self, attachment_id: str) -> AttachmentContent:
        """Return the stored bytes of an attachment, or its reference if it was given as one.

        Raises:
            NotFound: there is no such memory, or its bytes are gone.
            InvalidInput: the memory is no attachment.
        """
        return read_attachment(self._services, attachment_id)

    def find_similar(
        self,
        embedding: Iterable[float],
        *,
        model: str | None = None,
        scope: str | Iterable[str] | None = None,
        conversation_id: str | None = None,
        tags: Sequence[str] = (),
        limit: int = 10,
    ) -> tuple[AttachmentMatch, ...]:
        """Return the attachments whose embeddings by `model` are nearest, with exact cosines.

        Everything that any process attached before the call is seen. The conditions are those of a
        search.

        Raises:
            InvalidInput: a value cannot be used, no attachment has an embedding by that model, or
                theirs have another number of dimensions.
            UnknownScope: a scope does not exist.
        """
        return find_similar(
            self._services,
            embedding,
            model=model,
            limit=limit,
            conditions={"scope": scope, "conversation_id": conversation_id, "tags": tags},
        )
