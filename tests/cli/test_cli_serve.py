"""`infinite-memory serve`: the server for all clients of a machine, and its unit files."""

from __future__ import annotations

import plistlib
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from processes import COMMAND, in_pipe

SERVER = [sys.executable, "-m", "infinite_memory_mcp"]


@pytest.mark.process
def test_it_serves_until_a_signal(tmp_path: Path) -> None:
    options = ["serve", "--http", "127.0.0.1:0", "--home", str(tmp_path / "home")]
    process = subprocess.Popen([*COMMAND, *options], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        address = re.search(r"serving (http://127\.0\.0\.1:\d+)/mcp", line)
        assert address, line
        with urllib.request.urlopen(f"{address[1]}/healthz", timeout=60) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.thorough
def test_a_unit_for_systemd_starts_the_same_server(tmp_path: Path) -> None:
    home = tmp_path / "with space and 100%"
    printed = in_pipe(
        *("serve", "--print-systemd", "--home", str(home), "--require-keys"),
        *("--allow-host", "memory.example", "--toolsets", "all", "--log-level", "info"),
    )
    assert printed.returncode == 0
    (line,) = re.findall(r"^ExecStart=(.*)$", printed.stdout, re.MULTILINE)
    assert shlex.split(line.replace("%%", "%")) == [
        *SERVER,
        *("--http", "127.0.0.1:8765", "--home", str(home), "--require-keys"),
        *("--allow-host", "memory.example", "--toolsets", "all", "--log-level", "info"),
    ]
    assert "[Install]" in printed.stdout
    assert not home.exists()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["systemd", "launchd"])
def test_a_unit_has_the_home_of_the_shell_and_names_the_other_variables(
    kind: str, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("INFINITE_MEMORY_TIME_ZONE", "UTC")

    def show() -> tuple[str, str]:
        printed = in_pipe("serve", f"--print-{kind}")
        return " ".join(re.sub("</?string>", " ", printed.stdout).split()), printed.stderr

    unit, said = show()
    assert f"--home {home} " in f"{unit} "
    assert said == "set in this shell, and not in the unit: INFINITE_MEMORY_TIME_ZONE\n"
    monkeypatch.setenv("INFINITE_MEMORY_STORE", "mongodb://host/db")
    assert "takes one of --home and --store" in show()[1]
    monkeypatch.delenv("INFINITE_MEMORY_HOME")
    assert "--store mongodb://host/db" in show()[0]


@pytest.mark.thorough
def test_a_list_for_launchd_starts_the_same_server(home: Path) -> None:
    printed = in_pipe("serve", "--print-launchd", "--http", "127.0.0.1:9000", "--scopes", "a, b")
    assert printed.returncode == 0
    entries = plistlib.loads(printed.stdout.encode())
    assert entries["ProgramArguments"] == [
        *(*SERVER, "--http", "127.0.0.1:9000", "--home", str(home), "--scopes", "a,b")
    ]
    assert entries["RunAtLoad"]


@pytest.mark.thorough
def test_a_relative_folder_is_made_absolute(tmp_path: Path) -> None:
    printed = in_pipe("serve", "--print-systemd", "--store", "here", cwd=tmp_path)
    assert f"--store {tmp_path / 'here'}" in printed.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--print-systemd", "--print-launchd"], "one at a time"),
        (["--http", "nowhere"], "HOST:PORT"),
        (["--htp", "127.0.0.1:0"], "unrecognized arguments: --htp"),
        (["--toolsets", "nothing"], "is not a toolset"),
        (["--home", "a", "--store", "b"], "takes one of them"),
    ],
)
def test_what_does_not_fit_is_refused(options: list[str], reason: str) -> None:
    refused = in_pipe("serve", *options)
    assert refused.returncode == 2
    assert reason in refused.stderr
