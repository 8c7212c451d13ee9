"""The scope that a repository stands for, however it is spelled, and who may store in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkouts import REPOSITORY, SCOPE, git

from infinite_memory import (
    Config,
    InvalidInput,
    MemoryStore,
    ReadOnly,
    Sensitivity,
    UnknownScope,
)
from infinite_memory.core.config import Projects, RepositoryRules
from infinite_memory.testing.embedders import HashingEmbedder

HERMES = "github.com/octo/hermes"


def note(store: MemoryStore, repository: str, text: str = "It failed", **fields: Any) -> str:
    """Store a piece of work, and return the scope it went into."""
    given = {"kind": "problem", **fields}
    return store.projects.store_chunk(text, repository=repository, **given).scope


def opened(**rules: Any) -> MemoryStore:
    """Open a store in memory with rules for the repository."""
    projects = Projects(repositories={REPOSITORY: RepositoryRules(**rules)})
    config = Config(projects=projects)
    return MemoryStore.open("memory://", embedder=HashingEmbedder(), config=config)


SPELLINGS = [
    SCOPE,
    SCOPE.upper(),
    REPOSITORY,
    f"  {REPOSITORY} ",
    "GitHub.com/Octo/Apollo",
    f"https://{REPOSITORY}",
    f"https://{REPOSITORY}.git",
    f"https://ada@{REPOSITORY}.git",
    "git@github.com:octo/apollo.git",
    f"ssh://git@{REPOSITORY}",
]


def test_a_plain_name_is_a_repository_unless_it_is_nearly_a_known_one(store: MemoryStore) -> None:
    assert note(store, "midaz-mcp-server") == "repo/midaz-mcp-server"
    assert note(store, REPOSITORY) == SCOPE
    assert note(store, "apollo") == SCOPE
    for wrong in ("apolo", "midaz_mcp_server", "no such name"):
        with pytest.raises(InvalidInput, match="is not known"):
            note(store, wrong)


def test_without_a_repository_the_only_one_is_taken(store: MemoryStore) -> None:
    assert store.projects.store_lesson("It failed", "Restart it").scope == "repo/default"
    note(store, REPOSITORY)
    assert store.projects.store_lesson("It failed again", "Update it").scope == SCOPE
    assert len(store.projects.get_history().chunks) == 2
    note(store, HERMES)
    with pytest.raises(InvalidInput, match="it may be any of github"):
        store.projects.get_history()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_repository_that_is_new_is_created_by_every_spelling(
    store: MemoryStore, spelling: str
) -> None:
    assert note(store, spelling).casefold() == SCOPE
    assert sorted(scope.name.casefold() for scope in store.scopes) == ["global", "projects", SCOPE]


@pytest.mark.parametrize("spelling", [*SPELLINGS, "apollo", "Apollo", "octo/apollo"])
def test_a_repository_that_is_known_is_found_by_every_spelling(
    store: MemoryStore, spelling: str
) -> None:
    note(store, REPOSITORY)
    assert note(store, spelling, "It failed again") == SCOPE
    assert store.projects.get_history(spelling).scope == SCOPE
    assert len(list(store.scopes)) == 3


def test_a_folder_stands_for_the_repository_that_holds_it(
    store: MemoryStore, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(checkout, "worktree", "add", "-q", str(checkout.parent / "tree"))
    monkeypatch.chdir(checkout / "src")
    monkeypatch.setenv("HOME", str(checkout.parent))
    worktree = str(checkout.parent / "tree")
    for number, folder in enumerate(
        (str(checkout), str(checkout / "src"), worktree, ".", "..", "./", "../src", "~/apollo")
    ):
        assert note(store, folder, f"It failed {number}") == SCOPE, folder


def test_a_folder_without_a_remote_is_named_by_itself_and_the_folder_around_it(
    store: MemoryStore, tmp_path: Path
) -> None:
    folder = tmp_path / "my work" / "app (old)"
    (folder / "src").mkdir(parents=True)
    assert note(store, str(folder)) == "repo/local/my-work/app-old-"
    git(folder, "init", "-q")
    assert note(store, str(folder / "src"), "again") == "repo/local/my-work/app-old-"
    assert store.projects.get_history("app-old-").scope == "repo/local/my-work/app-old-"


def test_the_end_of_several_names_is_refused_and_they_are_named(store: MemoryStore) -> None:
    note(store, REPOSITORY)
    note(store, "gitlab.com/terra/apollo")
    for name in ("apollo", "Apollo"):
        with pytest.raises(InvalidInput) as refused:
            note(store, name)
        assert str(refused.value) == (
            f"repository {name!r} may be github.com/octo/apollo, gitlab.com/terra/apollo:"
            " give the whole name"
        )
    assert note(store, "terra/apollo") == "repo/gitlab.com/terra/apollo"


def test_an_unknown_name_is_refused_with_the_nearest(store: MemoryStore) -> None:
    note(store, REPOSITORY)
    for name in ("apolo", "no such thing", "a/b"):
        with pytest.raises(InvalidInput, match="is not known: the nearest is") as refused:
            note(store, name)
        assert f"the nearest is '{REPOSITORY}'" in str(refused.value).replace("repo/", "")
    with pytest.raises(
        UnknownScope, match=f"nothing is stored of 'repo/{HERMES}'.*: the nearest is"
    ):
        store.projects.get_history(HERMES)
    assert len(list(store.scopes)) == 3


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.projects.get_history(HERMES),
        lambda s: s.projects.get_decisions(HERMES),
        lambda s: s.projects.search_similar_problems("x", repository=HERMES),
        lambda s: s.projects.suggest_related_work("x", HERMES),
        lambda s: s.projects.identify_patterns(HERMES),
    ],
)
def test_nothing_is_created_by_reading(store: MemoryStore, call: Any) -> None:
    with pytest.raises(UnknownScope):
        call(store)
    assert [scope.name for scope in store.scopes] == ["Global"]


def test_nothing_is_stored_of_a_repository_that_is_not_enabled() -> None:
    with opened(enabled=False) as store:
        for name in (REPOSITORY, SCOPE.upper(), f"https://{REPOSITORY}.git"):
            with pytest.raises(InvalidInput, match="is not enabled: set projects"):
                note(store, name)
        assert [scope.name for scope in store.scopes] == ["Global"]
        assert note(store, HERMES) == f"repo/{HERMES}"


def test_a_private_repository_opens_by_its_whole_name_alone_and_is_never_named() -> None:
    with opened(sensitivity="private") as store:
        note(store, REPOSITORY, "The secret engine fails", files=["a.py", "b.py"])
        note(store, HERMES, "The engine of Hermes fails")
        assert store.scopes[SCOPE].sensitivity is Sensitivity.PRIVATE
        assert store.projects.get_history(REPOSITORY).chunks[0].content == "The secret engine fails"
        shown = [
            store.projects.search_similar_problems("engine fails"),
            store.projects.find_past_solutions("engine fails"),
            store.projects.get_decisions(),
            store.projects.identify_patterns(),
            store.projects.build_session_context(),
            store.projects.build_session_context(HERMES),
        ]
        for name in ("apollo", "octo/apollo", "apolo"):
            with pytest.raises(InvalidInput, match=r"is not known|nothing is stored of") as refused:
                store.projects.get_history(name)
            shown.append(str(refused.value).replace(repr(name), "").replace("such as", ""))
    told = repr(shown).replace("github.com/octo/apollo, the address", "")
    assert "secret" not in told
    assert SCOPE not in told


def test_an_inactive_repository_is_left_out_of_what_is_asked_of_all(store: MemoryStore) -> None:
    note(store, REPOSITORY, "The engine fails")
    store.scopes.update(SCOPE, active=False)
    assert store.projects.search_similar_problems("engine fails") == ()
    assert store.projects.identify_patterns().chunks == 0
    assert len(store.projects.search_similar_problems("engine", repository=REPOSITORY)) == 1


def test_strict_scopes_hold_for_repositories() -> None:
    config = Config(strict_scopes=True)
    with MemoryStore.open("memory://", embedder=HashingEmbedder(), config=config) as store:
        for handle in (store, store.confine(scopes="repo/*")):
            with pytest.raises(UnknownScope, match="scopes are strict: create it first"):
                note(handle, REPOSITORY)
        store.scopes.create(SCOPE)
        assert note(store, REPOSITORY) == SCOPE


@pytest.fixture
def two(store: MemoryStore) -> Iterator[MemoryStore]:
    """A store with work on two repositories, and in `Global`."""
    for name in ("apollo", "hermes"):
        repository = f"github.com/octo/{name}"
        note(store, repository, f"The engine of {name} fails", id=name, files=["src/app.py"])
        store.projects.store_decision(
            f"{name} uses tabs", rationale=f"as {name} does", repository=repository, id=f"{name}-d"
        )
        store.projects.store_lesson(
            f"{name} engine stalls", f"restart {name}", repository=repository
        )
    store.remember("Global engines fail", kind="lesson")
    return store


def test_a_handle_for_one_repository_sees_and_stores_nothing_of_another(two: MemoryStore) -> None:
    with two.confine(scopes=SCOPE) as handle:
        projects = handle.projects
        told = repr(
            [
                projects.search_similar_problems("engine fails", files=["src/app.py"]),
                projects.find_past_solutions("engine fails"),
                projects.get_history("apollo"),
                projects.get_decisions(),
                projects.suggest_related_work("engine", "apollo", files=["src/app.py"]),
                projects.identify_patterns(),
                projects.build_session_context("apollo"),
            ]
        )
        assert "engine of apollo" in told
        assert "hermes" not in told
        assert "Global engines" not in told
        before = two.projects.get_history(HERMES), len(two.journal.entries(limit=1000))
        for call in (
            lambda: note(handle, HERMES),
            lambda: projects.store_decision("a", rationale="b", repository=HERMES),
            lambda: projects.store_lesson("a", "b", repository="github.com/octo/new"),
        ):
            with pytest.raises(UnknownScope, match=f"this store was opened for {SCOPE} alone"):
                call()
        for refused in ({"related": ["hermes"]}, {"supersedes": ["hermes-d"]}):
            with pytest.raises(LookupError, match="hermes"):
                note(handle, "apollo", **refused)
        assert before == (two.projects.get_history(HERMES), len(two.journal.entries(limit=1000)))


def test_a_handle_that_only_reads_stores_nothing(two: MemoryStore) -> None:
    with two.confine(scopes="*", read_only=True) as handle:
        before = two.stats()
        for repository in (REPOSITORY, "github.com/octo/new"):
            for call in (
                lambda r=repository: note(handle, r),
                lambda r=repository: note(handle, r, kind="decision"),
                lambda r=repository: handle.projects.store_lesson("a", "b", repository=r),
            ):
                with pytest.raises(ReadOnly):
                    call()
        assert handle.projects.get_history("apollo").chunks
        assert two.stats() == before


def test_a_handle_for_repositories_creates_one_as_its_rules_say() -> None:
    with opened(sensitivity="private") as store, store.confine(scopes="repo/*") as handle:
        assert note(handle, REPOSITORY) == SCOPE
        scope = store.scopes[SCOPE]
        assert (scope.sensitivity, scope.parent) == (Sensitivity.PRIVATE, None)
        assert [each.name for each in store.scopes] == ["Global", SCOPE]
    with opened() as store, store.confine(scopes=["repo/*", "Projects"]) as handle:
        assert note(handle, REPOSITORY) == SCOPE
        assert store.scopes[SCOPE].parent == "Projects"


@pytest.mark.parametrize(
    "names",
    [
        ["https://github.com/octo/apollo.git"],
        ["git@github.com:octo/apollo.git"],
        ["apollo"],
        ["~/code/apollo"],
        ["github.com/octo/apollo/"],
        [""],
        ["github.com/octo/apollo", "repo/GitHub.com/octo/Apollo"],
    ],
)
def test_rules_for_what_is_no_name_of_a_repository_are_refused(names: list[str]) -> None:
    rules = {"projects": {"repositories": {name: {"enabled": False} for name in names}}}
    with pytest.raises(ValueError, match=r"is no name of a repository|is named twice"):
        Config.model_validate(rules)
