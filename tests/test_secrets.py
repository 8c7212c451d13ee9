"""The password of an address is in no repr, message, log or output, and in no name of a folder."""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from infinite_memory import Config, ConfigurationError, InvalidInput, MemoryStore, copy_store, load
from infinite_memory.core.config import CONFIG_FILE
from infinite_memory_mcp.settings import Settings

SECRET = "xyzzy-hunter2"
ADDRESS = f"mongodb://me:{SECRET}@127.0.0.1:1/db?serverSelectionTimeoutMS=200"
MISTAKEN = [
    f"mongodb:/me:{SECRET}@127.0.0.1:1/db",
    f"mongodb//me:{SECRET}@127.0.0.1:1/db",
    f"mongo://me:{SECRET}@127.0.0.1:1/db",
    f"MONGODB://me:{SECRET}@127.0.0.1:1/db",
    f"me:{SECRET}@127.0.0.1:1/db",
    f"postgres://me:{SECRET}@127.0.0.1:1/db",
]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in an empty folder, in which nothing with the password in its name is made."""
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    for name in [name for name in os.environ if name.startswith("INFINITE_MEMORY_")]:
        monkeypatch.delenv(name)
    yield folder
    assert [path for path in tmp_path.rglob("*") if SECRET in path.name] == []


def shown_of(error: BaseException) -> str:
    """Return everything that is shown of an error, with what it came from."""
    return "".join(traceback.format_exception(error)) + repr(error) + str(error)


def run(*arguments: str, program: str = "infinite_memory.apps.cli.main", **environment: str) -> str:
    """Run a program; return all that it says and how it ended."""
    ended = subprocess.run(
        [sys.executable, "-m", program, *arguments],
        capture_output=True,
        text=True,
        input="",
        timeout=300,
        env={**os.environ, **environment},
        check=False,
    )
    return f"{ended.stdout}{ended.stderr}exit {ended.returncode}"


def test_no_repr_of_a_configuration_shows_it(place: Path) -> None:
    config = Config(home=place, store=ADDRESS)
    assert config.store == ADDRESS
    effective = load(home=place, flags={"store": ADDRESS})
    copies = (config.model_copy(update={"embedder": "x"}), pickle.loads(pickle.dumps(config)))
    for value in (config, effective, config.model_dump(), *copies, list(effective.rows())):
        assert SECRET not in repr(value)
        assert SECRET not in f"{value}"
        assert "mongodb://me:***@127.0.0.1:1/db" in repr(value)
    assert json.loads(config.model_dump_json())["store"] == ADDRESS
    assert SECRET not in repr(
        Settings(store=ADDRESS, environment={"INFINITE_MEMORY_STORE": ADDRESS})
    )


@pytest.mark.parametrize(
    "settings",
    [
        *({"store": address} for address in MISTAKEN),
        {"home": f"mongodb://me:{SECRET}@h/db"},
        {"home": Path(f"mongodb://me:{SECRET}@h/db")},
        {"stoer": ADDRESS},
        {"limits": ADDRESS},
        {"storage": ADDRESS},
        {"time_zone": ADDRESS},
        {"store": ADDRESS.encode() + b"\xff"},
        {"store": [ADDRESS]},
        {"store": ADDRESS + "x" * 5000},
    ],
)
def test_no_refusal_of_a_configuration_made_by_hand_shows_it(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as caught:
        Config(**settings)  # type: ignore[arg-type]
    assert SECRET not in shown_of(caught.value)


def test_a_configuration_that_is_changed_does_not_show_it() -> None:
    with pytest.raises(ValidationError) as caught:
        Config().store = ADDRESS  # type: ignore[misc]
    assert SECRET not in shown_of(caught.value)


@pytest.mark.parametrize(
    "key", ["store", "home", "storage", "mongod", "time_zone", "limits.max_text_bytes"]
)
@pytest.mark.parametrize("address", MISTAKEN)
def test_no_refused_setting_shows_it(place: Path, key: str, address: str) -> None:
    name = "INFINITE_MEMORY_" + key.replace(".", "_").upper()
    section, _, inner = key.rpartition(".")
    document = {section: {inner: address}} if section else {inner: address}
    (place / CONFIG_FILE).write_text(json.dumps(document))
    for settings in (
        {"environment": {name: address}},
        {"flags": {key: address}},
        {"home": place},
    ):
        with pytest.raises(ConfigurationError) as caught:
            load(**settings)  # type: ignore[arg-type]
        assert SECRET not in shown_of(caught.value)


@pytest.mark.parametrize("address", MISTAKEN)
def test_what_looks_like_an_address_opens_no_store(
    place: Path, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for target in (address, Path(address)):
        with pytest.raises(ConfigurationError, match="looks like an address") as caught:
            MemoryStore.open(target)
        assert SECRET not in shown_of(caught.value)
    for source, copy in ((address, place / "copy"), (place / "source", address)):
        with pytest.raises(ConfigurationError, match="looks like an address") as caught:
            copy_store(source, copy)
        assert SECRET not in shown_of(caught.value)
    assert SECRET not in caplog.text
    assert list(place.iterdir()) == []


def test_a_folder_may_have_a_colon_or_an_at_in_its_name(place: Path) -> None:
    for target in (place / "a:b", place / "me@home", place / "a:b@c", "notes:2026", "./foo:/bar"):
        MemoryStore.open(target).close()
        assert (place / target / "memory.db").exists()


def test_a_store_that_cannot_be_reached_does_not_show_it(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(Exception, match=r"127\.0\.0\.1:1") as caught:
        MemoryStore.open(config=Config(home=place, store=ADDRESS))
    assert SECRET not in shown_of(caught.value)
    with pytest.raises(InvalidInput, match="into itself") as refused:
        copy_store(ADDRESS, ADDRESS, config=Config(home=place))
    assert SECRET not in shown_of(refused.value)
    assert SECRET not in caplog.text


@pytest.mark.thorough
@pytest.mark.parametrize(
    "arguments",
    [
        ("config", "--store", ADDRESS),
        ("config", "--json", "--store", ADDRESS),
        ("doctor", "--store", ADDRESS),
        ("doctor", "--store", MISTAKEN[0]),
        ("doctor", "--json", "--store", MISTAKEN[0]),
        ("stats", "--store", ADDRESS),
        ("stats", "--store", MISTAKEN[0]),
        ("stats", "--home", ADDRESS),
        ("search", "x", "--store", MISTAKEN[1]),
        ("stats", ADDRESS),
        (ADDRESS, "stats"),
        (f"{ADDRESS}{'x' * 100}",),
        ("stats", f"--stor={ADDRESS}"),
        ("--json", "stats", f"--stor={ADDRESS}"),
        ("stats", f"--json={ADDRESS}"),
        ("search", "x", "--limit", ADDRESS),
        ("search", "x", "--scope", ADDRESS),
        ("recall", ADDRESS),
        ("show", ADDRESS),
        ("copy", ADDRESS, ADDRESS),
        ("copy", MISTAKEN[0], "target"),
        ("copy", "source", MISTAKEN[0]),
        ("copy", ADDRESS, "x", "y"),
        ("remember", "--from", ADDRESS),
    ],
)
def test_no_command_shows_it(place: Path, arguments: tuple[str, ...]) -> None:
    said = run(*arguments)
    assert "exit" in said
    assert SECRET not in said


@pytest.mark.process
def test_no_command_shows_it_from_the_environment_or_a_file(place: Path) -> None:
    home = place / "home"
    home.mkdir()
    for address in (ADDRESS, MISTAKEN[0]):
        for command in ("config", "doctor", "stats"):
            assert SECRET not in run(command, INFINITE_MEMORY_STORE=address)
        (home / CONFIG_FILE).write_text(json.dumps({"store": address}))
        assert SECRET not in run("doctor", "--home", str(home))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "arguments",
    [
        (ADDRESS,),
        (f"--stor={ADDRESS}",),
        ("--toolsets", ADDRESS),
        ("--toolsets", f"mongodb://me:a,{SECRET}@h"),
        ("--log-level", ADDRESS),
        ("--log-level", "debug", "--store", ADDRESS),
        ("--log-level", "debug", "--store", MISTAKEN[0]),
        ("--log-level", "debug", "--home", ADDRESS),
    ],
)
def test_the_server_does_not_show_it(place: Path, arguments: tuple[str, ...]) -> None:
    assert SECRET not in run(*arguments, program="infinite_memory_mcp")
