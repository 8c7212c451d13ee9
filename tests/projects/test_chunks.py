"""Pieces of work: what is stored of them, what is refused, and what is kept out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from checkouts import REPOSITORY, SCOPE, git

from infinite_memory import (
    Config,
    Conflict,
    IdTaken,
    InvalidInput,
    LinkType,
    MemoryStore,
    NotFound,
    Status,
)
from infinite_memory.core.config import Projects, RepositoryRules
from infinite_memory.core.values.memory import Kind
from infinite_memory.features.projects.checkout import FileState, Freshness
from infinite_memory.features.projects.chunk import (
    CHUNK_KINDS,
    Chunk,
    Difficulty,
    WorkOutcome,
    chunk_of,
)
from infinite_memory.testing.embedders import HashingEmbedder

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HELLO_BLOB = "ce013625030ba8dba906f756967f9e9ca394464a"
"""The hash that git gives a file that holds "hello" and a line break."""


def stored(store: MemoryStore, content: str = "It failed", **fields: Any) -> Chunk:
    """Store a chunk, and return it as it is read back."""
    given = {"kind": "problem", "repository": REPOSITORY, **fields}
    return chunk_of(store.get(store.projects.store_chunk(content, **given).id))


@pytest.mark.parametrize("kind", sorted(CHUNK_KINDS))
def test_a_chunk_of_every_kind_comes_back_as_it_was_given(store: MemoryStore, kind: Kind) -> None:
    chunk = stored(
        store,
        "The cache answers twice",
        kind=kind,
        id="c1",
        summary="Cache answers twice",
        branch="main",
        commit="0123abc",
        component="cache",
        session="s1",
        files=["src/cache.py", "README.md"],
        tools=["pytest", "ruff"],
        outcome="success",
        difficulty="complex",
        minutes=12.345,
        tags=["cache"],
        happened_at=NOON,
        important=True,
    )
    assert chunk == Chunk(
        id="c1",
        kind=kind,
        content="The cache answers twice",
        summary="Cache answers twice",
        scope=SCOPE,
        happened_at=NOON,
        status=Status.CURRENT,
        important=True,
        tags=("cache",),
        branch="main",
        commit="0123abc",
        component="cache",
        session="s1",
        files=("src/cache.py", "README.md"),
        tools=("pytest", "ruff"),
        outcome=WorkOutcome.SUCCESS,
        difficulty=Difficulty.COMPLEX,
        minutes=12.35,
    )


def test_a_chunk_without_details_has_none(store: MemoryStore) -> None:
    chunk = stored(store, "It failed", id="c1", happened_at=NOON)
    assert chunk == Chunk(
        id="c1",
        kind=Kind.PROBLEM,
        content="It failed",
        summary="It failed",
        scope=SCOPE,
        happened_at=NOON,
    )
    assert chunk.is_open


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("code_change", {"before": "x = 1", "after": "x = 2", "impact": "twice as many"}),
        (
            "decision",
            {
                "decision": "use tabs",
                "rationale": "short",
                "alternatives": "spaces; both",
                "consequences": "diffs",
            },
        ),
        ("solution", {"problem": "it broke", "solution": "mend it", "error": "E1"}),
        ("lesson", {"problem": "it broke", "solution": "mend it", "error": "E1"}),
    ],
)
def test_the_texts_of_a_kind_are_kept_and_those_that_explain_are_searched(
    store: MemoryStore, kind: str, parts: dict[str, str]
) -> None:
    chunk = stored(store, "What was done", kind=kind, **parts)
    assert chunk.parts == parts
    shown = {"problem", "solution", "rationale", "alternatives", "consequences", "impact", "error"}
    for name, text in parts.items():
        assert (f"{name.capitalize()}: {text}" in chunk.content) == (name in shown)


def test_alternatives_may_be_a_list(store: MemoryStore) -> None:
    receipt = store.projects.store_decision(
        "use tabs", rationale="short", repository=REPOSITORY, alternatives=["spaces", "both"]
    )
    chunk = chunk_of(store.get(receipt.id))
    assert chunk.parts == {
        "decision": "use tabs",
        "rationale": "short",
        "alternatives": "spaces; both",
    }
    assert chunk.content == "use tabs\nRationale: short\nAlternatives: spaces; both"


def test_a_lesson_shows_its_problem_and_its_solution_once(store: MemoryStore) -> None:
    receipt = store.projects.store_lesson("it broke", "mend it", repository=REPOSITORY)
    chunk = chunk_of(store.get(receipt.id))
    assert (chunk.kind, chunk.summary) == (Kind.LESSON, "it broke")
    assert chunk.content == "it broke\nSolution: mend it"


def test_storing_under_the_same_id_again_changes_nothing(store: MemoryStore) -> None:
    first = stored(store, "It failed", id="c1", happened_at=NOON)
    assert stored(store, "It failed", id="c1", happened_at=NOON) == first
    with pytest.raises((IdTaken, Conflict)):
        stored(store, "Something else", id="c1", happened_at=NOON)
    assert chunk_of(store.get("c1")) == first


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"content": " "}, "content is empty"),
        ({"kind": "note"}, "type 'note' is no type of a chunk: give one of code_change"),
        ({"kind": "decison"}, "type 'decison' is unknown: the nearest is 'decision'"),
        ({"kind": 5}, "type 5 is unknown"),
        ({"colour": "red"}, "a chunk has no field 'colour'; the nearest is"),
        ({"outcome": "good"}, "outcome 'good' is unknown"),
        ({"difficulty": "hard"}, "difficulty 'hard' is unknown"),
        ({"minutes": -1}, "minutes -1 cannot be used"),
        ({"minutes": float("nan")}, "minutes nan cannot be used"),
        ({"minutes": 10**400}, "minutes 1000"),
        ({"folder": 5}, "folder must be a text, not 5"),
        ({"repository": "repo/"}, "repository 'repo/' is not known"),
        ({"content": "a.env " * 170_000}, "text has 2,7"),
        ({"content": "a" * 600_000, "error": "b" * 600_000}, "text has 1,200,008 bytes"),
        ({"minutes": True}, "minutes True cannot be used"),
        ({"minutes": "long"}, "minutes 'long' cannot be used"),
        ({"summary": "a\nb"}, r"summary 'a\\nb' cannot be used"),
        ({"branch": "a\nb"}, r"branch 'a\\nb' cannot be used"),
        ({"files": "src/app.py"}, "files must be a list of texts, not 'src/app.py'"),
        ({"files": [5]}, "5"),
        ({"tools": [""]}, "tools '' cannot be used"),
        ({"tags": [5]}, "5"),
        ({"rationale": 5}, "5"),
        ({"alternatives": [5]}, "5"),
        ({"repository": ""}, "repository '' cannot be used"),
        ({"repository": 5}, "5"),
        ({"happened_at": "whenever"}, "'whenever'"),
        ({"important": "yes"}, "'yes'"),
        ({"origin": "nobody"}, "'nobody'"),
        ({"id": "a b"}, "'a b'"),
        ({"related": "c1"}, "related must be a list of texts, not 'c1'"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_value_and_nothing_is_stored(
    store: MemoryStore, fields: dict[str, Any], value: str
) -> None:
    given = {"content": "It failed", "kind": "problem", "repository": REPOSITORY, **fields}
    before = store.stats(), store.journal.entries(), list(store.scopes)
    with pytest.raises(InvalidInput, match=value):
        store.projects.store_chunk(given.pop("content"), **given)
    assert (store.stats(), store.journal.entries(), list(store.scopes)) == before


@pytest.mark.parametrize("blank", ["", " ", None])
def test_a_decision_without_a_reason_and_a_lesson_without_a_solution_are_refused(
    store: MemoryStore, blank: Any
) -> None:
    with pytest.raises(InvalidInput, match="rationale"):
        store.projects.store_decision("use tabs", rationale=blank, repository=REPOSITORY)
    with pytest.raises(InvalidInput, match="solution"):
        store.projects.store_lesson("it broke", blank, repository=REPOSITORY)
    with pytest.raises(InvalidInput, match="problem"):
        store.projects.store_lesson(blank, "mend it", repository=REPOSITORY)
    assert store.stats().memories == 0


def test_a_related_memory_that_does_not_exist_is_refused(store: MemoryStore) -> None:
    with pytest.raises(NotFound, match="no memory with the id 'missing'"):
        stored(store, related=["missing"])
    assert store.stats().memories == 0


def test_a_summary_that_names_many_excluded_files_keeps_its_length(store: MemoryStore) -> None:
    assert len(stored(store, summary="a.env " * 33).summary) == 200


def test_an_id_of_another_repository_is_refused_and_no_scope_is_left_behind(
    store: MemoryStore,
) -> None:
    first = stored(store, kind="decision")
    before = store.stats(), store.journal.entries(), list(store.scopes)
    with pytest.raises(InvalidInput, match=f"supersedes '{first.id}' is not possible"):
        stored(store, "new", repository="github.com/octo/hermes", supersedes=[first.id])
    with pytest.raises(Conflict, match=f"id '{first.id}' belongs to another memory"):
        stored(store, "new", repository="github.com/octo/hermes", id=first.id)
    assert (store.stats(), store.journal.entries(), list(store.scopes)) == before


def test_the_ids_it_supersedes_may_come_from_a_generator(store: MemoryStore) -> None:
    first = stored(store, "one", kind="decision")
    stored(store, "two", kind="decision", supersedes=(each for each in [first.id]))
    assert store.get(first.id).status == "superseded"


def links_of(store: MemoryStore, memory_id: str) -> set[tuple[str, str, LinkType]]:
    links = store._services.storage.links([memory_id])
    return {(link.source, link.target, link.type) for link in links}


def test_related_work_of_the_repository_is_linked_and_one_undo_takes_the_links_back(
    store: MemoryStore,
) -> None:
    stored(store, "It failed", id="problem")
    store.remember("elsewhere", id="other", scope="elsewhere")
    stored(store, "It works", kind="solution", id="fix", related=["problem", "other", "problem"])
    assert links_of(store, "fix") == {("fix", "problem", LinkType.CONTEXT)}
    store.undo()
    assert links_of(store, "fix") == set()
    assert store.get("fix").text == "It works"


def test_a_decision_ends_those_that_it_supersedes(store: MemoryStore) -> None:
    store.projects.store_decision("tabs", rationale="short", repository=REPOSITORY, id="d1")
    store.projects.store_decision(
        "spaces", rationale="even", repository=REPOSITORY, id="d2", supersedes=["d1"]
    )
    assert [store.get(each).status for each in ("d1", "d2")] == [Status.SUPERSEDED, Status.CURRENT]
    with pytest.raises((NotFound, InvalidInput), match="missing"):
        store.projects.store_decision(
            "both", rationale="why not", repository=REPOSITORY, supersedes=["missing"]
        )


def test_whatever_else_is_in_the_context_of_a_memory_it_is_read_as_far_as_it_goes(
    store: MemoryStore,
) -> None:
    context: dict[str, Any] = {
        "files": "src/app.py",
        "tools": [1, "ruff", ""],
        "outcome": "splendid",
        "difficulty": 5,
        "minutes": True,
        "branch": ["a"],
        "blobs": {"src/app.py": 5, "b": "c"},
        "error": "",
        "alternatives": ["a", "b"],
    }
    store.remember("by hand", id="m", kind="problem", scope=SCOPE, context=context)
    chunk = chunk_of(store.get("m"))
    assert chunk == Chunk(
        id="m",
        kind=Kind.PROBLEM,
        content="by hand",
        summary="by hand",
        scope=SCOPE,
        happened_at=chunk.happened_at,
        branch="a",
        files=("src/app.py",),
        blobs={"b": "c"},
        tools=("ruff",),
        parts={"alternatives": "a; b"},
    )


def test_the_state_of_a_checkout_is_noted_with_the_work(store: MemoryStore, checkout: Path) -> None:
    (checkout / "new.txt").write_text("hello\n")
    chunk = stored(
        store, folder=str(checkout / "src"), files=[f"{checkout}/src/app.py", "new.txt", "gone.py"]
    )
    assert (chunk.commit, chunk.branch) == (git(checkout, "rev-parse", "HEAD"), "main")
    assert chunk.files == ("src/app.py", "new.txt", "gone.py")
    assert chunk.blobs == {
        "src/app.py": git(checkout, "rev-parse", "HEAD:src/app.py"),
        "new.txt": HELLO_BLOB,
    }


def test_with_a_commit_the_hashes_are_those_of_that_commit(
    store: MemoryStore, checkout: Path
) -> None:
    first = git(checkout, "rev-parse", "HEAD")
    before = git(checkout, "rev-parse", "HEAD:src/app.py")
    (checkout / "src" / "app.py").write_text("print('two')\n")
    git(checkout, "commit", "-q", "-a", "-m", "Go on")
    chunk = stored(store, folder=str(checkout), files=["src/app.py"], commit=first, branch="topic")
    assert (chunk.commit, chunk.branch, chunk.blobs) == (first, "topic", {"src/app.py": before})
    # A hash that is none, or of no commit, is kept as it is; nothing is known of the files then.
    for commit in ("HEAD; rm -rf", "--help", "f" * 40):
        chunk = stored(store, f"with {commit}", folder=str(checkout), commit=commit)
        assert (chunk.commit, chunk.blobs) == (commit, {})


def test_a_detached_head_has_no_branch(store: MemoryStore, checkout: Path) -> None:
    git(checkout, "checkout", "-q", "--detach")
    chunk = stored(store, folder=str(checkout))
    assert (chunk.commit, chunk.branch) == (git(checkout, "rev-parse", "HEAD"), None)


@pytest.mark.parametrize("folder", ["", "/nowhere/at/all", "~nobody/at/all"])
def test_a_folder_without_a_checkout_is_ignored(store: MemoryStore, folder: str) -> None:
    chunk = stored(store, folder=folder, files=["src/app.py"])
    assert (chunk.commit, chunk.branch, chunk.blobs) == (None, None, {})


def test_a_checkout_of_another_repository_is_ignored(store: MemoryStore, checkout: Path) -> None:
    chunk = stored(
        store, repository="github.com/octo/hermes", folder=str(checkout), files=["src/app.py"]
    )
    assert (chunk.commit, chunk.branch, chunk.blobs) == (None, None, {})


def test_a_checkout_without_a_commit_has_hashes_of_its_files(
    store: MemoryStore, tmp_path: Path
) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "remote", "add", "origin", f"https://{REPOSITORY}.git")
    (folder / "a.txt").write_text("hello\n")
    chunk = stored(store, folder=str(folder), files=["a.txt"])
    assert (chunk.commit, chunk.blobs) == (None, {"a.txt": HELLO_BLOB})


def test_no_file_outside_of_the_checkout_is_read(
    store: MemoryStore, checkout: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.txt").write_text("hello\n")
    (checkout / "link.txt").symlink_to(tmp_path / "outside.txt")
    names = ["../outside.txt", "src/../../outside.txt", str(tmp_path / "outside.txt"), "link.txt"]
    chunk = stored(store, folder=str(checkout), files=names)
    assert chunk.blobs == {}


def test_the_files_of_work_are_fresh_drifted_or_missing(store: MemoryStore, checkout: Path) -> None:
    stored(store, "the app fails", folder=str(checkout), files=["src/app.py", "README.md"])

    def freshness(folder: Path | None = checkout) -> Freshness | None:
        given = None if folder is None else str(folder)
        (match,) = store.projects.search_similar_problems("the app fails", folder=given)
        return match.freshness

    assert freshness() == Freshness(state=FileState.FRESH)
    (checkout / "src" / "app.py").write_text("print('two')\n")
    assert freshness() == Freshness(state=FileState.DRIFTED, drifted=("src/app.py",))
    (checkout / "README.md").unlink()
    assert freshness() == Freshness(
        state=FileState.MISSING, drifted=("src/app.py",), missing=("README.md",)
    )
    git(checkout, "checkout", "-q", ".")
    assert freshness() == Freshness(state=FileState.FRESH)
    assert freshness(None) is None
    git(checkout, "remote", "set-url", "origin", "https://github.com/octo/hermes.git")
    assert freshness() is None


def test_names_of_excluded_files_are_nowhere_in_what_is_stored(
    store: MemoryStore, checkout: Path
) -> None:
    (checkout / ".env.local").write_text("PASSWORD=tiger\n")
    chunk = stored(
        store,
        'Read prod.env, then "config/Server.KEY".',
        summary="about prod.env",
        files=["src/app.py", "deploy/prod.env", ".env.local", "id_rsa.pub"],
        error="cannot open ./deploy/prod.env: denied",
        component="prod.env",
        tags=["prod.env", "deploy"],
        tools=["source prod.env", "ruff"],
        folder=str(checkout),
    )
    memory = store.get(chunk.id)
    told = repr(memory).casefold()
    assert chunk.files == ("src/app.py",)
    assert list(chunk.blobs) == ["src/app.py"]
    assert chunk.content.startswith('Read [excluded file], then "[excluded file]".')
    for secret in ("prod.env", "server.key", ".env.local", "id_rsa", "tiger"):
        assert secret not in told, secret


def test_a_repository_may_exclude_more_files() -> None:
    rules = {REPOSITORY.upper(): RepositoryRules(exclude=("secrets/*", "*.csv"))}
    config = Config(projects=Projects(repositories=rules))
    with MemoryStore.open("memory://", embedder=HashingEmbedder(), config=config) as store:
        given = {
            "files": ["secrets/a.txt", "deep/secrets/b/c.txt", "data.csv", "secret/d", "p.key"]
        }
        apollo = stored(store, "see secrets/a.txt and data.csv", **given)
        hermes = stored(store, "see secrets/a.txt", repository="github.com/octo/hermes", **given)
    assert apollo.files == ("secret/d",)
    assert apollo.content == "see [excluded file] and [excluded file]"
    assert hermes.files == ("secrets/a.txt", "deep/secrets/b/c.txt", "data.csv", "secret/d")
    assert hermes.content == "see secrets/a.txt"


def test_a_chunk_becomes_plain_data(store: MemoryStore) -> None:
    chunk = stored(store, id="c1", happened_at=NOON, outcome="failed")
    assert chunk.to_dict() == {
        **evolve(chunk).to_dict(),
        "id": "c1",
        "kind": "problem",
        "outcome": "failed",
        "happened_at": "2026-03-02T12:00:00Z",
    }


def test_a_folder_may_be_reached_by_a_step_up(
    store: MemoryStore, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain" / "inner").mkdir(parents=True)
    monkeypatch.chdir(checkout / "src")
    assert stored(store, "here", repository="..").scope == SCOPE
    assert stored(store, "beside", repository="../../plain/inner/..").scope == (
        f"repo/local/{tmp_path.name}/plain"
    )
