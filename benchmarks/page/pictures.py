"""Make pictures of every view of the page, from a store with an invented month.

    python -m benchmarks.page.pictures OUT [--only VIEW]... [--home DIR]

Each view is drawn at the width of a screen and of a phone, in the light and in the dark. `--home`
draws another memory.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.http_load import free_port, running
from benchmarks.page.browser import launch
from benchmarks.page.life import fill
from benchmarks.raw_server import server_command

VIEWS: Mapping[str, str] = {
    "ask": "#/ask",
    "answer": "#/ask?q=when+is+the+standup",
    "no-answer": "#/ask?q=the+president+of+Peru",
    "today": "#/today",
    "memory": "#/ask?q=when+is+the+standup",
    "facts": "#/facts",
    "settle": "#/settle",
    "activity": "#/activity",
    "graph": "#/graph",
    "insights": "#/insights",
    "keep": "#/keep",
}
"""The address of each view; `_STEPS` says what is clicked there."""

_STEPS: Mapping[str, Sequence[str]] = {
    "answer": (".card-aside button",),
    "memory": (".words a",),
}
_SIZES = {"wide": (1280, 900), "phone": (360, 740)}
_SCHEMES = ("light", "dark")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", action="append", choices=VIEWS)
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with _invent() if options.home is None else nullcontext(options.home) as home:
        draw(home, options.out, options.only or list(VIEWS))


@contextmanager
def _invent() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder))
        yield Path(folder)


def draw(home: Path, out: Path, views: Sequence[str]) -> None:
    """Draw views of the memory in a home, which is served meanwhile, and print the files."""
    port = free_port()
    command = server_command(home, "--http", f"127.0.0.1:{port}")
    with (
        running(command, port),
        sync_playwright() as playwright,
        launch(playwright.chromium) as browser,
    ):
        for view, size, scheme in product(views, _SIZES, _SCHEMES):
            file = out / f"{view}-{size}-{scheme}.png"
            _draw_one(browser, f"http://127.0.0.1:{port}/{VIEWS[view]}", view, size, scheme, file)
            print(file, file.stat().st_size)


def _draw_one(
    browser: Browser, address: str, view: str, size: str, scheme: str, file: Path
) -> None:
    width, height = _SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        timezone_id="UTC",
        reduced_motion="reduce",
        is_mobile=size == "phone",
    )
    page = context.new_page()
    page.goto(address)
    _wait(page)
    for step in _STEPS.get(view, ()):
        page.locator(step).first.click()
        _wait(page)
    page.mouse.move(0, height)
    page.screenshot(path=file)
    context.close()


def _wait(page: Page) -> None:
    """Wait until the view has been drawn."""
    page.wait_for_load_state("networkidle")
    page.locator("main:not([aria-busy])").wait_for()
    page.locator("main > .waiting, .answers > .waiting").wait_for(state="detached")
    page.wait_for_timeout(200)


if __name__ == "__main__":
    main()
