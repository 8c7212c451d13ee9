"""Which files are excluded, and how their names are taken out of texts."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.core.config import Projects
from infinite_memory.features.projects.chunking.describing import exclude_files
from infinite_memory.features.projects.exclusion import EXCLUDED, Exclusion
from infinite_memory.features.sessions.events.event import Event, EventKind

DEFAULT = Exclusion(Projects().exclude)
SECRETS = Exclusion(("secrets/*", "*.csv", "/root.txt", "./near.txt"))


@pytest.mark.parametrize(
    ("exclusion", "path", "is_excluded"),
    [
        (DEFAULT, ".env", True),
        (DEFAULT, "deploy/Prod.ENV", True),
        (DEFAULT, ".env.local", True),
        (DEFAULT, "/home/ada/.ssh/id_rsa", True),
        (DEFAULT, "C:\\keys\\server.pem", True),
        (DEFAULT, "src/environment.py", False),
        (DEFAULT, "src/keyboard.py", False),
        (DEFAULT, "prod.env.py", False),
        (SECRETS, "secrets/a.txt", True),
        (SECRETS, "app/secrets/deep/b.txt", True),
        (SECRETS, "secrets", False),
        (Exclusion(("vault",)), "app/vault/a.txt", True),
        (Exclusion(("vault/",)), "vault/deep/a.txt", True),
        (Exclusion(("**/token.txt",)), "token.txt", True),
        (Exclusion(("**/token.txt",)), "app/token.txt", True),
        (Exclusion(("app/**/token.txt",)), "app/token.txt", True),
        (Exclusion(("app/**/token.txt",)), "app/a/b/token.txt", True),
        (Exclusion(("vault\\*",)), "vault/a.txt", True),
        (SECRETS, "mysecrets/a.txt", False),
        (SECRETS, "data.csv", True),
        (SECRETS, "root.txt", True),
        (SECRETS, "src/root.txt", False),
        (SECRETS, "near.txt", True),
        (Exclusion(()), ".env", False),
    ],
)
def test_a_file_is_excluded_by_its_name_or_its_path(
    exclusion: Exclusion, path: str, is_excluded: bool
) -> None:
    assert exclusion.excludes(path) == is_excluded
    assert exclusion.keep([path, "README.md"]) == [path, "README.md"][is_excluded:]


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Read prod.env.", f"Read {EXCLUDED}"),
        ("cat ./deploy/prod.env|sh", f"cat {EXCLUDED}|sh"),
        ("(prod.env), `server.key`: 'a.pem'", f"({EXCLUDED}), `{EXCLUDED}`: '{EXCLUDED}'"),
        ("prod.env:12: FILE=prod.env", f"{EXCLUDED}:12: FILE={EXCLUDED}"),
        ("https://host/deploy/prod.env", f"https:{EXCLUDED}"),
        ("读取prod.env文件", f"读取{EXCLUDED}文件"),
        ("请看server.key，谢谢", f"请看{EXCLUDED}，谢谢"),
        ("+id_rsa @id_rsa prod.env~", f"+{EXCLUDED} @{EXCLUDED} {EXCLUDED}~"),
        ("\x1b[32mid_rsa\x1b[0m", f"\x1b[32m{EXCLUDED}\x1b[0m"),
        (r"A=1\nprod.env\nB=2", f"A={EXCLUDED}=2"),
        ("the environment of the key", "the environment of the key"),
    ],
)
def test_the_name_of_an_excluded_file_is_replaced_in_a_text(text: str, redacted: str) -> None:
    assert DEFAULT.redact(text) == redacted
    assert DEFAULT.names_in(text) == (text != redacted)


def test_a_name_with_spaces_is_found_by_a_pattern_with_spaces() -> None:
    exclusion = Exclusion(("bank data*.txt",))
    text = "cat 'docs/Bank data 3.txt' docs/bank\\ data.txt docs/bank.txt"
    assert exclusion.redact(text) == f"cat 'docs/{EXCLUDED}' docs/{EXCLUDED} docs/bank.txt"


DIFF = """diff --git a/{0} b/{0}
index 1..2 100644
--- a/{0}
+++ b/{0}
@@ -1 +1 @@
-TOKEN=1
+TOKEN=2
"""


def test_of_the_difference_of_an_excluded_file_nothing_is_left() -> None:
    text = f"{DIFF.format('app.py')}{DIFF.format('prod.env')}{DIFF.format('b.py')}\nWhy that?"
    kept = f"{DIFF.format('app.py')}{EXCLUDED}\n{DIFF.format('b.py')}\nWhy that?"
    assert DEFAULT.redact(text) == kept
    plain = "--- app.py\n+++ app.py\n+a\n--- prod.env\n+++ prod.env\n+TOKEN=1\n"
    assert DEFAULT.redact(plain) == f"{EXCLUDED}\n"
    assert DEFAULT.redact("==> a.txt <==\na\n==> .env <==\nb\n") == (
        f"==> a.txt <==\na\n{EXCLUDED}\n"
    )


def test_the_outputs_of_a_session_hold_nothing_of_excluded_files() -> None:
    event = Event(
        kind=EventKind.TOOL,
        at=datetime(2026, 3, 4, tzinfo=UTC),
        position=1,
        text="grep -r TOKEN . && pytest",
        output="./prod.env:TOKEN=1\n1 failed",
        ok=False,
    )
    (kept,) = exclude_files([event], DEFAULT)
    assert (kept.text, kept.output) == (event.text, f"{EXCLUDED}\n1 failed")


def test_of_what_a_command_found_in_an_excluded_file_nothing_is_left() -> None:
    printed = """app.py:3:TOKEN = read()
deploy/prod.env:1:TOKEN=1
deploy/prod.env-2-NAME=a
-rw-r--r-- 1 ada ada 20 prod.env
./my keys.env: a b"""
    assert DEFAULT.redact_output(printed).splitlines() == [
        "app.py:3:TOKEN = read()",
        EXCLUDED,
        EXCLUDED,
        f"-rw-r--r-- 1 ada ada 20 {EXCLUDED}",
        f"./my {EXCLUDED}",
    ]


@pytest.mark.parametrize(
    "piece", ["a/", "diff -", "--- \n+++ ", "prod.env ", "==> a <==\n", "a b\n"]
)
def test_a_long_text_takes_no_long_time(piece: str) -> None:
    start = time.perf_counter()
    DEFAULT.redact_output(piece * (200_000 // len(piece)))
    assert time.perf_counter() - start < 5


@given(st.text(), st.text())
def test_whatever_stands_around_a_name_with_spaces_it_is_replaced(before: str, after: str) -> None:
    redacted = DEFAULT.redact(f"{before} hidden.env {after}")
    assert "hidden.env" not in redacted
    assert not DEFAULT.names_in(redacted)
    assert DEFAULT.redact(redacted) == redacted
