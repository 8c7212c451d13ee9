"""How soon each view of the page of a large memory is there, and how much is sent.

    python -m benchmarks.page.speed [--folder FOLDER] [--memories 100000] [--rounds 5] [VIEW...]

The store is that of `benchmarks.page.years`. The server is warm, as a running one is; the browser
begins anew each time. "paint" is the first thing with a content, "there" the first memory or
answer, "whole" the last answer that the view asks for by itself, and "task" the longest time in
which the page answers no key. A list is walked down by fifty windows, and a question is typed
letter by letter. Medians, but the largest answer and the longest task of all rounds.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import define, field, frozen
from playwright.sync_api import Browser, Page, Request, sync_playwright

from benchmarks.environment import describe_environment
from benchmarks.http_load import free_port, running
from benchmarks.page.browser import launch
from benchmarks.page.years import build_years
from benchmarks.raw_server import server_command
from benchmarks.scale.corpus import DEFAULT_FOLDER
from infinite_memory import MemoryStore

_QUESTION = "when does the ferry leave"
_QUIET_MS = 700
_PATIENCE_MS = 90_000
_WATCH_TASKS = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const {duration} of list.getEntries()) window.longest = Math.max(window.longest, duration);
}).observe({type: "longtask", buffered: true});
"""

VIEWS: Mapping[str, tuple[str, str]] = {
    "Ask: the newest": ("ask", ".card"),
    "Ask: a question": (f"ask?q={_QUESTION}", ".card, .empty"),
    "Ask: a name": ("ask?q=where+does+Person+007+live", ".card"),
    "Ask: as it was": ("ask?q=where+does+Person+007+live&as_of=2026-01-20", ".card, .empty"),
    "Ask: a person": ("ask?q=car&person=Person+007", ".card, .empty"),
    "Today": ("today", ".words"),
    "Facts": ("facts", ".card"),
    "Facts of a scope": ("facts?scope=project-07", ".card, .empty"),
    "Facts of a subject": ("facts?subject=Person+007", ".card, .empty"),
    "To settle": ("settle", ".question"),
    "Activity: stored": ("activity", ".entry"),
    "Activity: shown": ("activity?show=shown", ".empty, table"),
    "Activity: sessions": ("activity?show=sessions", ".entry"),
    "Graph": ("graph", "svg.graph"),
    "Graph of a scope": ("graph?scope=topic-0007", "svg.graph, .empty"),
    "Graph of a memory": ("graph?id={id}", "svg.graph"),
    "Insights": ("insights", ".tiles"),
    "Keep: health": ("keep", ".tiles"),
    "Keep: backups": ("keep?part=backups", ".empty, .rows"),
    "Keep: upkeep": ("keep?part=upkeep", ".part"),
    "Keep: scopes": ("keep?part=scopes", ".rows"),
    "One memory": ("memory/{id}", ".whole"),
}
"""The views: the address of each, and the element that is its first answer."""


@frozen
class Opened:
    """What one opening of a view took, in milliseconds; `sent` has (path, bytes) of each answer."""

    paint: float
    there: float
    whole: float
    task: float
    sent: list[tuple[str, int]]
    refused: list[str]


@define
class Sent:
    """The largest answer of each path, and the bytes of the files of the page."""

    largest: dict[str, int] = field(factory=dict)
    files: int = 0

    def note(self, opened: Opened) -> None:
        """Count the answers of an opened view."""
        for path, size in opened.sent:
            if path.startswith("api/"):
                self.largest[path] = max(size, self.largest.get(path, 0))
        self.files = max(self.files, sum(size for path, size in opened.sent if "api/" not in path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "views", nargs="*", metavar="VIEW", help="the beginning of a name of a view"
    )
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(describe_environment())
    home = build_years(options.folder, options.memories)
    with MemoryStore.open(home, counts_usage=False) as store:
        linked = store.search("Person 007", kinds=["fact"])[0].id
    port = free_port()
    command = server_command(home, "--http", f"127.0.0.1:{port}")
    with (
        running(command, port),
        sync_playwright() as playwright,
        launch(playwright.chromium) as browser,
    ):
        url = f"http://127.0.0.1:{port}/"
        sent = Sent()
        first = open_view(browser, url, "ask?q=warm+up", ".card, .empty")
        print(f"the first question of a server that began: {first.there:.0f} ms")
        print("| view | paint | there | whole | longest task | answers | the largest |")
        print("|---|---|---|---|---|---|---|")
        for name, (address, place) in VIEWS.items():
            if not options.views or name.startswith(tuple(options.views)):
                address = address.format(id=linked)
                rounds = [open_view(browser, url, address, place) for _ in range(options.rounds)]
                print_row(name, rounds, sent)
        if not options.views:
            sent.note(open_view(browser, url, "ask", ".card", _walk))
            sent.note(open_view(browser, url, "activity", ".entry", _walk))
            sent.note(open_view(browser, url, "ask", ".card", _type))
        print(f"files of the page: at most {sent.files / 1000:.0f} KB for a view")
        for path, size in sorted(sent.largest.items(), key=lambda each: -each[1]):
            print(f"{path}: at most {size / 1000:.1f} KB")


def print_row(name: str, rounds: list[Opened], sent: Sent) -> None:
    """Print the figures of a view, and note what was sent."""
    answers = [each for opened in rounds for each in opened.sent if each[0].startswith("api/")]
    path, size = max(answers, key=lambda each: each[1])
    paint, there, whole = (
        statistics.median(getattr(opened, part) for opened in rounds)
        for part in ("paint", "there", "whole")
    )
    print(
        f"| {name} | {paint:.0f} ms | {there:.0f} ms | {whole:.0f} ms"
        f" | {max(opened.task for opened in rounds):.0f} ms | {len(answers) / len(rounds):.0f}"
        f" | {size / 1000:.1f} KB: {path.removeprefix('api/')} |",
        flush=True,
    )
    for opened in rounds:
        sent.note(opened)
    if refused := sorted({each for opened in rounds for each in opened.refused}):
        print(f"  refused: {', '.join(refused)}")


def open_view(
    browser: Browser, url: str, view: str, place: str, run: Callable[[Page], None] | None = None
) -> Opened:
    """Open a view in a new browser until it asks for nothing more, and return what that took."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_init_script(_WATCH_TASKS)
    page = context.new_page()
    finished: list[Request] = []
    asked: set[Request] = set()
    page.on("request", lambda request: asked.add(request))
    page.on("requestfailed", lambda request: asked.discard(request))
    page.on("requestfinished", lambda request: (asked.discard(request), finished.append(request)))
    page.goto(f"{url}#/{view}")
    first = ", ".join(f"main {each.strip()}" for each in place.split(","))
    page.locator(first).first.wait_for(timeout=_PATIENCE_MS)
    there = page.evaluate("performance.now()")
    whole = _wait_for_answers(page, asked)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    if run is not None:
        run(page)
    opened = Opened(
        paint=paint,
        there=there,
        whole=max(there, whole),
        task=page.evaluate("longest"),
        sent=[(_path(each), each.sizes()["responseBodySize"]) for each in finished],
        refused=[f"{_path(each)} {each.response().status}" for each in finished if _fails(each)],
    )
    context.close()
    return opened


def _wait_for_answers(page: Page, asked: set[Request]) -> float:
    """Wait until the page asks for nothing but whether something changed; return since when."""
    read = """() => performance.getEntriesByType("resource").filter(
        ({name}) => name.includes("/api/") && !name.endsWith("/position"))
        .reduce((last, {responseEnd}) => Math.max(last, responseEnd), 0)"""
    while True:
        page.wait_for_timeout(100)
        is_asking = any(not each.url.endswith("/position") for each in asked)
        last = float(page.evaluate(read))
        if not is_asking and page.evaluate("performance.now()") - last > _QUIET_MS:
            return last


def _path(request: Request) -> str:
    return request.url.split("/", 3)[3].partition("?")[0]


def _fails(request: Request) -> bool:
    response = request.response()
    return response is not None and response.status >= 400


def _walk(page: Page) -> None:
    for _ in range(50):
        page.mouse.wheel(0, 3000)
        page.wait_for_timeout(80)
    elements, cards = (page.locator(f"main {each}").count() for each in ("*", "article"))
    height = page.evaluate("document.documentElement.scrollHeight")
    print(f"after fifty windows: {height} px, {cards} entries and {elements} elements in the page")


def _type(page: Page) -> None:
    page.get_by_role("searchbox").press_sequentially(_QUESTION, delay=60)
    page.locator("main .answers-head, main .empty").first.wait_for()


if __name__ == "__main__":
    main()
