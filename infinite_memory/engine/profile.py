"""Profiles: the known values about a user, stored as facts with keys.

A change is merged into the profile as a JSON Merge Patch (RFC 7396): objects are merged, null
removes a value, and all further values replace the earlier value, which stays in the history.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import evolve

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import check_choice, check_context, check_field, check_label
from infinite_memory.core.values.commit import Commit, Expect, ExpectKey, Put, merge_commits
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import GLOBAL, JsonValue, Kind, Memory, Origin, Status
from infinite_memory.core.values.profile import SECTIONS, Profile, profile_key
from infinite_memory.core.values.scope import find_spelling, fold_name
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.conversation_scopes import create_missing_scopes
from infinite_memory.engine.embed import embed_new
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.supersession import Placement, Supersession, find_by_key
from infinite_memory.engine.writes.validation import build_memory

DEFAULT_USER = "user"
"""The user of a profile whose caller names none."""


_TAG = "profile"
_PAGE = 256
_MAX_KEY_CHARS = 256
_MAX_NAME_CHARS = 128
_LISTS = ("facts", "notes")
_Path: TypeAlias = tuple[str, ...]
_Facts: TypeAlias = Mapping[_Path, Sequence[Memory]]


def get_profile(services: Services, user: str) -> Profile:
    """Return the profile of a user; see `Profiles.get`."""
    user = _check_user(user)
    facts = _load_facts(services, user)
    services.note_read(memory for memories in facts.values() for memory in memories)
    return _build_profile(user, facts)


def load_profile_facts(services: Services, user: str = DEFAULT_USER) -> list[Memory]:
    """Return the current facts of a profile in the order of its sections, newest value only."""
    facts = _load_facts(services, user)
    paths = sorted(facts, key=lambda path: (SECTIONS.index(path[0]), path))
    return [facts[path][-1] for path in paths]


def find_profile_scope(services: Services) -> str:
    """Return the scope that profiles are kept in, in the spelling that is stored."""
    wanted = services.profile_scope
    known = None if wanted == GLOBAL else find_spelling(wanted, services.storage.scopes())
    return known or wanted


def is_profile_fact(memory: Memory) -> bool:
    """Return whether `memory` is a value of the profile of any user, in any scope."""
    return _is_fact(memory, _TAG)


def users(services: Services) -> list[str]:
    """Return the ids of the users who have a profile, sorted."""
    return sorted({_read_owner_and_path(memory)[0] for memory in _find_facts(services, _TAG)})


def update_profile(
    services: Services,
    user: str,
    changes: Mapping[str, Any],
    *,
    origin: str,
    skip_invalid: bool = False,
) -> Profile:
    """Merge `changes` into a profile; see `Profiles.update`.

    Raises:
        InvalidInput: a value cannot be used; nothing was changed.
    """
    user = _check_user(user)
    wanted, left_out = _check_changes(services, changes, skip_invalid=skip_invalid)
    made_by = check_choice(origin, Origin, "origin")
    for attempt in attempts():
        facts = _load_facts(services, user)
        after = dict(_list_leaves(_merge_changes(_build_tree(facts), wanted)))
        placed, commit = _plan_commit(services, user, facts, after, made_by)
        if not commit.changes:
            return evolve(get_profile(services, user), left_out=left_out)
        with attempt:
            services.storage.commit(with_entry(services, Operation.PROFILE, commit))
            break
    embed_new(services, list(placed.memories.values()))
    updated = _load_or_build_profile(services, user, facts, after, placed)
    return evolve(updated, left_out=left_out)


def _load_or_build_profile(
    services: Services,
    user: str,
    facts: _Facts,
    after: Mapping[_Path, JsonValue],
    placed: Placement,
) -> Profile:
    """Return the profile after a commit; if it cannot be read, build it from the commit."""
    with AfterCommit("the reading of the profile"):
        return get_profile(services, user)
    new = {_read_owner_and_path(memory)[1]: [memory] for memory in placed.memories.values()}
    return _build_profile(user, {path: new.get(path) or facts[path] for path in after})


def _plan_commit(
    services: Services,
    user: str,
    facts: _Facts,
    after: Mapping[_Path, JsonValue],
    origin: Origin,
) -> tuple[Placement, Commit]:
    """Return the commit that changes the facts to the values in `after`."""
    now, home = services.clock(), find_profile_scope(services)
    scopes = services.storage.scopes()
    supersession = Supersession(services, now)
    for path, value in after.items():
        if path not in facts or _read_value(facts[path][-1]) != value:
            draft = evolve(_make_draft(user, path, value, origin), scope=home)
            supersession.place(build_memory(draft, services, scopes, now), timed=False)
    placed = supersession.placement()
    gone = [memory for path in facts if path not in after for memory in facts[path]]
    records = services.storage.get([memory.id for memory in gone])
    closed = [
        Put(
            memory=evolve(
                memory,
                status=Status.SUPERSEDED,
                valid_to=max(now, memory.held_from),
                revision=memory.revision + 1,
                stored_at=max(now, memory.stored_at),
            ),
            expected=memory.revision,
            embeddings=records[memory.id].embeddings if memory.id in records else (),
        )
        for memory in gone
    ]
    # The commit depends on the facts that were read above: a change of them since is a conflict.
    seen = [
        _expect_key(services, user, path, facts.get(path, ()))
        for path in facts.keys() | after.keys()
        if path not in after or path not in facts or _read_value(facts[path][-1]) != after[path]
    ]
    made = Commit() if home in scopes else create_missing_scopes([home], scopes, services)
    changed = merge_commits(placed.commit, Commit(expect=Expect(keys=seen), puts=closed))
    return placed, merge_commits(made, changed) if changed.changes else changed


def _expect_key(services: Services, user: str, path: _Path, facts: Sequence[Memory]) -> ExpectKey:
    """Return the expected holders of a key: `facts`, and memories outside of the profile."""
    key, scope = profile_key(user, path), find_profile_scope(services)
    holders = find_by_key(services.storage, [scope], key, frozenset({Status.CURRENT}))
    foreign = {memory.id for memory in holders if not _is_fact(memory, _make_tag(user))}
    return ExpectKey(scope=scope, key=key, ids=frozenset(foreign | {fact.id for fact in facts}))


def _make_draft(user: str, path: _Path, value: JsonValue, origin: Origin) -> Draft:
    key = profile_key(user, path)
    if len(key) > _MAX_KEY_CHARS:
        raise InvalidInput(
            f"the names {' / '.join(path)!r:.300} are too long for a profile: the key would have "
            f"{len(key)} characters and the limit is {_MAX_KEY_CHARS}"
        )
    return Draft(
        text=_describe_value(user, path, value),
        kind=Kind.FACT,
        key=key,
        tags=(_TAG, _make_tag(user)),
        origin=origin,
        context={"profile": {"user": user, "path": list(path), "value": value}},
    )


def _describe_value(user: str, path: _Path, value: JsonValue) -> str:
    """Return a value as words that a search can find."""
    section, *names = path
    if isinstance(value, list):
        text = ", ".join(item if isinstance(item, str) else _dump_json(item) for item in value)
    else:
        text = value if isinstance(value, str) else _dump_json(value)
    about = f" ({', '.join(names)})" if names else ""
    return f"{section.capitalize()} of {user}{about}: {text}"


def _load_facts(services: Services, user: str) -> _Facts:
    """Return the current facts of a profile by path, the latest fact of a path last.

    A path has several facts if an undo brought back a fact that was replaced.
    """
    facts: defaultdict[_Path, list[Memory]] = defaultdict(list)
    for memory in sorted(_find_facts(services, _make_tag(user)), key=_make_sort_key):
        owner, path = _read_owner_and_path(memory)
        if owner == user:
            facts[path].append(memory)
    return facts


def _find_facts(services: Services, tag: str) -> Iterator[Memory]:
    criteria = Criteria(
        scopes=frozenset({find_profile_scope(services)}),
        tags=(tag,),
        kinds=frozenset({Kind.FACT}),
        statuses=frozenset({Status.CURRENT}),
        keyed=True,
    )
    after: str | None = None
    while True:
        page = services.storage.find(criteria, limit=_PAGE, after=after)
        # A caller may give the tag to an unrelated memory.
        yield from (memory for memory in page.memories if _is_fact(memory, tag))
        after = page.next
        if after is None:
            return


def _is_fact(memory: Memory, tag: str) -> bool:
    try:
        user, path = _read_owner_and_path(memory)
    except (KeyError, TypeError):
        return False
    tags = {fold_name(name) for name in memory.tags}
    is_tagged = memory.kind is Kind.FACT and fold_name(tag) in tags
    return is_tagged and memory.key == profile_key(user, path) and path[0] in SECTIONS


def _make_sort_key(memory: Memory) -> tuple[object, ...]:
    return (memory.held_from, memory.stored_at, memory.id)


def _read_owner_and_path(memory: Memory) -> tuple[str, _Path]:
    payload: Any = memory.context["profile"]
    return payload["user"], tuple(payload["path"])


def _read_value(memory: Memory) -> JsonValue:
    payload: Any = memory.context["profile"]
    value: JsonValue = payload["value"]
    return value


def _build_profile(user: str, facts: _Facts) -> Profile:
    latest = {path: memories[-1] for path, memories in facts.items()}
    return Profile(
        user=user,
        fields={
            name: tree for name in SECTIONS if (tree := _build_tree(facts).get(name)) is not None
        },
        keys={"/".join(path): str(memory.key) for path, memory in sorted(latest.items())},
        updated_at=max((memory.stored_at for memory in latest.values()), default=None),
    )


def _build_tree(facts: _Facts) -> dict[str, JsonValue]:
    tree: dict[str, Any] = {}
    # Shorter paths first: only concurrent writers can store both a value and a value below it.
    for path, memories in sorted(facts.items()):
        node = tree
        for name in path[:-1]:
            inner = node.get(name)
            if not isinstance(inner, dict):
                inner = node[name] = {}
            node = inner
        node[path[-1]] = _read_value(memories[-1])
    return tree


def _list_leaves(
    tree: Mapping[str, JsonValue], path: _Path = ()
) -> Iterator[tuple[_Path, JsonValue]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _list_leaves(value, (*path, name))
        else:
            yield (*path, name), value


def _merge_changes(
    tree: Mapping[str, JsonValue], changes: Mapping[str, JsonValue], *, top: bool = True
) -> dict[str, JsonValue]:
    merged = dict(tree)
    for name, value in changes.items():
        before = merged.get(name)
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            inner = before if isinstance(before, dict) else {}
            merged[name] = _merge_changes(inner, value, top=False)
        elif top and name in _LISTS and isinstance(value, str):
            merged[name] = _append_text(before, value, name)
        else:
            merged[name] = value
    return merged


def _append_text(before: JsonValue, text: str, name: str) -> JsonValue:
    """Return the list `before` with `text` added, unless it is in the list."""
    if before is None:
        return [text]
    if not isinstance(before, list):
        raise InvalidInput(
            f"{name} is an object in this profile: give an object such as {{{name!r}: {{'name': "
            f"{text!r:.60}}}}}"
        )
    return before if text in before else [*before, text]


def _check_user(user: object) -> str:
    return check_label(user, "user", max_chars=_MAX_NAME_CHARS)


def _check_changes(
    services: Services, changes: object, *, skip_invalid: bool
) -> tuple[dict[str, JsonValue], dict[str, str]]:
    """Return the changes that can be used, and by path why the others cannot.

    Raises:
        InvalidInput: a value cannot be used, or none can be with `skip_invalid`.
    """
    if not isinstance(changes, Mapping) or not changes:
        raise InvalidInput(
            f"a profile is changed with an object of {', '.join(SECTIONS)}, not {changes!r:.100}"
        )
    for name in changes:
        check_field(name, SECTIONS, lack="a profile has no section")
    checked = check_context(changes, max_bytes=services.config.limits.max_context_bytes)
    problems = dict(_find_problems(checked))
    usable = _leave_out(checked, problems)
    if problems and not (skip_invalid and any(_list_leaves(usable))):
        raise InvalidInput(next(iter(problems.values())))
    return usable, {"/".join(path): problem for path, problem in problems.items()}


def _find_problems(changes: Mapping[str, JsonValue]) -> Iterator[tuple[_Path, str]]:
    """Yield the paths of the values that cannot be used, each with the reason."""
    for name, value in changes.items():
        if name == "name" and not isinstance(value, str | None):
            yield (name,), f"name must be a text, not {value!r:.100}"
        if name in ("preferences", "contacts") and not isinstance(value, dict | None):
            yield (name,), f"{name} must be an object of names and values, not {value!r:.100}"
    for path, value in _list_leaves(changes):
        try:
            for name in path:
                if check_label(name, "a name in a profile", max_chars=_MAX_NAME_CHARS) != name:
                    yield path, f"a name in a profile {name!r} has white space around it"
        except InvalidInput as error:
            yield path, str(error)
        if isinstance(value, str) and not value.strip():
            yield path, f"{'/'.join(path)} is empty: give null to remove it"


def _leave_out(
    tree: Mapping[str, JsonValue], paths: Collection[_Path], path: _Path = ()
) -> dict[str, JsonValue]:
    """Return the tree without the values at `paths`."""
    return {
        name: _leave_out(value, paths, (*path, name)) if isinstance(value, dict) else value
        for name, value in tree.items()
        if (*path, name) not in paths
    }


def _make_tag(user: str) -> str:
    return f"{_TAG}:{user}"[:128]


def _dump_json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)
