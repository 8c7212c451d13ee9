"""Words of time in German, Spanish, French and Russian."""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import Config, InvalidInput, MemoryStore, TimeRange, find_range, read_range
from infinite_memory.times.translation import _read_languages

pytest.importorskip("dateparser")

ZONE = "Europe/Berlin"
NOW = datetime(2026, 11, 25, 12, tzinfo=ZoneInfo(ZONE))
# A day of a month is read as the month where English has the name too, and the grammar of English
# comes first. "A year ago today" has another order, and Friday is a person.
WRONG = frozenset(
    {
        *("am 12. November 2025", "Was war heute vor einem Jahr?"),
        "Robinson hat Freitag gerettet, wie es in der Woche heißt",
    }
)


@frozen
class Row:
    language: str
    text: str
    words: str
    expected: TimeRange | None


def to_moment(text: str) -> datetime | None:
    return None if text == "*" else datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(ZONE))


def read_rows() -> Iterator[Row]:
    table = Path(__file__).parent / "other_languages.txt"
    for line in table.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            language, text, words, *bounds = (part.strip() for part in line.split("|"))
            stretch = TimeRange(*map(to_moment, bounds)) if bounds else None
            yield Row(language, text, words, stretch)


ROWS = list(read_rows())
TIMES = [row for row in ROWS if row.expected is not None]
NO_TIMES = [row for row in ROWS if row.expected is None]


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "dateparser", None)
    _read_languages.cache_clear()
    yield
    _read_languages.cache_clear()


def test_the_table_has_thirty_times_and_fifteen_other_sentences_of_each_language() -> None:
    assert min(Counter(row.language for row in TIMES).values()) >= 30
    assert min(Counter(row.language for row in NO_TIMES).values()) >= 15
    assert {row.text for row in ROWS} >= WRONG


@pytest.mark.parametrize("row", TIMES, ids=[row.text for row in TIMES])
def test_words_of_time_are_read_as_their_range_with_their_place_in_the_text(row: Row) -> None:
    if row.words:
        reading = find_range(row.text, now=NOW, zone=ZONE)
    else:
        reading = read_range(row.text, now=NOW, zone=ZONE)
    if row.text in WRONG:
        assert reading is None or reading.range != row.expected
        return
    assert reading is not None
    assert reading.range == row.expected, reading.said
    assert reading.words == (row.words or row.text)
    start, end = reading.span
    assert row.text[start:end] == reading.words


@pytest.mark.parametrize("row", NO_TIMES, ids=[row.text for row in NO_TIMES])
def test_a_sentence_that_names_no_time_has_none(row: Row) -> None:
    assert (find_range(row.text, now=NOW, zone=ZONE) is not None) == (row.text in WRONG)


@pytest.mark.parametrize(
    "words",
    [
        *("vor mehr als drei Wochen", "hace más de un año", "il y a plus de trois semaines"),
        *("больше года назад", "Was war vor dem Essen?", "Que s'est-il passé avant le dîner ?"),
        *("¿Qué pasó antes de la cena?", "Что было перед обедом?", "Qu'est-ce qu'il y a ?"),
        *("il y a 3 chats", "Alles außer am Montag", "Wo war ich Freitag in einer Woche?"),
        *("tout sauf lundi", "todo excepto el lunes", "все кроме понедельника"),
    ],
)
def test_words_that_only_bound_a_time_are_refused(words: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_range(words, now=NOW, zone=ZONE)


@pytest.mark.parametrize(
    "sentence",
    [
        *("The restaurant La Marzo has a menu", "el Niño and la Niña of the years"),
        *("Der Spiegel has the story of August and September", "It is not yesterday in Les Halles"),
        *("the word hier is French for what we know", "She is on the los lunes list"),
        *("every Friday we eat the soup of de Groot", "明天 or 昨天 en la casa"),
    ],
)
def test_foreign_words_in_a_sentence_of_english_or_chinese_name_no_time(sentence: str) -> None:
    assert find_range(sentence, now=NOW, zone=ZONE) is None


def test_a_text_of_many_sentences_is_not_translated() -> None:
    assert find_range("gestern" + " x" * 1_900, now=NOW, zone=ZONE) is not None
    assert find_range("gestern" + " x" * 2_000, now=NOW, zone=ZONE) is None


@pytest.mark.usefixtures("without_package")
def test_without_the_package_nothing_is_read_and_english_is_as_ever() -> None:
    assert find_range("Was war letzten Freitag?", now=NOW, zone=ZONE) is None
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_range("letzten Freitag", now=NOW, zone=ZONE)
    assert find_range("what was last Friday?", now=NOW, zone=ZONE) is not None


WORDS = (
    "vor drei Tagen letzten hace el los lunes pasado le lundi 3 mars . ' im Jahr 2024 назад год"
    " неделю 2025 года через в au until morgen mañana jeden \ud800 0 9999 99999 31 февраля 昨天 = @"
    " – - la une un all du 13 vorletzte Woche último a l'été il y Mai, # ß ﷽"
).split()


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join))
def test_no_text_raises_anything_but_a_refusal_and_a_reading_is_a_part_of_it(text: str) -> None:
    reading = find_range(text, now=NOW, zone=ZONE)
    if reading is not None:
        start, end = reading.span
        assert " ".join(text[start:end].split()) == reading.words
    with suppress(InvalidInput):
        read_range(text, now=NOW, zone=ZONE)


def test_a_store_takes_them_for_a_moment_a_condition_and_the_time_in_a_question() -> None:
    config = Config(time_zone=ZONE)
    with MemoryStore.open("memory://", config=config, clock=lambda: NOW) as store:
        moment = store.times.read("letzten Dienstag um 14:30", "happened_at")
        assert moment == datetime(2026, 11, 24, 14, 30, tzinfo=ZoneInfo(ZONE))
        store.remember("Der Zaun wird grün", happened_at=moment)
        hits = store.search("Was haben wir gestern über den Zaun beschlossen?")
        assert hits.time is not None
        assert hits.time.words == "gestern"
        assert len(store.search("Zaun", when="vor drei Wochen")) == 0
        assert len(store.search("Zaun", when="diese Woche")) == 1


@pytest.fixture
def busy_collector() -> Iterator[None]:
    """Let the garbage collector run often, and give way to other threads each time."""

    def give_way(_phase: str, _info: dict[str, int]) -> None:
        time.sleep(0)

    before = gc.get_threshold()
    gc.set_threshold(200)
    gc.callbacks.append(give_way)
    yield
    gc.callbacks.remove(give_way)
    gc.set_threshold(*before)


@pytest.mark.usefixtures("busy_collector")
def test_threads_that_read_the_languages_at_once_do_not_disturb_each_other() -> None:
    # The parser of Python before 3.11.8 and 3.12.2 fails in one thread while it works in another.
    with ThreadPoolExecutor(4) as pool:
        read = [pool.submit(_read_languages.__wrapped__) for _ in range(4)]
    assert all(each.result() == _read_languages() for each in read)
