"""The readers of transcripts by the client that writes them."""

from __future__ import annotations

from collections.abc import Mapping

from infinite_memory.features.sessions.transcripts.claude_code import read_claude_code
from infinite_memory.features.sessions.transcripts.message import ReadTranscript

READERS: Mapping[str, ReadTranscript] = {"claude-code": read_claude_code}
