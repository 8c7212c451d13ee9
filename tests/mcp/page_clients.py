"""Browsers that use the page of an application in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import httpx2

from infinite_memory import MemoryStore
from infinite_memory_mcp.http.address import HttpAddress, HttpOptions
from infinite_memory_mcp.http.application import HttpApplication
from infinite_memory_mcp.http.serving import build_application
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.settings import ALL_TOOLSETS
from infinite_memory_mcp.web.sign_in import SignIns

HOST = "127.0.0.1:8765"


class Browser:
    """A browser with its own session; a key is shown with every request."""

    def __init__(self, app: HttpApplication, key: str | None = None) -> None:
        headers = {} if key is None else {"x-memory-key": key}
        self.client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app), base_url=f"http://{HOST}", headers=headers
        )

    async def post(
        self, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        """Send a request as the page does."""
        sent = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin", **(headers or {})}
        return await self.client.post(path, json=body or {}, headers=sent)

    async def sign_in(self, **how: str) -> httpx2.Response:
        """Sign in by a code or a key, and send the session with what follows."""
        answer = await self.post("/sign-in", how)
        if answer.status_code == 200:
            self.client.headers["x-memory-session"] = answer.json()["value"]
        return answer

    async def ask(self, method: str, **arguments: Any) -> httpx2.Response:
        """Call a method, and return the answer whatever it is."""
        return await self.post(f"/api/{method}", arguments)

    async def call(self, method: str, **arguments: Any) -> Any:
        """Call a method, and return its value."""
        answer = await self.ask(method, **arguments)
        assert answer.status_code == 200, answer.text
        return answer.json()["value"]

    async def fail(self, method: str, **arguments: Any) -> tuple[int, str]:
        """Call a method that is refused, and return the status and the sentence."""
        answer = await self.ask(method, **arguments)
        assert answer.json().keys() == {"error"}, answer.text
        return answer.status_code, answer.json()["error"]["message"]


class PageServer:
    """An application that serves the page of `store`."""

    def __init__(self, store: MemoryStore, app: HttpApplication, sign_ins: SignIns) -> None:
        self.store, self.app, self.sign_ins = store, app, sign_ins

    async def sign_in(self) -> Browser:
        """Return the browser of the owner."""
        browser = Browser(self.app)
        answer = await browser.sign_in(code=self.sign_ins.make_code())
        assert answer.status_code == 200, answer.text
        return browser

    def show(self, *rights: str, scopes: Any = "*") -> Browser:
        """Return a browser that shows a new key."""
        name = "-".join((*rights, *scopes))
        return Browser(self.app, self.store.keys.create(name, rights=rights, scopes=scopes).secret)

    @classmethod
    @asynccontextmanager
    async def of(cls, store: MemoryStore, **options: Any) -> AsyncIterator[Self]:
        """Serve a store for the duration of the block."""
        sign_ins = SignIns()
        address = HttpAddress.parse(HOST)
        with LazyStore(lambda: store, quiet_seconds=600) as memory:
            settings = HttpOptions(**{"address": address, "toolsets": ALL_TOOLSETS, **options})
            app = build_application(memory, settings, sign_ins)
            async with app.running():
                yield cls(store, app, sign_ins)
