"""Time zones on a machine that has no database of them, as in a small container."""

from __future__ import annotations

import sys
import zoneinfo
from collections.abc import Iterator
from pathlib import Path

import pytest

from infinite_memory import Config, ConfigurationError, InvalidInput, MemoryStore
from infinite_memory.core.config.loading import load
from infinite_memory.core.values.timestamps import read_moment, show_moment
from infinite_memory.testing.embedders import HashingEmbedder


@pytest.fixture
def _no_database(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in sys.modules if name.partition(".")[0] == "tzdata"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tzdata", None)
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath()
    zoneinfo.ZoneInfo.clear_cache()


@pytest.mark.usefixtures("_no_database")
def test_utc_needs_no_database(tmp_path: Path) -> None:
    config = Config(home=tmp_path, time_zone="UTC")
    assert load(home=tmp_path, flags={"time_zone": "UTC"}).config.time_zone == "UTC"
    moment = read_moment("2026-06-05T14:30", "UTC")
    assert show_moment(moment, "UTC") == "2026-06-05 14:30+00:00"
    with MemoryStore.open("memory://", config=config, embedder=HashingEmbedder()) as store:
        store.remember("Ada likes plums", id="ada")
        assert [hit.memory.id for hit in store.search("plums", when="today")] == ["ada"]


@pytest.mark.usefixtures("_no_database")
def test_another_zone_is_refused_with_the_line_that_installs_a_database(tmp_path: Path) -> None:
    way_out = r"'Europe/Berlin'.*pip install tzdata.*or use UTC"
    with pytest.raises(ConfigurationError, match=way_out):
        load(home=tmp_path, flags={"time_zone": "Europe/Berlin"})


def test_a_database_that_went_is_an_error_of_the_call_and_not_a_wrong_time(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    config = Config(home=tmp_path, time_zone="Europe/Berlin")
    with MemoryStore.open("memory://", config=config, embedder=HashingEmbedder()) as store:
        request.getfixturevalue("_no_database")
        with pytest.raises(InvalidInput, match="pip install tzdata"):
            store.browse(when="last week")
        with pytest.raises(InvalidInput, match="pip install tzdata"):
            read_moment("2026-06-05T14:30", config.time_zone)
