"""What may be absent around a program, every way to run one of ours, and what is to come of both.

The commands are those of the command line, with the arguments of their example, so that a command
without an example or an entry in `_ARGUMENTS` cannot be run here and fails.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
from attrs import evolve, field, frozen

from tests.harness.surroundings import USER, Call, WarmProcess

_SEEN = ("{cell}/stdin", "{cell}/stdout", "{cell}/stderr")
_NO_HOME = (
    rf"there is no home folder: HOME is (not set|empty|'user', which is not an absolute path)"
    rf"(,? and the user {USER} has no entry in passwd)?; (give|set) "
)
_NO_FOLDER = "the working folder does not exist"
_OF_CLIENTS = ("connect", "bundle", "completion", "ingest-session", "serve --print-launchd")
_OF_FOLDER = ("connect --project", "project", "export relative", "remember relative", "hook")


@frozen(kw_only=True)
class Surrounding:
    """What is around a program.

    `environment` changes that of the plain surrounding; None takes a variable away. `refused` is
    the sentence with which a run that needs what is absent may be refused, with one of `codes`; it
    is for the runs whose names begin with one of `needed_by`, for all if there are none. `locale`
    is the environment of the interpreter itself.
    """

    name: str
    environment: Mapping[str, str | None] = field(factory=dict)
    streams: Sequence[str] = _SEEN
    folder_is: str = "there"
    has_entry: bool = True
    read_only: bool = False
    modes: Mapping[str, int] = field(factory=dict)
    locale: Mapping[str, str] = field(factory=dict)
    refused: str | None = None
    codes: tuple[int, ...] = (3,)
    needed_by: tuple[str, ...] = ()
    is_bare: bool = False

    def allows(self, run: Run, code: int, said: str) -> bool:
        """Return whether a run may be refused in this way."""
        # The doctor has a row for each problem, and may end with 1.
        codes = (1, *self.codes) if run.name == "doctor" else self.codes
        if self.refused is None or code not in codes:
            return False
        needs = not self.needed_by or run.name.startswith(self.needed_by)
        return needs and re.search(self.refused, said) is not None


def _with_streams(**places: str) -> tuple[str, ...]:
    names = ("stdin", "stdout", "stderr")
    return tuple(places.get(name, seen) for name, seen in zip(names, _SEEN, strict=True))


def _list_surroundings() -> Iterator[Surrounding]:
    homes: Mapping[str, str | None] = {
        "unset": None,
        "empty": "",
        "relative": "user",
        "missing": "{cell}/missing",
        "a file": "{cell}/file",
    }
    for state, home in homes.items():
        # The entry counts only where HOME names no folder.
        for has_entry in (True, False) if not home else (False,):
            name = f"HOME is {state}" + (", and the user has an entry" if has_entry else "")
            lacks = not has_entry and state != "missing"
            with_home = Surrounding(
                name=name,
                environment={"HOME": home},
                has_entry=has_entry,
                refused=rf"{_NO_HOME}|/file/" if lacks else None,
                codes=(3, 4),
                needed_by=_OF_CLIENTS,
            )
            yield with_home
            yield evolve(
                with_home,
                name=f"{name}, and is all there is",
                environment={"HOME": home, "INFINITE_MEMORY_HOME": None},
                # A home folder that is made now holds a store that is empty.
                refused=with_home.refused or r"there is no|exists",
                codes=with_home.codes if lacks else (0, 1, 3, 4, 5),
                needed_by=(),
                is_bare=True,
            )
    broken = {"closed": "closed", "full": "/dev/full", "gone": "gone"}
    yield Surrounding(
        name="stdin is closed",
        streams=_with_streams(stdin="closed"),
        refused="text is empty",
        codes=(2,),
        needed_by=("remember stdin",),
    )
    for state, place in broken.items():
        yield Surrounding(
            name=f"stdout is {state}",
            streams=_with_streams(stdout=place),
            refused={"closed": "standard output is closed", "full": "No space left", "gone": ""}[
                state
            ],
            codes=({"closed": 2, "full": 4, "gone": 141}[state],),
            needed_by=("mcp stdio",) if state == "closed" else (),
        )
        yield Surrounding(name=f"stderr is {state}", streams=_with_streams(stderr=place))
    yield Surrounding(
        name="every stream is closed",
        streams=("closed", "closed", "closed"),
        refused="",
        codes=(2,),
        needed_by=("mcp stdio", "remember stdin"),
    )
    yield Surrounding(name="TMPDIR is missing", environment={"TMPDIR": "{cell}/missing"})
    yield Surrounding(name="TMPDIR is unwritable", modes={"tmp": 0o500})
    yield Surrounding(
        name="the folder is deleted",
        folder_is="deleted",
        refused=_NO_FOLDER,
        codes=(2,),
        needed_by=_OF_FOLDER,
    )
    yield Surrounding(
        name="the folder is unreadable",
        folder_is="unreadable",
        refused="Permission denied|this folder is in no repository",
        codes=(2, 3, 4),
        needed_by=_OF_FOLDER,
    )
    yield Surrounding(name="TERM is unset", environment={"TERM": None})
    yield Surrounding(name="TERM is dumb", environment={"TERM": "dumb"})
    for value in ("C", "POSIX", "xx_YY.UTF-8", "en_US.ISO-8859-1"):
        yield Surrounding(name=f"the locale is {value}", locale={"LC_ALL": value})
    ascii_alone = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    yield Surrounding(name="the locale knows ASCII alone", locale=ascii_alone)
    cannot_write = r"mounted read-only|Read-only file system|Permission denied|may not be read and"
    yield Surrounding(
        name="the home is mounted read-only", read_only=True, refused=cannot_write, codes=(4,)
    )
    yield Surrounding(
        name="the home is unwritable", modes={"home": 0o500}, refused=cannot_write, codes=(4,)
    )
    nothing: Mapping[str, str | None] = {"HOME": None, "TMPDIR": "{cell}/missing", "TERM": None}
    yield Surrounding(
        name="everything is absent but the streams that speak",
        environment={**nothing, "INFINITE_MEMORY_HOME": None},
        streams=_with_streams(stdin="closed"),
        folder_is="deleted",
        has_entry=False,
        refused=f"{_NO_HOME}|{_NO_FOLDER}",
        codes=(2, 3),
        is_bare=True,
    )


PLAIN = Surrounding(name="plain")
SURROUNDINGS: Sequence[Surrounding] = tuple(_list_surroundings())


@frozen(kw_only=True)
class Run:
    """A program with its arguments, in which {cell} is the folder of the cell."""

    name: str
    program: str = "infinite-memory"
    arguments: Sequence[str]
    stdin: str = ""
    is_http: bool = False


# Where the example of a command would go on for ever, or use files that are not there.
_ARGUMENTS: Mapping[str, str] = {
    "ingest-session": "ingest-session --dry-run",
    "serve": "serve --print-systemd",
    "web": "web --help",
    "copy": "copy {cell}/home {cell}/out/copy",
    "bundle": "bundle {cell}/out/bundle",
    "restore": "restore {cell}/in/a.imarchive --merge",
    "backup verify": "backup verify {cell}/in/a.imarchive",
    "export": "export {cell}/out/memories.jsonl",
    "import": "import {cell}/in/memories.jsonl",
    "graph export": "graph export 7c1d2e3f --to {cell}/out/around-it.graphml",
    "insights": "insights",
    "dream": "dream --cycles 1",
    "model use": "model use english --help",
    "project solutions": "project solutions timeout",
}
# Further ways of using a command that need something of their own around them.
_MORE: Mapping[str, str] = {
    "the first steps": "",
    "help": "--help",
    "version": "--version",
    "connect list": "connect",
    "connect --project": "connect cursor --project --dry-run",
    "serve --print-launchd": "serve --print-launchd",
    "remember many": "remember --from {cell}/in/memories.jsonl",
    "remember stdin": "remember -",
    "export relative": "export memories.jsonl",
    "config json": "config --json",
    "store in memory": "--store memory:// remember x",
}
_STORED = "Stored: id"
_EVENT = json.dumps({"session_id": "s1", "transcript_path": "/t/s1.jsonl", "cwd": "/"})
_FRAMES = "".join(
    json.dumps({"jsonrpc": "2.0", **frame}) + "\n"
    for frame in (
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "surroundings", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "store_memory", "arguments": {"text": "It was told on a pipe"}},
        },
    )
)


def list_commands() -> Iterator[tuple[str, click.Command, str]]:
    """Yield every command and subcommand with its name and its example, from the code."""
    from infinite_memory.apps.cli.command_table import COMMANDS, SUBCOMMAND_EXAMPLES
    from infinite_memory.apps.cli.main import infinite_memory

    context = click.Context(infinite_memory)
    for name, row in COMMANDS.items():
        command = infinite_memory.get_command(context, name)
        yield name, command, row.example
        if isinstance(command, click.Group):
            for inner, subcommand in command.commands.items():
                yield f"{name} {inner}", subcommand, SUBCOMMAND_EXAMPLES[f"{name} {inner}"]


def list_runs() -> Iterator[Run]:
    """Yield every way of running a program: each command, the servers, and the hook."""
    for name, _, example in list_commands():
        arguments = shlex.split(_ARGUMENTS.get(name, example))
        yield Run(name=name, arguments=arguments, stdin=_EVENT if name == "hook" else "")
    for name, line in _MORE.items():
        yield Run(name=name, arguments=shlex.split(line), stdin="It was typed\n")
    yield Run(name="hook program", program="infinite-memory-hook", arguments=["Stop"], stdin=_EVENT)
    yield Run(
        name="hook program at the start",
        program="infinite-memory-hook",
        arguments=["SessionStart"],
        stdin=_EVENT,
    )
    server = "infinite-memory-mcp"
    yield Run(name="mcp stdio", program=server, arguments=[], stdin=_FRAMES)
    yield Run(name="mcp http", program=server, arguments=["--http", "{address}"], is_http=True)
    yield Run(name="serve http", arguments=["serve", "--http", "{address}"], is_http=True)


@frozen(kw_only=True)
class Finding:
    """What came of a run in a surrounding; `problem` is "" if all of it is as it should be."""

    surrounding: str
    run: str
    code: int
    said: str
    problem: str = ""


class Laboratory:
    """A folder in which runs are made, each on a copy of the same store."""

    def __init__(self, folder: Path) -> None:
        """Prepare the store in `folder`."""
        self._cell, self._template = folder / "cell", folder / "template"
        self._processes: dict[tuple[tuple[str, str], ...], WarmProcess] = {}
        self._plain: dict[str, int] = {}
        self._prepare()

    def close(self) -> None:
        """End the warm processes."""
        for process in self._processes.values():
            process.close()

    def examine(self, run: Run, surrounding: Surrounding) -> Finding:
        """Make a run in a surrounding, and compare it with the run in the plain one."""
        code, answered = self._make(run, surrounding)
        said = "".join(
            path.read_text(errors="replace")
            for name in ("stdout", "stderr")
            if (path := self._cell / name).exists()
        )
        found = self._find_misplaced(surrounding)
        if not found:
            found = self._find_problem(run, surrounding, code, said, answered=answered)
        return Finding(
            surrounding=surrounding.name, run=run.name, code=code, said=said, problem=found
        )

    def _find_problem(
        self, run: Run, surrounding: Surrounding, code: int, said: str, *, answered: bool
    ) -> str:
        if "Traceback" in said:
            return "a traceback"
        if "defect" in said or "Error (" in said:
            return "called a defect"
        if code < 0:
            return f"ended by signal {-code}"
        if surrounding.allows(run, code, said):
            return ""
        plain = self._find_plain_code(run)
        if code != plain:
            return f"exit code {code} in place of {plain}" + ("" if said.strip() else ", no word")
        if run.is_http and not answered:
            return "no answer"
        is_heard = tuple(surrounding.streams[:2]) == _SEEN[:2]
        is_refused = surrounding.refused is not None and re.search(surrounding.refused, said)
        if run.name == "mcp stdio" and is_heard and not is_refused and _STORED not in said:
            return "no answer"
        return ""

    def _find_plain_code(self, run: Run) -> int:
        if run.name not in self._plain:
            self._plain[run.name] = self._make(run, PLAIN)[0]
        return self._plain[run.name]

    def _find_misplaced(self, surrounding: Surrounding) -> str:
        """Return what lies where nothing should, "" for nothing."""
        expected = {path.name for path in self._template.iterdir()}
        expected |= {"stdin", "stdout", "stderr", "out", "missing"}
        places = [*self._cell.iterdir()]
        if surrounding.folder_is == "there":
            places += (self._cell / "work").iterdir()
            expected |= {".git", "memories.jsonl"}
        found = [str(path.relative_to(self._cell)) for path in places if path.name not in expected]
        return f"misplaced {', '.join(found)}" if found else ""

    def _make(self, run: Run, surrounding: Surrounding) -> tuple[int, bool]:
        self._renew(surrounding)
        port = _find_port() if run.is_http else None
        cell = str(self._cell)
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": f"{cell}/user",
            "INFINITE_MEMORY_HOME": f"{cell}/home",
            "TMPDIR": f"{cell}/tmp",
            "TERM": "xterm",
            "SHELL": "/bin/bash",
            **surrounding.environment,
            **surrounding.locale,
        }
        (self._cell / "stdin").write_text(run.stdin)
        call = Call(
            program=run.program,
            arguments=[
                word.replace("{cell}", cell).replace("{address}", f"127.0.0.1:{port}")
                for word in run.arguments
            ],
            environment={
                name: value.format(cell=cell)
                for name, value in environment.items()
                if value is not None
            },
            streams=[place.format(cell=cell) for place in surrounding.streams],
            folder=f"{cell}/work",
            folder_is=surrounding.folder_is,
            users=f"{cell}/users",
            writable=cell,
            read_only=f"{cell}/home" if surrounding.read_only else None,
            port=port,
        )
        outcome = self._process(surrounding.locale).run(call)
        return outcome.code, outcome.answered

    def _process(self, locale: Mapping[str, str]) -> WarmProcess:
        key = tuple(locale.items())
        if key not in self._processes:
            self._processes[key] = WarmProcess(**locale)
        return self._processes[key]

    def _renew(self, surrounding: Surrounding) -> None:
        """Put the folder of the cell back to what it was."""
        if self._cell.exists():
            for path in (self._cell / "work", self._cell / "tmp", self._cell / "home"):
                if path.exists():
                    path.chmod(0o700)
            shutil.rmtree(self._cell)
        shutil.copytree(self._template, self._cell)
        if surrounding.is_bare:
            for place in ("user", "account"):
                shutil.copytree(self._cell / "home", self._cell / place / ".infinite-memory")
        entry = f"someone:x:{USER}:{USER}::{self._cell}/account:/bin/bash\n"
        (self._cell / "users").write_text(entry if surrounding.has_entry else "")
        for name, mode in surrounding.modes.items():
            (self._cell / name).chmod(mode)

    def _prepare(self) -> None:
        self._template.mkdir(parents=True)
        for name in ("home", "user", "account", "work", "tmp", "out", "in"):
            (self._template / name).mkdir(mode=0o700)
        (self._template / "file").write_text("no folder")
        (self._template / "users").touch()
        (self._template / "work" / ".git").mkdir()
        rows = [json.dumps({"text": f"memory {number}"}) + "\n" for number in range(3)]
        (self._template / "in" / "memories.jsonl").write_text("".join(rows))
        for line in (
            "remember 'The deadline of Apollo is June 5' --id 7c1d2e3f --scope apollo",
            "remember 'Apollo moved to Bergen' --id 9a8b7c6d",
            "backup --to {cell}/in/a.imarchive",
        ):
            code, _ = self._make(Run(name=line, arguments=shlex.split(line)), PLAIN)
            said = (self._cell / "stderr").read_text()
            if code:
                raise AssertionError(f"{line}: {code}: {said}")
            for name in ("stdin", "stdout", "stderr"):
                (self._cell / name).unlink()
            shutil.rmtree(self._template)
            self._cell.rename(self._template)


def _find_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
