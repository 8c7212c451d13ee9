"""Check a built site: what its search finds, and that no page loads anything from elsewhere.

python tests/check_site.py build/site
"""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

# What a person looks for: a word of a guide, of a generated page, and one in Chinese.
KNOWN = {
    "remind": "docs/guides/long-term-memory",
    "quiet_hour": "docs/reference/configuration",
    "提醒": "docs/guides/long-term-memory.zh",
}
_INDEX = re.compile(r"Search\.setIndex\((.*)\)", re.DOTALL)
_ELSEWHERE = re.compile(r"(?:https?:)?//")


class _Loads(HTMLParser):
    """Collects the addresses that a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        loaded = values.get("href") if tag == "link" and values.get("rel") != "canonical" else None
        self.addresses += [address for address in (loaded, values.get("src")) if address]


def find_pages(index: dict[str, Any], word: str) -> list[str]:
    """Return the pages with a word in their titles or in their texts."""
    # A single page stands alone; a word of a title is not listed again as one of the text.
    found = [index[part].get(word, []) for part in ("titleterms", "terms")]
    numbers = [n for each in found for n in (each if isinstance(each, list) else [each])]
    return [index["docnames"][number] for number in numbers]


def find_problems(site: Path) -> list[str]:
    index = json.loads(_INDEX.fullmatch((site / "searchindex.js").read_text("utf-8").strip())[1])
    problems = []
    for word, page in KNOWN.items():
        if page not in find_pages(index, word):
            problems.append(f"the search does not find {word!r} in {page}")
    for path in site.rglob("*.html"):
        loads = _Loads()
        loads.feed(path.read_text("utf-8"))
        elsewhere = [address for address in loads.addresses if _ELSEWHERE.match(address)]
        problems += [f"{path.relative_to(site)} loads {address}" for address in elsewhere]
    for path in site.rglob("*.css"):
        if re.search(r"(?:url\(|@import )['\"]?(?:https?:)?//", path.read_text("utf-8")):
            problems.append(f"{path.relative_to(site)} loads something from elsewhere")
    return problems


if __name__ == "__main__":
    found = find_problems(Path(sys.argv[1]))
    sys.exit("\n".join(found))
