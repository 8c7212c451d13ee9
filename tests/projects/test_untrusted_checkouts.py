"""A checkout that somebody else prepared: nothing in it is run, and nothing excluded is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkouts import REPOSITORY, git

from infinite_memory import MemoryStore
from infinite_memory.features.projects.checkout import Checkout, FileState, Freshness, compare_files


@pytest.mark.parametrize(
    ("key", "value", "url"),
    [
        ("protocol.ext.allow", "always", "ext::sh -c touch% {mark}"),
        ("core.sshCommand", "touch {mark};", "ssh://git.example.com/octo/apollo"),
        ("remote.origin.uploadpack", "touch {mark};", "{folder}"),
    ],
)
def test_a_clone_in_part_fetches_nothing_and_runs_no_command(
    checkout: Path, tmp_path: Path, key: str, value: str, url: str
) -> None:
    mark = tmp_path / "mark"
    commit, tree = git(checkout, "rev-parse", "HEAD", "HEAD^{tree}").split()
    (checkout / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    settings = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": url,
        key: value,
    }
    for name, setting in settings.items():
        git(checkout, "config", name, setting.format(mark=mark, folder=checkout))
    assert Checkout(checkout, checkout).hashes(["README.md"], commit) == {}
    assert not mark.exists()


def test_a_variable_of_git_leads_to_no_other_repository(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert Checkout(checkout, checkout).head() == (git(checkout, "rev-parse", "HEAD"), "main")


@pytest.mark.parametrize("folder", [".", "./", "src", "src/"])
def test_a_folder_among_the_files_names_no_file_in_it(
    store: MemoryStore, checkout: Path, folder: str
) -> None:
    (checkout / "src" / "prod.env").write_text("TOKEN=1\n")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "More")
    receipt = store.projects.store_chunk(
        "Moved the sources",
        kind="discussion",
        repository=REPOSITORY,
        files=[folder],
        folder=str(checkout),
        commit=git(checkout, "rev-parse", "HEAD"),
    )
    context = store.get(receipt.id).context
    assert (context["files"], context.get("blobs")) == ([folder.rstrip("/")], None)


def test_the_files_of_a_repository_with_sha_256_are_compared_too(
    store: MemoryStore, tmp_path: Path
) -> None:
    folder = tmp_path / "apollo"
    folder.mkdir()
    git(folder, "init", "-q", "--object-format=sha256")
    git(folder, "remote", "add", "origin", f"https://{REPOSITORY}.git")
    (folder / "a.txt").write_text("hello\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Begin")
    commit = git(folder, "rev-parse", "HEAD")
    blobs = Checkout(folder, folder).hashes(["a.txt"], commit)
    assert compare_files(blobs, Checkout(folder, folder)) == Freshness(state=FileState.FRESH)
    (folder / "a.txt").write_text("goodbye\n")
    changed = Freshness(state=FileState.DRIFTED, drifted=("a.txt",))
    assert compare_files(blobs, Checkout(folder, folder)) == changed
