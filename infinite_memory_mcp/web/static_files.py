"""The files of the page, as a browser gets them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import anyio.to_thread
from starlette.types import Scope, Send

from infinite_memory_mcp.http.bodies import header
from infinite_memory_mcp.http.responses import Refusal, send_content

_FOLDER = Path(__file__).parent / "static"
# No part begins with a dot, so that no name leaves the folder.
_NAME = re.compile(r"(?:[\w-]+/)*[\w-]+(\.[a-z]+)", re.ASCII)
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; font-src 'none'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS: Mapping[str, str] = {
    "cache-control": "no-cache",
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
}
"""What every file is sent with: nothing of another origin may be loaded, and nothing frames it."""


async def send_file(scope: Scope, send: Send, name: str) -> None:
    """Send a file of the folder `static`, or that the browser has it already.

    Raises:
        Refusal: there is no such file (404).
    """
    match = _NAME.fullmatch(name)
    content_type = None if match is None else _TYPES.get(match[1])
    path = _FOLDER / name
    if content_type is None or not path.is_file():
        raise Refusal(404, f"the page has no file {name!r:.100}")
    content = await anyio.to_thread.run_sync(path.read_bytes)
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    is_known = tag in (header(scope, b"if-none-match") or "")
    await send_content(
        send,
        304 if is_known else 200,
        b"" if is_known else content,
        content_type,
        {**HEADERS, "etag": tag},
    )
