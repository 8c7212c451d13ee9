"""Debian's Chromium without a window, which asks nobody but the page for anything."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserType

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def launch(chromium: BrowserType, flags: Sequence[str] = FLAGS) -> Iterator[Browser]:
    """Start the installed Chromium.

    Raises:
        FileNotFoundError: none is installed.
    """
    program = shutil.which("chromium")
    if program is None:
        raise FileNotFoundError("there is no chromium: apt-get install chromium")
    browser = chromium.launch(executable_path=program, args=list(flags))
    try:
        yield browser
    finally:
        browser.close()
