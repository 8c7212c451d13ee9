"""A local server with the chat API of OpenAI, which gives the answers of a test."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler], None]


def reply_with(status: int, body: bytes, **headers: str) -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def answer(text: object) -> Reply:
    body = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]})
    return reply_with(200, body.encode())


class ChatServer:
    """A local server that gives the answer of a test, and keeps what it was asked."""

    def __init__(self) -> None:
        self.reply: Reply = answer("a summary")
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.ending = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.asked.append((self.path, headers, json.loads(body)))
                outer.reply(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False  # a closed server has no thread left
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self.ending.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
