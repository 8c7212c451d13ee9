"""`infinite-memory keys`: create, list and revoke the access keys of a server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

Ask = Callable[..., Any]
Run = Callable[..., Any]


def check(home: Path, secret: str) -> str:
    with MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder()) as store:
        return store.keys.check(secret).name


def test_create_prints_the_secret_alone_on_standard_output(run: Run, home: Path) -> None:
    result = run("keys", "create", "laptop", "--rights", "read,write", "--scopes", "team/*, Global")
    assert check(home, result.stdout.strip()) == "laptop"
    assert "read, write in team/*, Global, without an end" in result.stderr
    for part in ("cannot be shown again", "x-memory-key", "Authorization: Bearer"):
        assert part in result.stderr
    assert result.stdout.strip() not in run("keys").stdout + run("log").stdout


def test_the_answers_in_json_have_every_field_and_no_digest(ask: Ask, home: Path) -> None:
    made = ask("keys", "create", "laptop", "--expires", "2999-12-31")
    secret = made.pop("secret")
    assert check(home, secret) == "laptop"
    assert made == {
        "id": secret.split("_")[1],
        "name": "laptop",
        "state": "active",
        "rights": ["read", "write"],
        "scopes": ["people/laptop"],
        "created_at": made["created_at"],
        "created_by": "infinite-memory",
        "expires_at": "2999-12-31T23:00:00Z",
        "revoked_at": None,
        "quota": {},
    }
    assert ask("keys", "list") == ask("keys") == {"keys": [made]}
    revoked = ask("keys", "revoke", "laptop")
    assert (revoked["id"], revoked["state"]) == (made["id"], "revoked")
    assert ask("keys", "revoke", made["id"]) == revoked
    assert ask("log", "--limit", "1")["entries"][0]["access_key"] == made["id"]


def test_an_end_is_given_in_words_and_a_day_ends_with_its_last_moment(ask: Ask) -> None:
    made = ask("keys", "create", "laptop", "--expires", "in 30 days")
    end = datetime.fromisoformat(made["expires_at"])
    assert 30 <= (end - datetime.now(UTC)).total_seconds() / 86_400 <= 31.1
    moment = ask("keys", "create", "phone", "--expires", "2999-12-31T10:00+00:00")
    assert moment["expires_at"] == "2999-12-31T10:00:00Z"


def test_the_list_shows_what_each_key_may_and_its_state(run: Run) -> None:
    assert run("keys").stdout == ""
    run("keys", "create", "laptop", "--rights", "admin")
    run("keys", "create", "phone", "--scopes", "a,b")
    run("keys", "create", "anna", "--shared", "team/*, Global")
    run("keys", "revoke", "phone")
    rows = [line.split("\t")[1:5] for line in run("keys", "list").stdout.splitlines()]
    assert rows == [
        ["laptop", "active", "read, write, admin", "*"],
        ["phone", "revoked", "read", "a, b"],
        ["anna", "active", "read, write", "people/anna, team/*, Global"],
    ]
    refused = run("keys", "create", "bob", "--shared", "team", "--scopes", "team", code=2)
    assert "either `scopes`, which are all, or `shared`" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["create", "laptop", "--rights", "owner"], 2, "right 'owner' is unknown"),
        (["create", "laptop", "--rights", ","], 2, "rights is an empty list"),
        (["create", "laptop", "--scopes", "a*b"], 2, "a * may stand alone"),
        (["create", "laptop", "--scopes", ","], 2, "scopes is an empty list"),
        (["create", "laptop", "--expires", "yesterday"], 2, "is in the past"),
        (["create", "laptop", "--expires", "someday soon"], 2, "cannot be read"),
        (["create"], 2, "Missing argument"),
        (["create", "taken"], 5, "is named 'taken'"),
        (["revoke", "nobody"], 5, "the nearest is 'taken'"),
        (["list", "--scopes", "a"], 2, "leave out --scopes"),
        (["revoke", "taken", "--scopes", "a"], 2, "leave out --scopes"),
    ],
)
def test_what_cannot_be_done_is_refused(
    run: Run, arguments: list[str], code: int, sentence: str
) -> None:
    run("keys", "create", "taken")
    before = run("keys", "list").stdout
    assert sentence in run("keys", *arguments, code=code).stderr
    assert run("keys", "list").stdout == before


def test_limits_are_set_listed_with_the_usage_and_changed(run: Run, ask: Ask, home: Path) -> None:
    assert "No active key is that of a person" in run("keys", "list", "--usage").stderr
    made = ask("keys", "create", "anna", "--max-memories", "5", "--calls-a-minute", "60")
    assert made["quota"] == {"max_memories": 5, "calls_a_minute": 60}
    run("remember", "the ferry leaves at ten", "--scope", "people/anna")
    limited = ask("keys", "limit", "anna", "--max-bytes", "2000", "--max-memories", "0")
    assert limited["quota"] == {"max_bytes": 2000, "calls_a_minute": 60}
    assert ask("keys", "list", "--usage")["usage"] == [
        {
            "id": made["id"],
            "name": "anna",
            "scope": "people/anna",
            "kept": {"memories": 1, "bytes": 23, "attachment_bytes": 0},
            "quota": {
                "max_memories": 0,
                "max_bytes": 2000,
                "max_attachment_bytes": 0,
                "calls_a_minute": 60,
            },
        }
    ]
    row = run("keys", "list", "--usage").stdout.strip().split("\t")
    assert row[1:3] == ["anna", "1"]
    assert row[-1] == "max bytes 2,000, calls a minute 60"
    assert (
        "max attachment bytes 9"
        in run("keys", "limit", "anna", "--max-attachment-bytes", "9").stdout
    )
    assert "no limit was given" in run("keys", "limit", "anna", code=2).stderr
    assert (
        "that of no person"
        in run("keys", "create", "laptop", "--scopes", "team", "--max-bytes", "9", code=2).stderr
    )
    assert "limit key" in run("log", "--limit", "1").stdout


def test_a_person_is_removed_after_a_question_with_an_export(
    run: Run, ask: Ask, tmp_path: Path
) -> None:
    ask("keys", "create", "anna")
    run("remember", "the ferry to the island leaves at ten", "--scope", "people/anna")
    file = tmp_path / "anna.jsonl"
    refused = run("keys", "remove", "anna", "--export", str(file), code=2)
    assert "give --yes, or run it on a terminal" in refused.stderr
    assert not file.exists()
    removed = run("keys", "remove", "anna", "--export", str(file), "--yes").stdout
    assert f"Exported to {file}." in removed
    assert "Erased 1 memory of anna for good" in removed
    assert "nothing is left." in removed
    assert "the ferry to the island" in file.read_text(encoding="utf-8")
    assert ask("keys")["keys"][0]["state"] == "revoked"
    assert "is that of no person" in run(
        "keys", "remove", ask("keys", "create", "x", "--scopes", "team")["id"],
        "--export", str(tmp_path / "x.jsonl"), "--yes", code=2,
    ).stderr  # fmt: skip
