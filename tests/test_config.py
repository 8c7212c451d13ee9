"""Configuration: layers, origins, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Config, ConfigurationError, load
from infinite_memory.core.config import CONFIG_FILE, Effective, environment_name, keys


def write(home: Path, content: Any) -> Path:
    path = home / CONFIG_FILE
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_it_is_good_without_any_file(tmp_path: Path) -> None:
    effective = load(home=tmp_path)
    assert effective.config == Config(home=tmp_path)
    assert set(effective.origins.values()) == {"default", "--home"}


def test_without_anything_the_home_is_in_the_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load().config.home == tmp_path / ".infinite-memory"


def test_flags_go_over_the_environment_over_the_file(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {
            "default_scope": "file",
            "embedder": "/file",
            "strict_scopes": True,
            "limits": {"max_text_bytes": 1, "max_context_bytes": 2},
        },
    )
    effective = load(
        environment={
            "INFINITE_MEMORY_HOME": str(tmp_path),
            "INFINITE_MEMORY_EMBEDDER": "/environment",
            "INFINITE_MEMORY_LIMITS_MAX_TEXT_BYTES": "10",
            "PATH": "/bin",
        },
        flags={"limits.max_text_bytes": "100"},
    )
    assert effective.config.default_scope == "file"
    assert effective.config.strict_scopes is True
    assert effective.config.embedder == "/environment"
    assert effective.config.limits.max_text_bytes == 100
    assert effective.config.limits.max_context_bytes == 2
    rows = {key: (value, origin) for key, value, origin in effective.rows()}
    assert set(rows) == set(keys())
    assert rows["home"] == (tmp_path, "INFINITE_MEMORY_HOME")
    assert rows["default_scope"] == ("file", str(path))
    assert rows["embedder"] == ("/environment", "INFINITE_MEMORY_EMBEDDER")
    assert rows["limits.max_text_bytes"] == (100, "--limits-max-text-bytes")
    assert rows["time_zone"] == (None, "default")


def test_every_key_has_a_variable_of_its_own() -> None:
    assert len({environment_name(key) for key in keys()}) == len(keys())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"default_scop": "x"}, "no setting 'default_scop'; the nearest is 'default_scope'"),
        ({"limits": {"max_text": 1}}, "nearest is 'limits.max_text_bytes'"),
        (
            {"upkeep": {"scopes": {"a.b": {"keepdays": 3}}}},
            "upkeep.scopes.a.b: there is no setting 'keepdays'; the nearest is 'keep_days'",
        ),
        ({"upkeep": {"scopes": {"a.b": {"keep_days": 0}}}}, "upkeep.scopes.a.b.keep_days = 0"),
        ({"upkeep": {"scopes": {"a": {"erase": True}}}}, "erase needs keep_days, the age"),
        ({"upkeep": {"retention": "moderat"}}, "'keep_all', 'moderate' or 'aggressive'"),
        ({"limits": 5}, "no setting 'limits'"),
        ({"limits": {"max_text_bytes": -1}}, "limits.max_text_bytes = -1: .*greater than"),
        ({"time_zone": "Mars/Olympus"}, "'Mars/Olympus': no such time zone"),
        ({"logging": {"file": "relative.log"}}, "give an absolute path"),
        ({"logging": {"level": "loud"}}, "logging.level = 'loud'"),
        ({"home": "/elsewhere"}, "home cannot be set in the file"),
        ("[1, 2]", "must hold one JSON object"),
        ("{not json", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        (" " * (1 << 20) + "{}", "more than 1 MiB"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_name(
    tmp_path: Path, content: Any, message: str
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(ConfigurationError, match=message) as caught:
        load(home=tmp_path)
    assert str(path) in str(caught.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / CONFIG_FILE).mkdir()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load(home=tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"environment": {"INFINITE_MEMORY_STOER": "x"}}, "nearest is 'INFINITE_MEMORY_STORE'"),
        ({"environment": {"INFINITE_MEMORY_STRICT_SCOPES": "perhaps"}}, "STRICT_SCOPES: strict"),
        ({"environment": {"INFINITE_MEMORY_HOME": "relative"}}, "INFINITE_MEMORY_HOME: home"),
        ({"flags": {"stoer": "x"}}, "nearest is 'store'"),
        ({"home": "relative"}, "--home: home = 'relative': give an absolute path"),
    ],
)
def test_a_value_from_outside_that_cannot_be_used_is_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load(**settings)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"issuer": "https://login.example.org"}, "issuer needs audience"),
        ({"issuer": "http://login.example.org", "audience": "x"}, "with https, or http on this"),
        ({"issuer": "https://me:pw@login.example.org", "audience": "x"}, "with https"),
        ({"issuer": "https://login.example.org/?x=1", "audience": "x"}, "with https"),
        ({"issuer": "login.example.org", "audience": "x"}, "with https"),
    ],
)
def test_an_identity_provider_is_named_by_a_safe_address_and_with_an_audience(
    tmp_path: Path, setting: dict[str, str], reason: str
) -> None:
    write(tmp_path, {"oauth": setting})
    with pytest.raises(ConfigurationError, match=reason):
        load(home=tmp_path)


def _list_scope_settings() -> list[str]:
    """Return the settings that name scopes; the others with the word in their name are switches."""
    rows = {key: value for key, value, _ in Effective(config=Config(), origins=ORIGINS).rows()}
    return [key for key, value in rows.items() if "scope" in key and not isinstance(value, bool)]


ORIGINS = dict.fromkeys(keys(), "default")


@pytest.mark.parametrize("key", _list_scope_settings())
@pytest.mark.parametrize("name", ["ALL", "all ", "team/*", "a,b", "*", "project", "", "a\nb"])
def test_a_setting_that_names_a_scope_takes_only_the_name_of_one(
    tmp_path: Path, key: str, name: str
) -> None:
    is_mapping = key == "upkeep.scopes"
    as_text = json.dumps({name: {}}) if is_mapping else name
    section, _, last = key.rpartition(".")
    in_file: dict[str, Any] = {last: {name: {}} if is_mapping else name}
    with pytest.raises(ConfigurationError, match=key):
        load(home=tmp_path, environment={environment_name(key): as_text})
    write(tmp_path, {section: in_file} if section else in_file)
    with pytest.raises(ConfigurationError, match=key):
        load(home=tmp_path)


def test_letter_case_does_not_count_in_the_rules_of_a_scope(tmp_path: Path) -> None:
    write(tmp_path, {"upkeep": {"scopes": {"Apollo": {"keep_days": 3}}}})
    assert load(home=tmp_path).config.upkeep.rules_of("apollo").keep_days == 3
    write(tmp_path, {"upkeep": {"scopes": {"Apollo": {}, "apollo": {}}}})
    with pytest.raises(ConfigurationError, match="'apollo' is named twice"):
        load(home=tmp_path)


def test_a_time_zone_is_known_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, {"time_zone": "Asia/Shanghai"})
    assert load(home=tmp_path).config.time_zone == "Asia/Shanghai"


SETTINGS = [
    ("search.limit", 25, "25", 25),
    ("search.threshold", 0.25, "0.25", 0.25),
    ("conversation_scopes", True, "true", True),
    ("execution_providers", ["A", "B"], " A, B ,A", ("A", "B")),
    ("oauth.ask_for", ["openid", "email"], "openid, email", ("openid", "email")),
]


@pytest.mark.parametrize(("key", "in_file", "as_text", "value"), SETTINGS)
def test_a_setting_is_read_from_each_source(
    tmp_path: Path, key: str, in_file: object, as_text: str, value: object
) -> None:
    section, _, name = key.rpartition(".")
    path = write(tmp_path, {section: {name: in_file}} if section else {name: in_file})
    text = {environment_name(key): as_text}
    sources: dict[str, dict[str, Any]] = {
        str(path): {},
        environment_name(key): {"environment": text},
        f"--{key.replace('_', '-').replace('.', '-')}": {"flags": {key: as_text}},
    }
    for origin, given in sources.items():
        rows = {row[0]: row[1:] for row in load(home=tmp_path, **given).rows()}
        assert rows[key] == (value, origin)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("search.limit", 0, "greater than or equal to 1"),
        ("search.limit", 101, "less than or equal to 100"),
        ("search.limit", "many", "valid integer"),
        ("search.threshold", -0.1, "greater than or equal to 0"),
        ("search.threshold", 1.1, "less than or equal to 1"),
        ("search.threshold", "nan", "less than or equal to 1"),
        ("conversation_scopes", "perhaps", "valid boolean"),
        ("execution_providers", [], "at least one name"),
        ("execution_providers", "A,,B", "no empty name"),
        ("execution_providers", ["A", 3], "give a list of names"),
        ("execution_providers", {"A": 1}, "give a list of names"),
    ],
)
def test_a_value_out_of_range_is_refused_with_its_key(
    tmp_path: Path, key: str, value: object, message: str
) -> None:
    section, _, name = key.rpartition(".")
    path = write(tmp_path, {section: {name: value}} if section else {name: value})
    with pytest.raises(ConfigurationError, match=message) as caught:
        load(home=tmp_path)
    assert str(caught.value).startswith(f"{path}: {key} = ")
