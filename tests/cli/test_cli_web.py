"""`infinite-memory web`: the page of the server that runs, or of one that is started."""

from __future__ import annotations

import json
import re
import signal
import stat
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError

import pytest
from processes import COMMAND, in_pipe

ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/#code=(\S+)")


@contextmanager
def running(home: Path, *options: str, command: str = "web") -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, command, "--home", str(home), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_address(process: subprocess.Popen[str]) -> tuple[str, str]:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = ADDRESS.search(line)
    assert found is not None, (line, process.communicate())
    return found[1], found[2]


def post(url: str, path: str, body: object, session: str = "") -> tuple[int, str]:
    """Return the status and the body of an answer."""
    headers = {"content-type": "application/json", "x-memory-session": session}
    request = urllib.request.Request(f"{url}{path}", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def sign_in(url: str, code: str) -> str:
    """Return the session that a code begins."""
    return str(json.loads(post(url, "/sign-in", {"code": code})[1])["value"])


@pytest.mark.process
def test_it_starts_a_server_or_finds_the_one_that_runs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(home, "--no-browser") as process:
        url, code = read_address(process)
        assert stat.S_IMODE((home / "page.json").stat().st_mode) == 0o600
        status, body = post(url, "/api/session", {}, sign_in(url, code))
        assert (status, "owner" in body) == (200, True)
        # The other clients of such a server need a key, whoever is on the machine.
        assert post(url, "/api/session", {})[0] == 401
        assert post(url, "/mcp", {})[0] == 401
        found = in_pipe("web", "--no-browser", "--home", str(home))
        again = ADDRESS.search(found.stdout)
        assert found.returncode == 0
        assert again is not None
        assert again[1] == url
        assert post(url, "/sign-in", {"code": again[2]})[0] == 200
        assert post(url, "/sign-in", {"code": again[2]})[0] == 401
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "The page is closed" in errors
    assert not (home / "page.json").exists()


@pytest.mark.thorough
def test_the_page_of_an_ordinary_server_is_found_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(home, "--http", "127.0.0.1:0", command="serve") as process:
        assert process.stderr is not None
        served = re.search(r"http://\S+:\d+", process.stderr.readline())
        found = ADDRESS.search(in_pipe("web", "--no-browser", "--home", str(home)).stdout)
        assert found is not None
        assert served is not None
        assert found[1] == served[0]
        assert post(found[1], "/sign-in", {"code": found[2]})[0] == 200


@pytest.mark.thorough
def test_the_file_of_a_server_that_was_killed_is_noticed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(home, "--no-browser") as process:
        first, code = read_address(process)
        session = sign_in(first, code)
    assert (home / "page.json").exists()
    port = first.rpartition(":")[2]
    with running(home, "--no-browser", "--port", port) as process:
        second, code = read_address(process)
        assert second == first
        # The sessions ended with the server.
        assert post(second, "/api/session", {}, session)[0] == 401
        assert post(second, "/sign-in", {"code": code})[0] == 200


@pytest.mark.thorough
def test_what_listens_there_by_now_has_to_know_the_secret(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    with running(other, "--no-browser") as stranger, running(home, "--no-browser") as process:
        foreign, _ = read_address(stranger)
        read_address(process)
        state = json.loads((home / "page.json").read_text())
        (home / "page.json").write_text(json.dumps({**state, "url": foreign}))
        with running(home, "--no-browser") as third:
            assert read_address(third)[0] != foreign


@pytest.mark.thorough
@pytest.mark.parametrize("content", ["", "[]", '{"url": 5}', '{"url": "no", "secret": "x"}', "\0"])
def test_a_file_that_cannot_be_read_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "page.json").write_text(content)
    with running(tmp_path, "--no-browser") as process:
        url, _ = read_address(process)
        assert json.loads((tmp_path / "page.json").read_text())["url"] == url


@pytest.mark.thorough
def test_two_servers_of_a_home_each_have_their_page(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(home, "--no-browser") as one:
        first, code = read_address(one)
        with running(home, "--no-browser", "--port", "0", "--scopes", "work") as two:
            second, other = read_address(two)
            assert second != first
            # A code is of its server.
            assert post(second, "/sign-in", {"code": code})[0] == 401
            body = post(second, "/api/session", {}, sign_in(second, other))[1]
            assert '"owner"' not in body
        assert post(first, "/sign-in", {"code": code})[0] == 200
        assert ADDRESS.search(in_pipe("web", "--no-browser", "--home", str(home)).stdout)


@pytest.mark.thorough
def test_a_page_that_cannot_be_served_says_why(tmp_path: Path) -> None:
    with running(tmp_path / "a", "--no-browser") as process:
        port = read_address(process)[0].rpartition(":")[2]
        taken = in_pipe("web", "--home", str(tmp_path / "b"), "--port", port)
        assert (taken.returncode, "in use" in taken.stderr) == (1, True)
    refused = in_pipe("web", "--port", "70000")
    assert (refused.returncode, "70000" in refused.stderr) == (2, True)
