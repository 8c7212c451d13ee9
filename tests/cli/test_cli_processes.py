from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import COMMAND, in_pipe, on_terminal


@pytest.mark.process
def test_what_one_process_stores_the_next_finds() -> None:
    stored = in_pipe("remember", "The deadline of project Apollo is June 5", "--scope", "apollo",
                     "--tag", "deadline")  # fmt: skip
    assert stored.returncode == 0, stored.stderr
    found = in_pipe("search", "when is Apollo due?", "--json")
    hit = json.loads(found.stdout)["hits"][0]
    assert hit["text"] == "The deadline of project Apollo is June 5"
    assert found.stderr == ""


@pytest.mark.process
def test_an_error_is_a_sentence_or_an_object_and_never_a_traceback() -> None:
    said = in_pipe("show", "no-such-id")
    assert (said.returncode, said.stdout) == (5, "")
    assert said.stderr == (
        "Error: there is no memory 'no-such-id': it was never stored, or erased for good\n"
    )
    as_json = in_pipe("--json", "show", "no-such-id")
    assert (as_json.returncode, as_json.stdout) == (5, "")
    assert json.loads(as_json.stderr) == {
        "error": {
            "type": "NotFound",
            "message": "there is no memory 'no-such-id': it was never stored, or erased for good",
        }
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    "arguments",
    [["serch", "x"], ["search"], ["list", "--limt", "1"], ["list", "-n", "many"], ["--nope"]],
)
def test_a_wrong_command_line_is_refused_with_help(arguments: list[str]) -> None:
    said = in_pipe(*arguments)
    assert said.returncode == 2
    assert "Error: " in said.stderr
    assert "--help" in said.stderr
    as_json = in_pipe(*arguments, "--json")
    assert as_json.returncode == 2
    assert json.loads(as_json.stderr)["error"]["message"]


@pytest.mark.thorough
def test_json_after_two_dashes_is_a_word_and_no_option() -> None:
    assert in_pipe("show", "--", "--json", "x").stderr.startswith("Error: Got unexpected extra")


@pytest.mark.thorough
def test_a_wrong_command_is_answered_with_the_nearest() -> None:
    assert "Did you mean 'search'?" in in_pipe("serch", "x").stderr
    assert "Did you mean" not in in_pipe("zzzzz", "x").stderr


@pytest.mark.process
def test_without_a_command_the_first_steps_are_printed() -> None:
    alone = in_pipe()
    assert alone.returncode == 0
    assert "infinite-memory remember" in alone.stdout
    assert in_pipe("--help").stdout.startswith("Usage: ")
    assert in_pipe("--version").stdout.startswith("infinite-memory")


@pytest.mark.process
@pytest.mark.parametrize("arguments", [["config"], ["config", "--json"]])
def test_a_reader_that_stops_reading_is_no_error(arguments: list[str]) -> None:
    # Closed before it starts: it could have written all of it before it is closed.
    reading, writing = os.pipe()
    os.close(reading)
    listing = subprocess.Popen([*COMMAND, *arguments], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert listing.stderr is not None
    assert listing.stderr.read() == b""
    listing.stderr.close()
    assert listing.wait(300) == 141


@pytest.mark.thorough
def test_a_full_disk_is_said() -> None:
    with Path("/dev/full").open("wb") as full:
        said = in_pipe("config", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (said.returncode, said.stderr) == (4, "Error: No space left on device\n")


@pytest.mark.process
def test_an_interruption_exits_with_130(home: Path) -> None:
    # A runner in the background of a shell ignores interrupts, and so would its children.
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    waiting = subprocess.Popen(
        [*COMMAND, "remember", "-", "--json"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    signal.signal(signal.SIGINT, heard)
    with waiting:
        try:
            # The marker is there when the store is open, just before the command reads its input.
            while not (home / "memory.db.marker").exists():
                assert waiting.poll() is None
                time.sleep(0.01)
            waiting.send_signal(signal.SIGINT)
            _, said = waiting.communicate(timeout=300)
        finally:
            waiting.kill()
    assert waiting.returncode == 130
    error = json.loads(said.splitlines()[-1])["error"]
    assert error["type"] == "Interrupted"
    assert "nothing that was stored is lost" in error["message"]


@pytest.mark.thorough
def test_an_output_that_knows_only_ascii_gets_the_rest_written_out() -> None:
    options = {"env": {**os.environ, "PYTHONIOENCODING": "ascii"}}
    assert in_pipe("remember", "Zürich 東京", "--id", "a", **options).returncode == 0
    assert in_pipe("show", "a", **options).stdout.splitlines()[-1] == "Z\\xfcrich \\u6771\\u4eac"
    assert json.loads(in_pipe("show", "a", "--json", **options).stdout)["text"] == "Zürich 東京"
    assert in_pipe("show", "ö", **options).returncode == 2


@pytest.mark.process
def test_tables_are_drawn_on_a_terminal_and_fit_it() -> None:
    in_pipe("remember", "[bold]word[/] " * 30 + "\x1b[2J東京", "--id", "a", "--scope", "s")
    for command in (["history", "a"], ["stats"], ["config"], ["scopes"], ["doctor"],
                    ["model", "info"]):  # fmt: skip
        code, drawn, text = on_terminal(*command)
        assert code == 0, text
        assert "───" in text
        assert "\x1b[1m" in drawn
        assert "\x1b[2J" not in drawn
        assert max(map(len, text.splitlines())) <= 80
    assert "[bold]word[/]" in on_terminal("list", "--scope", "s")[2]
    line = on_terminal("list", "--scope", "s")[2].strip()
    assert re.fullmatch(r"\S.*…  today \d\d:\d\d  s  a", line)


@pytest.mark.thorough
def test_hits_are_coloured_and_wrapped_on_a_terminal() -> None:
    in_pipe("remember", "A long sentence about the harbour. " * 10, "--id", "a")
    code, drawn, text = on_terminal("search", "harbour", "--explain", columns=60)
    assert code == 0
    assert "\x1b[36m" in drawn
    assert max(map(len, text.splitlines())) <= 60
    assert text.count("harbour") == 10
    code, drawn, text = on_terminal("show", "a", "--history")
    assert (code, "\x1b[" in drawn) == (0, True)


@pytest.mark.thorough
def test_a_bar_counts_on_a_terminal(tmp_path: Path) -> None:
    rows = "\n".join(json.dumps({"text": f"memory {n}"}) for n in range(300))
    (tmp_path / "in.jsonl").write_text(rows)
    code, _, text = on_terminal("remember", "--from", str(tmp_path / "in.jsonl"))
    assert code == 0
    assert "Storing" in text
    assert "300/300" in text
    assert "Stored 300 memories" in text


@pytest.mark.thorough
@pytest.mark.parametrize(("answer", "code", "left"), [(b"y\n", 0, 5), (b"n\n", 1, 0)])
def test_a_hard_forget_shows_the_text_and_asks(answer: bytes, code: int, left: int) -> None:
    in_pipe("remember", "the old \x1b[31msecret", "--id", "a")
    done, _, text = on_terminal("forget", "a", "--hard", typed=answer)
    assert done == code
    assert "the old \\x1b[31msecret" in text
    assert "Erase 1 memory for good? [y/N]" in text
    assert in_pipe("show", "a").returncode == left


@pytest.mark.process
@pytest.mark.parametrize(("given", "kept"), [({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "9"}, "9")])
def test_a_program_lets_the_threads_of_numpy_sleep_unless_the_user_chose(
    given: dict[str, str], kept: str
) -> None:
    name = "OPENBLAS_THREAD_TIMEOUT"
    code = (
        "import atexit, os, sys\nsys.argv[1:] = ['stats']\n"
        "atexit.register(lambda: print('numpy' in sys.modules, "
        f"os.environ[{name!r}], file=sys.stderr))\n"
        "from infinite_memory.apps.cli.main import main\nmain()"
    )
    environment = {key: value for key, value in os.environ.items() if key != name}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, timeout=300, check=True, env={**environment, **given},
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == f"True {kept}"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--help"], {"numpy", "apsw", "pydantic", "onnxruntime", "tokenizers"}),
        (["--version"], {"numpy", "apsw", "pydantic", "onnxruntime", "tokenizers"}),
        (["config"], {"numpy", "apsw", "onnxruntime", "tokenizers"}),
        (["list"], {"onnxruntime", "tokenizers", "onnx"}),
        (["stats"], {"onnxruntime", "tokenizers", "onnx"}),
        (["scopes"], {"onnxruntime", "tokenizers", "onnx"}),
        (["model", "info"], {"onnxruntime", "tokenizers", "onnx"}),
        (["search", "--help"], {"onnxruntime", "tokenizers", "onnx"}),
    ],
)
def test_a_command_imports_nothing_heavy_that_it_does_not_need(
    arguments: list[str], unwanted: set[str]
) -> None:
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print('LOADED', *sys.modules, file=sys.stderr))\n"
        f"sys.argv[1:] = {arguments!r}\n"
        "from infinite_memory.apps.cli.main import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    loaded = set(done.stderr.splitlines()[-1].split())
    assert not loaded & unwanted
