"""Groups of slow tests, each with a digest of the files that it tests.

    python tests/slow.py                     list the groups, and which are due
    python tests/slow.py --names due         print the names of the groups that are due (or: all)
    python tests/slow.py --write [GROUP...]  run the groups, all by default; note those that pass
    python tests/slow.py --write due         run the groups that are due, and note those that pass

`tests/slow.json` names the files of each group as globs, and holds the digest of these files when
the group last passed. A group is due where the files differ from that digest. `.ci/run` runs the
groups that are due, and never writes. A test joins a group by `pytest.mark.slow("GROUP")`;
`pytest --slow GROUP` runs the group, and no other test.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
_FILE = Path("tests", "slow.json")
_NAME = re.compile(r"[a-z]+(-[a-z]+)*")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class SlowGroupsError(Exception):
    """`tests/slow.json` or a name of a group is wrong; the message says where and how."""


@dataclass(frozen=True)
class Group:
    """A group of slow tests: what it proves, the globs of its files, the digest when it passed.

    A group with `rows` runs the rows that the fast suite leaves out in these files and folders.
    """

    name: str
    proves: str
    globs: tuple[str, ...]
    digest: str | None
    rows: tuple[str, ...] = ()


def read_groups(root: Path = ROOT) -> dict[str, Group]:
    """Return the groups of `tests/slow.json` by name, or raise `SlowGroupsError`."""
    content = _read(root)
    groups, digests = content["groups"], content["digests"]
    if unknown := sorted(digests.keys() - groups.keys()):
        raise SlowGroupsError(
            f"{_FILE}: there is a digest of {unknown[0]!r}, which is no group; "
            "remove the digest, or add the group"
        )
    return {name: _check_group(name, fields, digests.get(name)) for name, fields in groups.items()}


def _read(root: Path) -> dict[str, dict[str, Any]]:
    try:
        content = json.loads((root / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SlowGroupsError(f"{_FILE} cannot be read: {error}") from error
    if (
        not isinstance(content, dict)
        or content.keys() != {"groups", "digests"}
        or not all(isinstance(part, dict) for part in content.values())
    ):
        raise SlowGroupsError(f'{_FILE} must be an object of two objects, "groups" and "digests"')
    return content


def _check_group(name: str, fields: Any, digest: Any) -> Group:
    if not _NAME.fullmatch(name) or name in {"all", "due"}:
        raise SlowGroupsError(
            f"{_FILE}: {name!r} cannot be the name of a group; "
            "take small letters and hyphens, and neither 'all' nor 'due'"
        )
    if not isinstance(fields, dict) or fields.keys() - {"rows"} != {"proves", "files"}:
        raise SlowGroupsError(
            f'{_FILE}: the group {name!r} must have "proves" and "files", and may have "rows"'
        )
    proves, globs = fields["proves"], fields["files"]
    if not isinstance(proves, str) or not proves:
        raise SlowGroupsError(f'{_FILE}: "proves" of the group {name!r} must be a sentence')
    if not isinstance(globs, list) or not all(isinstance(glob, str) and glob for glob in globs):
        raise SlowGroupsError(f'{_FILE}: "files" of the group {name!r} must be a list of globs')
    if not globs:
        raise SlowGroupsError(f"{_FILE}: the group {name!r} names no files")
    if digest is not None and not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
        raise SlowGroupsError(
            f"{_FILE}: the digest of {name!r} is {digest!r}, which is no SHA-256; remove it, "
            "and the group is due"
        )
    rows = fields.get("rows", [])
    if not isinstance(rows, list) or not all(isinstance(place, str) for place in rows):
        raise SlowGroupsError(f'{_FILE}: "rows" of the group {name!r} must be a list of paths')
    return Group(name, proves, tuple(globs), digest, tuple(rows))


def list_files(group: Group, root: Path = ROOT) -> list[Path]:
    """Return the files of a group, sorted; raise `SlowGroupsError` if a glob matches none."""
    files: set[Path] = set()
    for glob in group.globs:
        try:
            paths = list(root.glob(glob))
        except (ValueError, NotImplementedError) as error:
            raise SlowGroupsError(
                f"{_FILE}: {glob!r} of the group {group.name!r} is no glob: {error}"
            ) from error
        matches = {path for path in paths if path.is_file() and "__pycache__" not in path.parts}
        if not matches:
            raise SlowGroupsError(
                f"{_FILE}: {glob!r} of the group {group.name!r} matches no file; "
                "was the file moved or deleted?"
            )
        files |= matches
    return sorted(files)


def compute_digest(group: Group, root: Path = ROOT) -> str:
    """Return the SHA-256 of the paths and contents of a group's files."""
    digest = hashlib.sha256()
    for path in list_files(group, root):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{content} {path.relative_to(root).as_posix()}\n".encode())
    return digest.hexdigest()


def list_due(groups: Iterable[Group], root: Path = ROOT) -> list[str]:
    """Return the names of the groups whose files are not as they were when the group passed."""
    return [group.name for group in groups if compute_digest(group, root) != group.digest]


def resolve_names(names: str, groups: Iterable[str]) -> set[str]:
    """Return the groups that an option names: a list with commas, "all", or nothing."""
    known = set(groups)
    chosen = known if names == "all" else {name.strip() for name in names.split(",") if name}
    if unknown := sorted(chosen - known):
        listed = ", ".join(sorted(known))
        raise SlowGroupsError(f"{unknown[0]!r} is no group of slow tests; {_FILE} has {listed}")
    return chosen


def list_test_files(group: Group, root: Path = ROOT) -> list[Path]:
    """Return the test files with a test of the group; each must be among the group's files."""
    if group.rows:
        places = [root / place for place in group.rows]
        if missing := [place for place in places if not place.exists()]:
            raise SlowGroupsError(
                f"{_FILE}: {missing[0].relative_to(root)} of the group {group.name!r} is not there"
            )
        return places
    mark = f'mark.slow("{group.name}")'
    files = [
        path
        for path in sorted((root / "tests").rglob("test_*.py"))
        if mark in path.read_text(encoding="utf-8")
    ]
    if not files:
        raise SlowGroupsError(f"no test is marked with {mark}: remove the group, or mark its tests")
    if missing := sorted(set(files) - set(list_files(group, root))):
        raise SlowGroupsError(
            f"{_FILE}: the group {group.name!r} has tests in {missing[0].relative_to(root)}, "
            "which must be one of its files"
        )
    return files


def write_digest(name: str, digest: str, root: Path = ROOT) -> None:
    """Note that a group passed; the file is replaced as a whole."""
    content = _read(root)
    content["digests"] = dict(sorted({**content["digests"], name: digest}.items()))
    new = (root / _FILE).with_suffix(".json.new")
    new.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    new.replace(root / _FILE)


def _run_group(group: Group, root: Path) -> str | None:
    """Run a group; return None and note its digest if it passes, or why it is not noted."""
    digest = compute_digest(group, root)
    files = [str(path.relative_to(root)) for path in list_test_files(group, root)]
    command = [sys.executable, "-m", "pytest", "--quiet", "--slow", group.name]
    workers = ["--numprocesses", "auto", "--dist", "worksteal"]
    # Many slow tests wait for a process or a server.
    count = str(2 * (os.cpu_count() or 1))
    environment = {"PYTEST_XDIST_AUTO_NUM_WORKERS": count, **os.environ}
    with tempfile.TemporaryDirectory() as folder:
        reports = [Path(folder, "first.xml"), Path(folder, "again.xml")]
        first = [*command, *workers, f"--junitxml={reports[0]}", *files]
        code = subprocess.run(first, cwd=root, env=environment).returncode
        if code == 1:
            print(f"-- {group.name}: again, one by one; what passes now is unsteady", flush=True)
            again = ["--verbose", "--last-failed", "--last-failed-no-failures", "none"]
            again += [f"--junitxml={reports[1]}"]
            code = subprocess.run([*command, *again, *files], cwd=root).returncode
        passed = sum(map(_count_passed, reports))
    if code:
        return f"FAILED: pytest ended with {code}"
    if not passed:
        return "not noted: every test was skipped, so nothing was proved; the output says why"
    if compute_digest(group, root) != digest:
        return "not noted: its files were changed while it ran"
    write_digest(group.name, digest, root)
    return None


def _count_passed(report: Path) -> int:
    """Return how many tests of a report in the JUnit format passed, 0 if there is no report."""
    if not report.exists():
        return 0
    return sum(
        not any(outcome.tag in ("failure", "error", "skipped") for outcome in case)
        for case in ElementTree.parse(report).iter("testcase")
    )


def _run_groups(groups: Sequence[Group], root: Path) -> int:
    lines = []
    failed = False
    for group in groups:
        print(f"== {group.name}: {group.proves}", flush=True)
        began = time.monotonic()
        failure = _run_group(group, root)
        minutes = (time.monotonic() - began) / 60
        failed |= failure is not None
        lines.append(f"{group.name:24} {minutes:5.1f} min  {failure or 'passed, and is noted'}")
    print("\n".join(["", *lines]))
    return 1 if failed else 0


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Carry out one command; return 0, 1 if a group failed, or 2 with a sentence on stderr."""
    parser = argparse.ArgumentParser(
        prog="tests/slow.py", description=(__doc__ or "").split("\n")[0]
    )
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--names", choices=["due", "all"], help="print names, joined by commas")
    choice.add_argument(
        "--write", nargs="*", metavar="GROUP", help="run groups, and note those that pass"
    )
    options = parser.parse_args(arguments)
    try:
        groups = read_groups(root)
        due = list_due(groups.values(), root)
        if options.names is not None:
            print(",".join(due if options.names == "due" else groups))
        elif options.write is not None:
            is_due = options.write == ["due"]
            chosen = set(due) if is_due else resolve_names(",".join(options.write) or "all", groups)
            return _run_groups([group for group in groups.values() if group.name in chosen], root)
        else:
            for group in groups.values():
                state = "due" if group.name in due else "passed as it is"
                print(f"{group.name:24} {state:16} {group.proves}")
    except SlowGroupsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
