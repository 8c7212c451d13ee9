"""Check a built site in Chromium: its search, its widths, and that it loads nothing from elsewhere.

python tests/check_site.py build/site
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.page.browser import launch

# What a person looks for: a word of a guide, one of a generated page, and one in Chinese.
KNOWN = {
    "reminders": "docs/guides/long-term-memory.html",
    "quiet_hour": "docs/reference/configuration.html",
    "提醒": "docs/guides/long-term-memory.zh.html",
}
WIDTHS = (360, 900, 1600)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing of a request."""


@contextmanager
def serve(site: Path) -> Iterator[str]:
    """Serve a folder on this machine, and give the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _finds(page: Page, site: str, word: str, wanted: str) -> bool:
    page.goto(f"{site}/search.html?q={word}")
    page.wait_for_selector("#search-results .search-summary:has-text('finished')")
    return page.locator(f"#search-results a[href^='{wanted}']").count() > 0


def list_problems(site: Path, page: Page) -> list[str]:
    """Return what is wrong with the site in a folder, seen through a page of a browser."""
    problems: list[str] = []
    # From files it has no excerpts, since a browser lets no file read another one.
    for word, wanted in KNOWN.items():
        if not _finds(page, site.as_uri(), word, wanted):
            problems.append(f"the search does not find {word!r} in {wanted} from files")
    page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
    with serve(site) as address:

        def note_request(loaded: str) -> None:
            if not loaded.startswith((address, "file:", "data:")):
                problems.append(f"a page loads {loaded}")

        page.on("request", lambda request: note_request(request.url))
        for word, wanted in KNOWN.items():
            if not _finds(page, address, word, wanted):
                problems.append(f"the search does not find {word!r} in {wanted}")
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri())
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            needed = page.evaluate("document.documentElement.scrollWidth")
            if needed > width:
                problems.append(f"{path.relative_to(site)} is {needed} pixels wide at {width}")
    return problems


if __name__ == "__main__":
    with sync_playwright() as playwright, launch(playwright.chromium) as browser:
        problems = list_problems(Path(sys.argv[1]).resolve(), browser.new_page())
    sys.exit("\n".join(problems) or None)
