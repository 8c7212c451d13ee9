"""A service with the chat API of OpenAI, which the configuration names in `summaries`."""

from __future__ import annotations

import json
import selectors
import ssl
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from attrs import field, frozen

from infinite_memory.core.config import Summaries
from infinite_memory.engine.embed import Stop, never
from infinite_memory.search.text.quotation import disarm_tags_in

_MAX_ANSWER_BYTES = 1 << 20
_MAX_CONNECT_SECONDS = 10.0
_SECONDS_BETWEEN_STOPS = 0.2
_READ_BYTES = 1 << 16


class ChatError(Exception):
    """An endpoint cannot be asked; the text says which and why."""


def open_chat(settings: Summaries, stop: Stop) -> ChatEndpoint | None:
    """Return the endpoint that the configuration names, None if it names none."""
    if settings.endpoint is None or settings.model is None:
        return None
    key = settings.api_key
    return ChatEndpoint(
        endpoint=settings.endpoint,
        name=settings.model,
        api_key=None if key is None else key.get_secret_value(),
        timeout_seconds=settings.timeout_seconds,
        stop=stop,
    )


@frozen(kw_only=True)
class ChatEndpoint:
    """The model `name` behind the base URL `endpoint`.

    What it is asked goes to `/chat/completions` there and nowhere else: no redirect is followed,
    and no proxy of the environment is used. `stop` returns whether to give up waiting.
    """

    endpoint: str
    name: str
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 60.0
    stop: Callable[[], bool] = never

    def ask(self, instructions: str, data: object) -> str:
        """Return the answer to `data`, which is sent as JSON in the message of a user.

        No text ends a string of JSON, and the tags of models in it are disarmed.

        Raises:
            ChatError: the endpoint cannot be reached, does not answer in time, refuses, or answers
                with something else than a text.
        """
        content = json.dumps(disarm_tags_in(data), ensure_ascii=False)
        return self._read_answer(
            self._post_question(
                {
                    "model": self.name,
                    "messages": [
                        {"role": "system", "content": instructions},
                        {"role": "user", "content": content},
                    ],
                    "temperature": 0,
                    "stream": False,
                }
            )
        )

    def _post_question(self, question: Mapping[str, Any]) -> bytes:
        """Return the body of the answer with status 200."""
        deadline = time.monotonic() + self.timeout_seconds
        connection, path = self._make_connection()
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self.api_key is not None:
            headers["authorization"] = f"Bearer {self.api_key}"
        try:
            connection.request("POST", path, json.dumps(question).encode(), headers)
            self._wait_for_answer(connection, deadline)
            with connection.getresponse() as response:
                body = self._read_body(response, deadline)
        except (OSError, HTTPException, ValueError) as error:
            # Not the text of the error, which may quote a header with the key.
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise self._make_failure(f"did not answer ({reason})") from error
        finally:
            connection.close()
        if response.status != 200:
            raise self._make_failure(f"answered with status {response.status}")
        return body

    def _make_connection(self) -> tuple[HTTPConnection, str]:
        seconds = min(self.timeout_seconds, _MAX_CONNECT_SECONDS)
        try:
            parts = urlsplit(f"{self.endpoint}/chat/completions")
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise ChatError("summaries.endpoint is no URL of a server") from error
        if not host or parts.scheme not in ("http", "https"):
            raise ChatError("summaries.endpoint is no URL of a server over HTTP")
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        if parts.scheme == "https":
            context = ssl.create_default_context()
            return HTTPSConnection(host, port, timeout=seconds, context=context), path
        return HTTPConnection(host, port, timeout=seconds), path

    def _wait_for_answer(self, connection: HTTPConnection, deadline: float) -> None:
        """Wait until the answer begins: a model thinks for long, and the upkeep may be stopped."""
        with selectors.DefaultSelector() as selector:
            selector.register(connection.sock, selectors.EVENT_READ)
            while not selector.select(_SECONDS_BETWEEN_STOPS):
                self._check_deadline(deadline)

    def _read_body(self, response: HTTPResponse, deadline: float) -> bytes:
        body = b""
        while part := response.read1(_READ_BYTES):
            body += part
            if len(body) > _MAX_ANSWER_BYTES:
                raise self._make_failure(f"answered with more than {_MAX_ANSWER_BYTES:,} bytes")
            self._check_deadline(deadline)
        return body

    def _check_deadline(self, deadline: float) -> None:
        if self.stop():
            raise self._make_failure("was not waited for, since the upkeep is stopped")
        if time.monotonic() > deadline:
            raise self._make_failure(f"did not answer within {self.timeout_seconds:g} s")

    def _read_answer(self, body: bytes) -> str:
        try:
            content = json.loads(body)["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise self._make_failure("gave an answer that is none of the chat API") from error
        if not isinstance(content, str):
            raise self._make_failure("gave an answer without a text")
        # A lone surrogate cannot be stored.
        text = content.encode("utf-8", "replace").decode("utf-8").strip()
        if not text:
            raise self._make_failure("gave an empty answer")
        return text

    def _make_failure(self, what: str) -> ChatError:
        parts = urlsplit(self.endpoint)
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        return ChatError(f"the model {self.name!r:.100} at {place} {what}")
