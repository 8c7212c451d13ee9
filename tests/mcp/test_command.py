from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import infinite_memory_mcp
from benchmarks.raw_server import RawServer, environment, server_command
from infinite_memory import ConfigurationError
from infinite_memory.core.config import Config, Logging
from infinite_memory_mcp.command import main, open_store
from infinite_memory_mcp.settings import Settings, apply_log_settings, package_version


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    """The root logger, put back afterwards as it was."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield root
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "infinite_memory_mcp", *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_version_is_printed_without_the_sdk(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"infinite-memory-mcp {package_version()}\n"


def test_help_names_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    assert all(flag in said for flag in ("--home", "--store", "--log-level", "--version"))


@pytest.mark.parametrize(
    "flags",
    [["--home", "x", "--store", "y"], ["--hom", "x"], ["--log-level", "loud"], ["--port", "1"]],
)
def test_a_flag_that_cannot_be_used_ends_it_with_two(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(flags)
    assert stopped.value.code == 2
    assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--tools", "--exclude-tools"])
def test_a_server_of_some_tools_prints_no_address_of_a_page(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--http", "127.0.0.1:0", "--web", "address", option, "undo"])
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert (said.out, "has no page: leave out --web" in said.err) == ("", True)


def test_without_the_sdk_it_says_in_one_sentence_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    root_logger: logging.Logger,
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main([]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "pip install '.[mcp]'" in said.err


@pytest.mark.process
def test_an_empty_input_ends_it_with_zero() -> None:
    ran = run("--store", "memory://")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_store_is_that_of_the_flags_over_the_environment_over_the_file(
    tmp_path: Path, root_logger: logging.Logger
) -> None:
    (tmp_path / "infinite_memory_config.json").write_text('{"default_scope": "from-the-file"}')
    settings = Settings(
        home=str(tmp_path),
        store="memory://",
        log_level="error",
        environment={
            "INFINITE_MEMORY_HOME": "/nowhere",
            "INFINITE_MEMORY_STORE": "/nowhere",
            "INFINITE_MEMORY_TIME_ZONE": "Asia/Tokyo",
        },
    )
    with open_store(settings) as store:
        assert store.config == Config(
            home=tmp_path,
            store="memory://",
            default_scope="from-the-file",
            time_zone="Asia/Tokyo",
            logging=Logging(level="error"),
        )
    assert root_logger.level == logging.ERROR


def test_the_environment_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINITE_MEMORY_DEFAULT_SCOPE", "from-outside")
    assert Settings().config().default_scope == "from-outside"
    assert "from-outside" not in repr(Settings())


def test_it_logs_into_the_configured_file_once(tmp_path: Path, root_logger: logging.Logger) -> None:
    path = tmp_path / "server.log"
    config = Config(home=tmp_path, logging=Logging(level="info", file=path))
    apply_log_settings(config)
    apply_log_settings(config)
    logging.getLogger("infinite_memory_mcp").info("hello")
    assert path.read_text(encoding="utf-8").count("hello") == 1


def test_a_log_file_that_cannot_be_written_is_refused(
    tmp_path: Path, root_logger: logging.Logger
) -> None:
    (tmp_path / "no").touch()
    config = Config(home=tmp_path, logging=Logging(file=tmp_path / "no" / "server.log"))
    with pytest.raises(ConfigurationError, match=r"logging\.file .* cannot be written"):
        apply_log_settings(config)


@pytest.mark.thorough
def test_a_setting_that_cannot_be_used_is_told_by_each_call_until_it_is_mended(
    tmp_path: Path,
) -> None:
    file = tmp_path / "infinite_memory_config.json"
    file.write_text(json.dumps({"default_scop": "x"}))
    with RawServer(server_command(tmp_path)) as server:
        server.handshake()
        for _ in range(2):
            result = server.request("tools/call", {"name": "search_by_tag", "arguments": {}})
            assert result["isError"]
            assert "the nearest is 'default_scope'" in result["content"][0]["text"]
        file.unlink()
        assert server.call("search_by_tag")["all_tags"] == 0
        server.end_input()
        assert server.process.returncode == 0


def test_the_package_hands_out_its_public_names_and_no_others() -> None:
    assert {name for name in dir(infinite_memory_mcp) if name in infinite_memory_mcp.__all__} == {
        "LazyStore",
        "build_server",
        "serve",
        "serve_http",
    }
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = infinite_memory_mcp.nothing
