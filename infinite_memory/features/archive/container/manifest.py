"""The head and the manifest of an archive as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.verification import Finding, RecordKind
from infinite_memory.features.archive.container.strict_json import (
    read_count,
    read_object,
    read_text,
    read_time,
)
from infinite_memory.features.archive.container.totals import PartTotal


@frozen(kw_only=True)
class Head(PlainData):
    """What an archive says about itself before its records.

    `identity` is the UUID of the store, `software` the version that wrote the archive,
    `active_model` the model that answered, None before the first. Without `embeddings` the texts
    are embedded after the restore. `memories` is the number of memories, for a progress bar.
    """

    created_at: datetime
    software: str
    identity: str
    active_model: str | None
    embeddings: bool
    memories: int

    def to_json(self) -> bytes:
        """Return the head as JSON in UTF-8."""
        return json.dumps(self.to_dict(), ensure_ascii=False).encode()

    @classmethod
    def of(cls, content: bytes | Mapping[str, Any]) -> Head:
        """Return the head in `content`.

        Raises:
            ValueError: it is not a head.
        """
        fields = read_object(content)
        model = fields.get("active_model")
        embeddings = fields.get("embeddings")
        if not isinstance(embeddings, bool):
            raise ValueError("embeddings is not true or false")
        return cls(
            created_at=read_time(fields, "created_at"),
            software=read_text(fields, "software"),
            identity=read_text(fields, "identity"),
            active_model=None if model is None else read_text(fields, "active_model"),
            embeddings=embeddings,
            memories=read_count(fields, "memories"),
        )


@frozen(kw_only=True)
class Manifest(PlainData):
    """What an archive holds: its head again, the totals of its parts, and what was left out.

    `counts` has the number of memories, of earlier revisions, and so on. `left_out` names records
    that could not be read when the archive was written, the first hundred of `left_out_count`.
    """

    head: Head
    parts: Mapping[str, PartTotal]
    counts: Mapping[str, int]
    left_out: tuple[Finding, ...] = ()
    left_out_count: int = 0

    def to_json(self) -> bytes:
        """Return the manifest as JSON in UTF-8."""
        return json.dumps(self.to_dict(), ensure_ascii=False).encode()

    @classmethod
    def of(cls, content: bytes) -> Manifest:
        """Return the manifest in `content`.

        Raises:
            ValueError: it is not a manifest.
        """
        fields = read_object(content)
        counts = read_object(fields.get("counts"))
        findings = fields.get("left_out")
        if not isinstance(findings, list):
            raise ValueError("left_out is not a list")
        return cls(
            head=Head.of(read_object(fields.get("head"))),
            parts={
                name: _read_total(read_object(total))
                for name, total in read_object(fields.get("parts")).items()
            },
            counts={name: read_count(counts, name) for name in counts},
            left_out_count=read_count(fields, "left_out_count"),
            left_out=tuple(_read_finding(read_object(finding)) for finding in findings),
        )


def _read_total(fields: Mapping[str, Any]) -> PartTotal:
    return PartTotal(
        records=read_count(fields, "records"),
        size_bytes=read_count(fields, "size_bytes"),
        sha256=read_text(fields, "sha256"),
    )


def _read_finding(fields: Mapping[str, Any]) -> Finding:
    subject = fields.get("id")
    return Finding(
        part=RecordKind(read_text(fields, "part")),
        id=None if subject is None else read_text(fields, "id"),
        what=read_text(fields, "what"),
        way_out=read_text(fields, "way_out"),
    )
