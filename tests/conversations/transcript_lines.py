"""Lines of a transcript of Claude Code, as its records look."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "fbfbc6c2-4a1e-484e-818d-2b081797a16e"
# Written by the client itself; long lists of its tools are shortened, and folders renamed.
FIXTURE = Path(__file__).parent / "fixtures" / "claude-code-2.1.197.jsonl"


def record(name: str, content: object, *, kind: str = "user", **fields: Any) -> bytes:
    """Return a line with a message."""
    values = {
        "type": kind,
        "uuid": name,
        "sessionId": SESSION,
        "timestamp": "2026-05-01T10:00:00.000Z",
        "message": {"role": kind, "content": content},
        **fields,
    }
    return json.dumps(values).encode() + b"\n"


def write_transcript(path: Path, *lines: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path
