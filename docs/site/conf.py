"""The settings of Sphinx, and the words that its search finds."""

from __future__ import annotations

import re
from importlib.metadata import version as find_version
from pathlib import Path

import rjieba
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

from infinite_memory.core.errors import DISTRIBUTION

project = "Infinite Memory"
version = release = find_version(DISTRIBUTION)
extensions = ["myst_parser"]
root_doc = "index"
language = "en"
html_search_language = "english-and-chinese"
myst_heading_anchors = 4
# Options stand in prose as they are typed: `--dry-run`.
smartquotes = False
# A page may skip a level of headings.
suppress_warnings = ["myst.header"]
html_theme = "furo"
html_title = project
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False


class SearchEnglishAndChinese(SearchEnglish):
    """English words by their stems, and the words of a text in Chinese."""

    lang = "english-and-chinese"
    # Sphinx makes the name of the stemmer in the browser of it.
    language_name = "English"
    _CHINESE = re.compile(r"[\u4e00-\u9fff]+")

    def split(self, input: str) -> list[str]:  # noqa: A002 - the name that Sphinx gives it
        """Return the words of a text."""
        runs = self._CHINESE.findall(input)
        chinese = [word for run in runs for word in rjieba.cut_for_search(run)]
        return [*super().split(self._CHINESE.sub(" ", input)), *chinese]


def setup(app: Sphinx) -> None:
    """Add what is defined here."""
    app.add_search_language(SearchEnglishAndChinese)
