"""The word lists of the analyzer: what they hold, and that nobody reads them too early."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from infinite_memory.search.text import word_lists
from infinite_memory.search.text.analyzer import fold, terms
from infinite_memory.search.text.word_lists import simplify, standard_forms, stop_words

DATA = Path(word_lists.__file__).parent / "data"


def test_every_file_is_read() -> None:
    assert {path.name for path in DATA.iterdir()} == {
        *("acknowledgements.txt", "chinese_stopwords.txt", "cues.txt", "inflections.txt"),
        *("numbers.txt", "spellings.txt", "stopwords.txt", "traditional.txt"),
    }


def test_a_form_is_written_as_the_analyzer_looks_it_up() -> None:
    for form in (*standard_forms(), *stop_words()):
        assert fold(form) == form
        assert form.isalpha()


def test_a_standard_form_is_final() -> None:
    forms = standard_forms()
    assert len(forms) > 800
    assert not set(forms) & set(forms.values())
    assert forms["colour"] == "color"
    assert forms["two"] == "2"
    assert forms["bought"] == "buy"


def test_no_form_has_two_standard_forms() -> None:
    seen: dict[str, str] = {}
    for name in ("inflections.txt", "numbers.txt", "spellings.txt"):
        for line in (DATA / name).read_text("utf-8").splitlines():
            if not line.startswith("#"):
                standard, *forms = line.split() or [""]
                for form in forms:
                    assert seen.setdefault(form, standard) == standard


def test_a_traditional_character_becomes_its_simplified_one() -> None:
    pairs = [
        pair
        for line in (DATA / "traditional.txt").read_text("utf-8").splitlines()
        if not line.startswith("#")
        for pair in line.split()
    ]
    assert len(pairs) > 2_500
    assert {len(pair) for pair in pairs} == {2}
    assert all(simplify(traditional) == simplified for traditional, simplified in pairs)
    assert terms("開會") == terms("开会")


@pytest.mark.process
def test_an_import_reads_no_word_list() -> None:
    program = (
        "import sys\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, args: event == 'open' and opened.append(str(args[0])))\n"
        "from infinite_memory.search.text.analyzer import terms\n"
        "early = [path for path in opened if path.endswith('.txt')]\n"
        "terms('colour')\n"
        "late = [path for path in opened if path.endswith('.txt')]\n"
        "print(len(early), len(late))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0", "4"]
