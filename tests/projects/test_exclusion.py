"""Which files are excluded, and how their names are taken out of texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.config import Projects
from infinite_memory.projects.exclusion import EXCLUDED, Exclusion

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
        ("the environment of the key", "the environment of the key"),
    ],
)
def test_the_name_of_an_excluded_file_is_replaced_in_a_text(text: str, redacted: str) -> None:
    assert DEFAULT.redact(text) == redacted
    assert DEFAULT.names_in(text) == (text != redacted)


@given(st.text(), st.text())
def test_whatever_stands_around_a_name_with_spaces_it_is_replaced(before: str, after: str) -> None:
    redacted = DEFAULT.redact(f"{before} hidden.env {after}")
    assert "hidden.env" not in redacted
    assert not DEFAULT.names_in(redacted)
    assert DEFAULT.redact(redacted) == redacted
