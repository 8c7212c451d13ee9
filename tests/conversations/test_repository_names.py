"""The scope of a repository: by its remote in any spelling, else by where and what it is."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from infinite_memory import Config
from infinite_memory.features.sessions import known_repositories
from infinite_memory.features.sessions.git import find_first_commit, find_repository
from infinite_memory.features.sessions.known_repositories import KnownRepositories
from infinite_memory.features.sessions.repository import find_project, scope_of_folder
from infinite_memory.features.sessions.scope_names import name_of_url

APOLLO = "repo/github.com/alice/apollo"
IDENTITY = ["-c", "user.name=Alice", "-c", "user.email=alice@example.org"]


def clone(folder: Path, url: str, remote: str = "origin") -> Path:
    """Make the files of a clone, without starting git."""
    (folder / ".git").mkdir(parents=True)
    config = f'[core]\n\tbare = false\n[remote "{remote}"]\n\turl = {url}\n\tfetch = +refs/*\n'
    (folder / ".git" / "config").write_text(config)
    return folder


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", *IDENTITY, "-C", str(folder), *arguments], check=True, capture_output=True
    )


def init(folder: Path, *, commit: str = "") -> Path:
    """Make a repository, with a first commit that is told from others by its text."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    if commit:
        git(folder, "commit", "-q", "--allow-empty", "-m", commit)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home folder of the memory."""
    folder = tmp_path / "memory"
    folder.mkdir()
    return folder


@pytest.fixture
def scope(home: Path) -> Callable[[Path], str | None]:
    """Return the scope of the repository that holds a folder, None without one."""

    def find(folder: Path) -> str | None:
        project = find_project(folder, Config(home=home), home)
        return None if project is None else project.name

    return find


SPELLINGS = [
    "https://github.com/alice/apollo",
    "https://github.com/alice/apollo.git",
    "https://github.com/alice/apollo/",
    "https://github.com/alice/apollo.git/",
    "https://github.com//alice//apollo.git",
    "http://github.com/alice/apollo",
    "https://GitHub.COM/alice/apollo.git",
    "https://github.com:443/alice/apollo.git",
    "https://alice@github.com/alice/apollo.git",
    "https://alice:secret@github.com/alice/apollo.git",
    "https://alice:p%40ss@github.com:8443/alice/apollo.git",
    "https://alice:a@b@github.com/alice/apollo",
    "HTTPS://github.com/alice/apollo",
    "ssh://git@github.com/alice/apollo.git",
    "ssh://git@github.com:22/alice/apollo.git",
    "ssh://github.com:/alice/apollo",
    "ssh://git@github.com/~/alice/apollo.git",
    "git+ssh://git@github.com/alice/apollo.git",
    "ssh+git://git@github.com/alice/apollo.git",
    "git://github.com/alice/apollo.git",
    "git://github.com:9418/alice/apollo.git",
    "ftps://github.com/alice/apollo.git",
    "git@github.com:alice/apollo.git",
    "git@github.com:alice/apollo",
    "git@github.com:alice/apollo/",
    "git@github.com:/alice/apollo.git",
    "git@github.com:~/alice/apollo.git",
    "git@[github.com]:alice/apollo.git",
    "[git@github.com:2222]:alice/apollo.git",
    "github.com:alice/apollo.git",
    "git@GitHub.com:alice/apollo.git",
    "https::https://github.com/alice/apollo.git",
    "https://github.com/alice/%61pollo",
]


@pytest.mark.parametrize("url", SPELLINGS)
def test_a_remote_has_one_name_in_every_spelling(url: str) -> None:
    assert name_of_url(url) == APOLLO


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ssh://git@git.example.org:2222/team/sub/apollo.git", "git.example.org/team/sub/apollo"),
        ("gitlab.com:team/apollo", "gitlab.com/team/apollo"),
        ("host.xz:apollo.git", "host.xz/apollo"),
        ("https://git.example.org/~ada/apollo.git", "git.example.org/~ada/apollo"),
        ("host.xz:~ada/apollo.git", "host.xz/~ada/apollo"),
        ("ssh://git@[2001:db8::1]:2222/team/apollo.git", "2001-db8-1/team/apollo"),
        ("git@[2001:db8::1]:team/apollo.git", "2001-db8-1/team/apollo"),
        ("https://github.com/a b/c", "github.com/a-b/c"),
        ("https://github.com/a%20b/c", "github.com/a-b/c"),
        ("https://dev.azure.com/team/web/_git/app", "dev.azure.com/team/web/_git/app"),
    ],
)
def test_a_remote_on_any_server_has_a_name(url: str, expected: str) -> None:
    assert name_of_url(url) == f"repo/{expected}"


@pytest.mark.parametrize(
    "url",
    [
        "/srv/git/apollo.git",
        "../apollo",
        "./host:apollo",
        "apollo",
        "file:///srv/git/apollo.git",
        "FILE:///srv/git/apollo.git",
        "file://localhost/srv/git/apollo.git",
        "C:\\git\\apollo",
        "C:/git/apollo",
        "https://github.com/",
        "https://github.com/.git",
        "https://",
        "codecommit::eu-west-1://apollo",
        "",
    ],
)
def test_what_names_no_server_has_no_name(url: str) -> None:
    assert name_of_url(url) is None


def test_a_name_that_is_too_long_for_a_scope_is_cut_and_stays_its_own() -> None:
    names = {name_of_url(f"https://github.com/{'a' * 200}/{part}") for part in "bc"}
    assert len(names) == 2
    assert all(name is not None and len(name) == 128 for name in names)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('[remote "origin"]\n\turl = {}\n', APOLLO),
        ('[remote "origin"] url = {}', APOLLO),
        ('[Remote "origin"]\nURL="{}" # ours\n', APOLLO),
        ("[remote.origin]\nurl = {} ; ours\n", APOLLO),
        ('[remote "origin"]\nurl =\nurl = {}\nurl = git@host.xz:other/one.git\n', APOLLO),
        ('[remote "origin"]\npushurl = git@host.xz:other/one.git\nurl = {}\n', APOLLO),
        ('[remote "origin"]\nurl = git@github\\\n.com:alice/apollo.git\n', APOLLO),
        ('[remote "a \\"fork\\""]\nurl = {}\n', APOLLO),
        ('[remote "fork"]\nurl = git@host.xz:f/g\n[remote "origin"]\nurl = {}\n', APOLLO),
        ('[remote "b"]\nurl = git@host.xz:f/g\n[remote "a"]\nurl = {}\n', APOLLO),
        (
            '[remote "a"]\nurl = git@host.xz:f/g\n[remote "up"]\nurl = {}\n'
            '[branch "main"]\n\tremote = up\n[branch "next"]\n\tremote = a\n',
            APOLLO,
        ),
        ('[remote "origin"]\nurl = /gone\n[remote "server"]\nurl = {}\n', APOLLO),
        (
            '[url "git@github.com:"]\ninsteadOf = gh:\n[remote "origin"]\nurl = gh:alice/apollo',
            APOLLO,
        ),
        (
            '[url "x:"]\ninsteadOf = g\n[url "git@github.com:"]\ninsteadOf = gh:\n'
            '[remote "origin"]\nurl = gh:alice/apollo',
            APOLLO,
        ),
        ("[remote\n\xff\x00 url = x\n[]\n= {}", None),
        ('[remote "origin"]\nfetch = {}\n', None),
    ],
)
def test_the_configuration_of_git_is_read_as_git_does(
    tmp_path: Path, scope: Callable[[Path], str | None], config: str, expected: str | None
) -> None:
    folder = tmp_path / "ada" / "work"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(
        config.replace("{}", "git@github.com:alice/apollo.git"), "utf-8"
    )
    (folder / "src" / "deep").mkdir(parents=True)
    for place in (folder, folder / "src" / "deep", folder / "gone"):
        assert scope(place) == (expected or "repo/local/ada/work")


def test_an_abbreviation_in_the_configuration_of_the_user_is_read(
    tmp_path: Path, scope: Callable[[Path], str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text('[url "https://github.com/"]\n\tinsteadOf = gh:\n')
    assert scope(clone(tmp_path / "work", "gh:alice/apollo")) == APOLLO


def test_a_worktree_that_git_made_is_its_repository(
    tmp_path: Path, scope: Callable[[Path], str | None]
) -> None:
    main = init(tmp_path / "ada" / "apollo", commit="Begin")
    git(main, "worktree", "add", "-q", str(tmp_path / "next"))
    assert scope(tmp_path / "next") == scope(main) == "repo/local/ada/apollo"
    git(main, "remote", "add", "origin", "git@github.com:alice/apollo.git")
    assert scope(tmp_path / "next") == scope(main) == APOLLO


def test_the_worktrees_of_a_bare_repository_are_one(
    tmp_path: Path, scope: Callable[[Path], str | None]
) -> None:
    source = init(tmp_path / "source", commit="Begin")
    for bare, expected in (("apollo.git", "ada/apollo"), ("luna/.bare", "ada/luna")):
        path = tmp_path / "ada" / bare
        git(source, "clone", "-q", "--bare", str(source), str(path))
        git(path, "remote", "remove", "origin")
        for name in ("one", "two"):
            git(path, "worktree", "add", "-q", "-b", name, str(path.parent / f"{path.stem}-{name}"))
        # The second of two with one first commit is told from the first, however it is named.
        names = {scope(path.parent / f"{path.stem}-{name}") for name in ("one", "two")}
        assert names == {f"repo/local/{expected}"}


@pytest.mark.parametrize("commit", ["Begin", ""])
def test_a_folder_that_is_renamed_or_moved_stays_one(
    tmp_path: Path, scope: Callable[[Path], str | None], commit: str
) -> None:
    folder = init(tmp_path / "ada" / "apollo", commit=commit)
    assert scope(folder / "src") == "repo/local/ada/apollo"
    for moved in (tmp_path / "ada" / "zeus", tmp_path / "code" / "deep" / "apollo"):
        moved.parent.mkdir(parents=True, exist_ok=True)
        folder = folder.rename(moved)
        assert scope(folder) == "repo/local/ada/apollo"
    # Another one that begins in the first place is another one.
    assert scope(init(tmp_path / "ada" / "apollo", commit="Other")) != "repo/local/ada/apollo"
    assert scope(folder) == "repo/local/ada/apollo"


def test_a_repository_that_is_moved_to_another_disk_is_known_by_its_first_commit(
    tmp_path: Path, scope: Callable[[Path], str | None]
) -> None:
    folder = init(tmp_path / "ada" / "apollo", commit="Begin")
    assert scope(folder) == "repo/local/ada/apollo"
    shutil.copytree(folder, tmp_path / "disk" / "a")
    (tmp_path / "disk" / "a" / ".git" / "description").write_text("another time")
    shutil.rmtree(folder)
    assert scope(tmp_path / "disk" / "a") == "repo/local/ada/apollo"


@pytest.mark.parametrize("copy", [shutil.copy, shutil.copy2])
def test_a_copy_beside_its_original_is_another_project(
    tmp_path: Path, scope: Callable[[Path], str | None], copy: Callable[[str, str], object]
) -> None:
    template = init(tmp_path / "ada" / "template", commit="Begin")
    assert scope(template) == "repo/local/ada/template"
    for name in ("app", "web"):
        shutil.copytree(template, tmp_path / "ada" / name, copy_function=copy)
        assert scope(tmp_path / "ada" / name) == f"repo/local/ada/{name}"
    # Once one of several copies is gone, the next copy is not taken for it.
    shutil.rmtree(tmp_path / "ada" / "app")
    shutil.copytree(template, tmp_path / "ada" / "api")
    (tmp_path / "ada" / "api" / ".git" / "description").write_text("another time")
    assert scope(tmp_path / "ada" / "api") == "repo/local/ada/api"
    assert scope(template) == "repo/local/ada/template"


def test_of_two_with_one_name_the_second_has_the_beginning_of_its_first_commit_behind(
    tmp_path: Path, scope: Callable[[Path], str | None]
) -> None:
    folders = [init(tmp_path / disk / "ada" / "app", commit=disk) for disk in ("x", "y")]
    shutil.copytree(folders[1], tmp_path / "z" / "ada" / "app")
    first, second, third = map(scope, [*folders, tmp_path / "z" / "ada" / "app"])
    log = subprocess.run(
        ["git", "-C", str(folders[1]), "rev-parse", "HEAD"], capture_output=True, check=True
    )
    assert first == "repo/local/ada/app"
    assert second == f"repo/local/ada/app~{log.stdout[:7].decode()}"
    assert third == "repo/local/ada/app~2"
    assert [scope(folder) for folder in reversed(folders)] == [second, first]


def test_a_clone_by_path_is_its_original(
    tmp_path: Path, scope: Callable[[Path], str | None]
) -> None:
    original = init(tmp_path / "ada" / "apollo", commit="Begin")
    assert scope(original) == "repo/local/ada/apollo"
    for number, url in enumerate((str(original), f"file://{original}", str(original / ".git"))):
        git(tmp_path, "clone", "-q", url, f"clone{number}")
        assert scope(tmp_path / f"clone{number}") == "repo/local/ada/apollo"
    git(tmp_path, "clone", "-q", "clone0", "second")
    assert scope(tmp_path / "second") == "repo/local/ada/apollo"
    # It stays so when the original goes elsewhere, and gets the remote of the original.
    moved = original.rename(tmp_path / "ada" / "zeus")
    assert scope(moved) == scope(tmp_path / "clone1") == "repo/local/ada/apollo"
    git(tmp_path, "clone", "-q", str(moved), "third")
    git(moved, "remote", "add", "origin", "git@github.com:alice/apollo.git")
    assert scope(tmp_path / "third") == APOLLO


def test_a_backup_at_a_path_and_a_clone_of_it_belong_to_the_repository(
    tmp_path: Path, scope: Callable[[Path], str | None]
) -> None:
    folder, backup = init(tmp_path / "ada" / "apollo", commit="Begin"), tmp_path / "backup.git"
    assert scope(folder) == "repo/local/ada/apollo"
    git(tmp_path, "init", "-q", "--bare", "backup.git")
    git(folder, "remote", "add", "origin", str(backup))
    assert scope(folder) == "repo/local/ada/apollo"
    git(folder, "push", "-q", "origin", "main")
    git(tmp_path, "clone", "-q", str(backup), "again")
    assert scope(tmp_path / "again") == scope(folder) == "repo/local/ada/apollo"
    # Two that were two before stay two.
    other = init(tmp_path / "ada" / "luna", commit="Other")
    assert scope(other) == "repo/local/ada/luna"
    git(other, "remote", "add", "origin", str(folder))
    assert scope(other) == "repo/local/ada/luna"
    assert scope(folder) == "repo/local/ada/apollo"


def test_what_is_gone_and_has_a_remote_is_not_kept(
    tmp_path: Path, home: Path, scope: Callable[[Path], str | None]
) -> None:
    for number in range(3):
        folder = clone(tmp_path / f"work{number}", "git@github.com:alice/apollo.git")
        assert scope(folder) == APOLLO
        shutil.rmtree(folder)
    assert len(KnownRepositories(home).read()) == 1


def test_clones_of_a_path_on_a_disk_are_one_also_while_the_disk_is_away(
    tmp_path: Path, scope: Callable[[Path], str | None]
) -> None:
    source = init(tmp_path / "source", commit="Begin")
    bare = tmp_path / "disk" / "apollo.git"
    git(source, "clone", "-q", "--bare", str(source), str(bare))
    git(bare, "remote", "remove", "origin")
    for name in ("one", "two", "three"):
        git(tmp_path, "clone", "-q", str(bare), name)
    assert scope(tmp_path / "one") == "repo/local/disk/apollo"
    bare.rename(tmp_path / "away.git")
    assert scope(tmp_path / "two") == scope(tmp_path / "one")
    (tmp_path / "away.git").rename(bare)
    assert scope(tmp_path / "three") == scope(tmp_path / "one")


def test_a_submodule_is_a_repository_of_its_own(
    tmp_path: Path, scope: Callable[[Path], str | None]
) -> None:
    library, main = init(tmp_path / "library", commit="Lib"), init(tmp_path / "main", commit="M")
    allow = ("-c", "protocol.file.allow=always")
    git(main, *allow, "submodule", "add", "-q", str(library), "vendor/lib")
    part = main / "vendor" / "lib"
    git(part, "remote", "set-url", "origin", "git@github.com:alice/lib.git")
    assert scope(part / "src") == "repo/github.com/alice/lib"
    git(part, "remote", "remove", "origin")
    assert scope(part / "src") == "repo/github.com/alice/lib"
    assert scope(main) == f"repo/local/{tmp_path.name}/main"


def test_git_is_started_once_for_a_repository(
    tmp_path: Path, home: Path, scope: Callable[[Path], str | None]
) -> None:
    folder = init(tmp_path / "ada" / "apollo")
    find_first_commit.cache_clear()
    for _ in range(3):
        assert scope(folder) == "repo/local/ada/apollo"
    assert find_first_commit.cache_info().misses == 0
    git(folder, "commit", "-q", "--allow-empty", "-m", "Begin")
    for _ in range(3):
        assert scope(folder) == "repo/local/ada/apollo"
    assert find_first_commit.cache_info()[:2] == (0, 1)
    (entry,) = KnownRepositories(home).read()
    assert len(entry.commit) == 40


@pytest.mark.parametrize(
    "script",
    [
        None,
        pytest.param("sleep 60", marks=pytest.mark.thorough),
        "exit 1",
        "head -c 10000 /dev/urandom",
    ],
)
def test_a_git_that_is_missing_hangs_or_raves_is_asked_once_and_done_without(
    tmp_path: Path,
    scope: Callable[[Path], str | None],
    monkeypatch: pytest.MonkeyPatch,
    script: str | None,
) -> None:
    folders = [init(tmp_path / disk / "ada" / "app", commit=disk) for disk in ("x", "y")]
    (tmp_path / "bin").mkdir()
    if script is not None:
        (tmp_path / "bin" / "git").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin" if script is None else f"{tmp_path}/bin:/bin")
    find_first_commit.cache_clear()
    for _ in range(3):
        assert [scope(folder) for folder in folders] == [
            "repo/local/ada/app",
            "repo/local/ada/app~2",
        ]
    assert find_first_commit.cache_info().misses == 2
    folders[1] = folders[1].rename(tmp_path / "moved")
    assert scope(folders[1]) == "repo/local/ada/app~2"


def test_a_link_or_another_way_to_a_repository_leads_to_it(
    tmp_path: Path, scope: Callable[[Path], str | None]
) -> None:
    (tmp_path / "ada" / "apollo" / ".git").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "ada" / "apollo")
    assert scope(tmp_path / "ada" / "apollo") == scope(tmp_path / "link") == "repo/local/ada/apollo"


@pytest.mark.parametrize(
    "content", [b"", b"gitdir: nowhere", b"\xff\xfe", b"gitdir: \0", b"gitdir:"]
)
def test_a_broken_link_to_a_repository_makes_a_plain_folder(
    tmp_path: Path, home: Path, content: bytes
) -> None:
    folder = tmp_path / "ada" / "luna"
    folder.mkdir(parents=True)
    (folder / ".git").write_bytes(content)
    assert find_repository(folder) is None
    assert scope_of_folder(folder, home) == "repo/local/ada/luna"
    assert find_repository(tmp_path / "gone") is None
    assert scope_of_folder(Path("/nowhere/bea/luna"), home) == "repo/local/bea/luna"
    assert KnownRepositories(home).read() == []


def test_a_home_folder_that_is_a_repository_does_not_hold_the_folders_below(
    tmp_path: Path, scope: Callable[[Path], str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    user = clone(tmp_path / "ada", "git@github.com:ada/dotfiles.git")
    clone(user / "apollo", "git@github.com:alice/apollo.git")
    (user / "photos").mkdir()
    monkeypatch.setenv("HOME", str(user))
    assert scope(user) == "repo/github.com/ada/dotfiles"
    assert scope(user / "photos") is None
    assert scope(user / "apollo" / "src") == APOLLO


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may look at everything")
def test_a_repository_that_may_not_be_read_keeps_its_scope(
    tmp_path: Path, scope: Callable[[Path], str | None]
) -> None:
    folder = tmp_path / "ada" / "apollo"
    (folder / ".git").mkdir(parents=True)
    assert scope(folder) == "repo/local/ada/apollo"
    (folder / ".git").chmod(0)
    try:
        assert scope(folder) == "repo/local/ada/apollo"
    finally:
        (folder / ".git").chmod(0o700)


@pytest.mark.parametrize("content", ["", "{", "[1]", '[{"git": "x"}]', "null"])
def test_a_file_of_repositories_that_is_damaged_is_set_aside_and_written_anew(
    tmp_path: Path, home: Path, scope: Callable[[Path], str | None], content: str
) -> None:
    (tmp_path / "ada" / "apollo" / ".git").mkdir(parents=True)
    (home / "repositories.json").write_text(content)
    assert scope(tmp_path / "ada" / "apollo") == "repo/local/ada/apollo"
    assert len(KnownRepositories(home).read()) == 1
    assert (home / "repositories.damaged").read_text() == content


def test_a_file_of_repositories_that_cannot_be_opened_now_is_not_written_over(
    tmp_path: Path,
    home: Path,
    scope: Callable[[Path], str | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("ada", "bob"):
        (tmp_path / name / "apollo" / ".git").mkdir(parents=True)
    scope(tmp_path / "ada" / "apollo")
    kept = (home / "repositories.json").read_bytes()

    def fail(path: Path) -> bytes:
        raise OSError(24, f"too many open files: {path}")

    with monkeypatch.context() as patched:
        patched.setattr(known_repositories, "read_regular", fail)
        assert scope(tmp_path / "bob" / "apollo") == "repo/local/bob/apollo"
    assert (home / "repositories.json").read_bytes() == kept


def test_nothing_is_written_where_there_is_no_home(
    tmp_path: Path, home: Path, scope: Callable[[Path], str | None]
) -> None:
    (tmp_path / "ada" / "apollo" / ".git").mkdir(parents=True)
    home.rmdir()
    assert scope(tmp_path / "ada" / "apollo") == "repo/local/ada/apollo"
    assert not home.exists()
