"""A model on this machine that says "Noted." to every request, in the forms that real clients ask.

It speaks the Messages API (Claude Code), the Responses API (Codex) and the API of Gemini, streaming
or not, and keeps every request with its moment.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SAID = "Noted."
_numbers = itertools.count()


class ScriptedModel:
    """A running model. `contexts` are the requests of its clients for an answer, as JSON."""

    def __init__(self) -> None:
        self.contexts: list[str] = []
        contexts = self.contexts

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)) or "{}")
                answers = _answer(self.path, body)
                if body.get("tools") or body.get("contents"):  # no title for the conversation
                    contexts.append(json.dumps(body, ensure_ascii=False))
                streams = body.get("stream") or "stream" in self.path
                self.send_response(200)
                kind = "text/event-stream" if streams else "application/json"
                self.send_header("content-type", kind)
                self.end_headers()
                for event in answers if streams else answers[-1:]:
                    line = json.dumps(event)
                    name = f"event: {event['type']}\n" if "type" in event else ""
                    self.wfile.write(
                        f"{name}data: {line}\n\n".encode() if streams else line.encode()
                    )

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _answer(path: str, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events of an answer; the last one is the whole answer of one without a stream."""
    if "count" in path.lower():
        return [{"input_tokens": 10, "totalTokens": 10}]
    if "/responses" in path:
        return list(_answer_as_responses())
    if "messages" in path:
        return list(_answer_as_messages(streams=bool(body.get("stream"))))
    content = {"role": "model", "parts": [{"text": SAID}]}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return [{"candidates": [candidate], "usageMetadata": usage}]


def _make_id() -> str:
    """Return an id that no earlier answer had: clients take equal ids for one message."""
    return f"msg_{next(_numbers)}"


def _answer_as_messages(*, streams: bool) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    whole = {"id": _make_id(), "type": "message", "role": "assistant", "model": "scripted"}
    content, block = {"type": "text", "text": SAID}, {"type": "text", "text": ""}
    if not streams:
        yield {**whole, "content": [content], "stop_reason": "end_turn", "usage": usage}
        return
    yield {
        "type": "message_start",
        "message": {**whole, "content": [], "stop_reason": None, "usage": usage},
    }
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    delta = {"type": "text_delta", "text": SAID}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    yield {"type": "message_stop"}


def _answer_as_responses() -> Iterator[dict[str, Any]]:
    content = [{"type": "output_text", "text": SAID, "annotations": []}]
    item = {"id": _make_id(), "type": "message", "role": "assistant", "content": content}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    yield {"type": "response.created", "response": {"id": "r1"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {
        "type": "response.completed",
        "response": {"id": "r1", "output": [item], "usage": usage, "status": "completed"},
    }
