"""How soon the page of a large memory is there, and how much is sent.

    python -m benchmarks.page.speed [--folder FOLDER] [--memories 100000]

The store is that of `benchmarks.scale.corpus`. The server is warm, as a running one is; the browser
begins anew each time. "paint" is the first thing with a content, "there" the first memory or
answer. A list is walked down by fifty windows, and a question is typed letter by letter.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path

from attrs import define, field
from playwright.sync_api import Browser, Page, Request, sync_playwright

from benchmarks.environment import describe_environment
from benchmarks.http_load import free_port, running
from benchmarks.page.browser import launch
from benchmarks.raw_server import server_command
from benchmarks.scale.corpus import DEFAULT_FOLDER, build, store_folder

_ROUNDS = 7
_QUESTION = "when does the ferry leave"


@define
class Sent:
    """The bytes of the answers of a page, by their paths."""

    largest: dict[str, int] = field(factory=dict)
    static: int = 0

    def note(self, request: Request) -> None:
        """Count the body of an answer."""
        size = request.sizes()["responseBodySize"]
        path = request.url.split("/", 3)[3]
        if path.startswith("api/"):
            self.largest[path] = max(size, self.largest.get(path, 0))
        else:
            self.static += size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, default=100_000)
    options = parser.parse_args()
    print(describe_environment())
    build(options.folder, options.memories)
    home = store_folder(options.folder, options.memories)
    port = free_port()
    command = server_command(home, "--http", f"127.0.0.1:{port}")
    with (
        running(command, port),
        sync_playwright() as playwright,
        launch(playwright.chromium) as browser,
    ):
        url = f"http://127.0.0.1:{port}/"
        sent = Sent()
        measure(browser, url, "#/ask", ".card", sent)
        for view, place in {
            "#/ask": ".card",
            "#/today": "h1",
            f"#/ask?q={_QUESTION}": "h2",
        }.items():
            paints, times = zip(
                *(measure(browser, url, view, place, sent) for _ in range(_ROUNDS)), strict=True
            )
            paint, there = statistics.median(paints), statistics.median(times)
            print(f"{view}: paint {paint:.0f} ms, there {there:.0f} ms")
        measure(browser, url, "#/ask", ".card", sent, _walk)
        measure(browser, url, "#/ask", ".card", sent, _type)
        print(f"static files: {sent.static / (3 * _ROUNDS + 3) / 1000:.0f} KB")
        for path, size in sorted(sent.largest.items(), key=lambda each: -each[1]):
            print(f"{path}: at most {size / 1000:.1f} KB")


def measure(
    browser: Browser,
    url: str,
    view: str,
    place: str,
    sent: Sent,
    run: Callable[[Page], None] | None = None,
) -> tuple[float, float]:
    """Return after how many milliseconds a view has its first paint, and its first content."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    finished: list[Request] = []
    page.on("requestfinished", lambda request: finished.append(request))
    page.goto(url + view)
    page.locator(f"main {place}").first.wait_for()
    there = page.evaluate("performance.now()")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    if run is not None:
        run(page)
    for request in finished:
        sent.note(request)
    context.close()
    return paint, there


def _walk(page: Page) -> None:
    for _ in range(50):
        page.mouse.wheel(0, 3000)
        page.wait_for_timeout(80)
    elements, cards = (page.locator(f"main {each}").count() for each in ("*", ".card"))
    height = page.evaluate("document.documentElement.scrollHeight")
    print(f"after fifty windows: {height} px, {cards} memories and {elements} elements in the page")


def _type(page: Page) -> None:
    page.get_by_role("searchbox").press_sequentially(_QUESTION, delay=60)
    page.locator("main .answers-head, main .empty").first.wait_for()


if __name__ == "__main__":
    main()
