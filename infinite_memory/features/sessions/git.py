"""Git: where a repository is and its remotes, by its files; and what the command says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from attrs import frozen

from infinite_memory.core.errors import ConfigurationError
from infinite_memory.core.files.regular import open_regular
from infinite_memory.core.paths import find_user_home

_MAX_FILE_BYTES = 1 << 20
_SECONDS, _FIRST_COMMIT_SECONDS = 5.0, 2.0
_COMMIT, _HASH = re.compile(r"[0-9a-f]{40,64}"), re.compile(r"[0-9a-f]{7,64}")
# A clone in part fetches what it lacks, by a command that its own configuration may name. Of the
# rest of the environment, GIT_DIR and its like would lead to another repository.
_OFFLINE = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
_HEADER = re.compile(r'\[\s*(?P<section>[\w.-]+)\s*(?:"(?P<name>(?:[^"\\]|\\.)*)")?\s*\]')
_PAIR = re.compile(r"\s*(?P<key>[a-zA-Z][\w-]*)\s*=\s*(?P<value>.*)")
# Quotes go, with a backslash before a sign in them, and so does a comment behind the value.
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|\s*[#;].*')
_ESCAPED = re.compile(r"\\(.)")


@frozen
class Repository:
    """A repository on this machine.

    `git` is the real path of the folder with its configuration, which its worktrees share. `place`
    is the folder that it is named by: its work tree, or where git has a folder of its own that.
    """

    git: Path
    place: Path


def find_work_tree(folder: Path) -> Path | None:
    """Return the folder that holds `folder` and the `.git` of its repository, or None.

    A repository of the whole home folder holds the home folder alone, not what lies below.
    """
    home = _find_home()
    for parent in (folder, *folder.parents):
        if parent == home and parent != folder:
            return None
        try:
            if (parent / ".git").exists():
                return parent
        except (OSError, ValueError):
            return None
    return None


def find_repository(folder: Path) -> Repository | None:
    """Return the repository that holds `folder`, None without one or with a link that is broken.

    A worktree and a submodule have a file `.git` that names a folder, and a worktree's folder names
    the one that it shares with the others.
    """
    top = find_work_tree(folder)
    if top is None:
        return None
    git = top / ".git"
    try:
        if git.is_dir():
            return Repository(_resolve(git), top)
        text = read_git_text(git)
        link = text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else ""
        if not link:
            return None
        own = top / link
        shared = read_git_text(own / "commondir").strip()
        git = _resolve(own / shared)
        if not git.is_dir():
            return None
    except (OSError, ValueError):
        return None
    return Repository(git, _name_place(git) if shared else top)


def find_repository_at(path: Path) -> Repository | None:
    """Return the repository at a local address, which may be bare, None if there is none."""
    with suppress(OSError, ValueError):
        if (path / ".git").exists():
            return find_repository(path)
        for git in (path, path.with_name(f"{path.name}.git")):
            if (git / "objects").is_dir():
                return Repository(_resolve(git), _name_place(git))
    return None


def _name_place(git: Path) -> Path:
    """Return the folder that a folder of git is named by: "a" for "a/.git", "a/.bare", "a.git"."""
    return git.parent if git.name.startswith(".") else git.with_name(git.name.removesuffix(".git"))


def list_remotes(repository: Repository) -> list[str]:
    """Return the addresses of the remotes: origin, the remote of the oldest branch, the others.

    They are as git uses them, after `insteadOf` in the configuration of the repository or the user.
    """
    settings = _read_settings(repository.git / "config")
    urls: dict[str, str] = {}
    for key, name, value in settings:
        if key == "remote.url" and value:
            urls.setdefault(name, value)
    if not urls:
        return []
    tracked = [value for key, _, value in settings if key == "branch.remote"]
    rules = [*settings, *_read_user_settings()]
    bases = {value: name for key, name, value in rules if key == "url.insteadof" and value}
    order = dict.fromkeys(["origin", *tracked[:1], *sorted(urls)])
    return [_rewrite(urls[name], bases) for name in order if name in urls]


def local_path_of_url(url: str, top: Path) -> Path | None:
    """Return the path of a remote on this machine, None for an address of another kind."""
    if url.casefold().startswith("file://"):
        return Path("/", unquote(url[len("file://") :]).partition("/")[2])
    # A colon before any slash begins the path on a server, unless it follows the letter of a drive.
    is_remote = ":" in url.partition("/")[0] and not Path(url).drive
    return None if is_remote or not url else Path(os.path.normpath(top / url))


def read_git_text(path: Path) -> str:
    """Return the text of a small file of git, "" if it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(_MAX_FILE_BYTES).decode(errors="replace")
    except (OSError, ValueError):
        return ""


def _read_settings(path: Path) -> Sequence[tuple[str, str, str]]:
    """Return the settings of a configuration of git: "section.key", the name, and the value."""
    return list(_parse_settings(read_git_text(path)))


def _parse_settings(text: str) -> Iterator[tuple[str, str, str]]:
    section = name = ""
    for line in text.replace("\\\n", "").splitlines():
        rest = line.strip()
        if rest.startswith("["):
            header = _HEADER.match(rest)
            section, name = "", ""
            if header is not None:
                # An old spelling puts the name behind a dot.
                section, _, old_name = header["section"].lower().partition(".")
                name = _ESCAPED.sub(r"\1", header["name"] or old_name)
                rest = rest[header.end() :]
        pair = _PAIR.match(rest)
        if section and pair is not None:
            value = _QUOTED.sub(lambda match: match[1] or "", pair["value"]).strip()
            yield f"{section}.{pair['key'].lower()}", name, _ESCAPED.sub(r"\1", value)


def _read_user_settings() -> Iterator[tuple[str, str, str]]:
    home = _find_home()
    if home is not None:
        for path in (home / ".gitconfig", home / ".config" / "git" / "config"):
            yield from _read_settings(path)


def _rewrite(url: str, bases: dict[str, str]) -> str:
    """Return an address with the base that stands for the longest of its beginnings."""
    begun = max((begin for begin in bases if url.startswith(begin)), key=len, default=None)
    return url if begun is None else bases[begun] + url[len(begun) :]


def run_git(
    folder: Path, *arguments: str, given: str = "", seconds: float = _SECONDS
) -> str | None:
    """Return what git prints in a folder, None if it fails, takes too long, or is not there.

    Its standard input is `given`.
    """
    # Nothing that the configuration of the repository names is run.
    safe = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=", "--no-optional-locks")
    git = shutil.which("git")
    if git is None:
        return None
    try:
        done = subprocess.run(
            [git, "-C", str(folder), *safe, *arguments],
            env=_make_environment(),
            input=given.encode(),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


@lru_cache(maxsize=256)
def find_first_commit(git: Path, mark: str, hour: int) -> str | None:  # noqa: ARG001
    """Return the first commit of the repository with the folder `git`, None if git says none.

    A failure is kept too, until the `hour` or the `mark` of the folder is another, so that a git
    that hangs or is missing is not started at each prompt.
    """
    told = run_git(
        git,
        *(f"--git-dir={git}", "rev-list", "--max-parents=0", "--first-parent", "HEAD"),
        seconds=_FIRST_COMMIT_SECONDS,
    )
    lines = (told or "").split()
    return lines[-1] if lines and _COMMIT.fullmatch(lines[-1]) else None


def list_commits_in(git: Path, commits: list[str]) -> set[str]:
    """Return those of the commits, by their hashes, that the repository with a folder has."""
    commits = [commit for commit in commits if _HASH.fullmatch(commit)]
    told = run_git(git, f"--git-dir={git}", "cat-file", "--batch-check", given="\n".join(commits))
    lines = (told or "").splitlines()
    found = zip(commits, lines, strict=False)
    return {commit for commit, line in found if line.split()[1:2] == ["commit"]}


def _make_environment() -> dict[str, str]:
    """Return the environment of git, which also works for a user without a home folder."""
    home = _find_home()
    return dict(_OFFLINE) if home is None else {"HOME": str(home), **_OFFLINE}


def _resolve(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _find_home() -> Path | None:
    with suppress(ConfigurationError):
        return find_user_home()
    return None
