"""The scope of a project, read from the files of git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from infinite_memory.features.sessions.repository import name_project_scope, scope_of_folder


def clone(folder: Path, url: str, remote: str = "origin") -> Path:
    (folder / ".git").mkdir(parents=True)
    config = f'[core]\n\tbare = false\n[remote "{remote}"]\n\turl = {url}\n\tfetch = +refs/*\n'
    (folder / ".git" / "config").write_text(config)
    return folder


@pytest.mark.parametrize(
    ("url", "scope"),
    [
        ("git@github.com:alice/apollo.git", "repo/github.com/alice/apollo"),
        ("https://github.com/alice/apollo", "repo/github.com/alice/apollo"),
        ("https://github.com/alice/apollo.git/", "repo/github.com/alice/apollo"),
        ("https://alice:secret@GitHub.com/alice/apollo.git", "repo/github.com/alice/apollo"),
        (
            "ssh://git@git.example.org:2222/team/sub/apollo.git",
            "repo/git.example.org/team/sub/apollo",
        ),
        ("gitlab.com:team/apollo", "repo/gitlab.com/team/apollo"),
        ("/srv/git/apollo.git", None),
        ("../apollo", None),
        ("file:///srv/git/apollo.git", None),
        ("C:\\git\\apollo", None),
        ("C:/git/apollo", None),
        ("https://github.com/", None),
        ("https://github.com/a b/c", None),
        (f"https://github.com/{'a' * 200}/b", None),
        ("", None),
    ],
)
def test_a_repository_is_named_by_the_address_of_its_remote(
    tmp_path: Path, url: str, scope: str | None
) -> None:
    folder = clone(tmp_path / "work", url)
    (folder / "src" / "deep").mkdir(parents=True)
    assert name_project_scope(folder) == scope
    assert name_project_scope(folder / "src" / "deep") == scope


def test_origin_comes_before_other_remotes(tmp_path: Path) -> None:
    folder = clone(tmp_path / "work", "git@github.com:fork/apollo.git", remote="a-fork")
    assert name_project_scope(folder) == "repo/github.com/fork/apollo"
    with (folder / ".git" / "config").open("a") as config:
        config.write('[remote "origin"]\nURL="git@github.com:alice/apollo.git"\n')
    assert name_project_scope(folder) == "repo/github.com/alice/apollo"


def test_a_worktree_that_git_made_has_the_name_of_its_repository(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    identity = ["-c", "user.name=Alice", "-c", "user.email=alice@example.org"]
    for command in (
        ["init", "-q", str(main)],
        ["-C", str(main), "remote", "add", "origin", "git@github.com:alice/apollo.git"],
        [*identity, "-C", str(main), "commit", "-q", "--allow-empty", "-m", "Begin"],
        ["-C", str(main), "worktree", "add", "-q", str(other)],
    ):
        subprocess.run(["git", *command], check=True, capture_output=True)
    assert name_project_scope(main) == "repo/github.com/alice/apollo"
    assert name_project_scope(other) == "repo/github.com/alice/apollo"


@pytest.mark.parametrize("content", [b"", b"gitdir: nowhere", b"\xff\xfe", b"something else"])
def test_a_broken_link_to_a_repository_names_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert name_project_scope(tmp_path) is None


def test_a_folder_outside_of_a_repository_or_without_a_configuration_has_no_name(
    tmp_path: Path,
) -> None:
    assert name_project_scope(tmp_path / "gone") is None
    (tmp_path / ".git").mkdir()
    assert name_project_scope(tmp_path) is None
    (tmp_path / ".git" / "config").write_bytes(b"[remote\n\xff\x00 url = x\n[]\n")
    assert name_project_scope(tmp_path) is None


def test_a_repository_without_a_remote_is_named_by_its_folder(tmp_path: Path) -> None:
    main = tmp_path / "ada" / "my app"
    (main / ".git" / "worktrees" / "next").mkdir(parents=True)
    (main / "src").mkdir()
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / ".git").write_text(f"gitdir: {main}/.git/worktrees/next\n")
    (main / ".git" / "worktrees" / "next" / "commondir").write_text("../..\n")
    for folder in (main, main / "src", other):
        assert scope_of_folder(folder) == "repo/local/ada/my-app"
    assert scope_of_folder(Path("/nowhere/bea/luna")) == "repo/local/bea/luna"
