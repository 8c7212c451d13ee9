"""Keys that a new key may have been meant to be: the nearest one, and the same in other scopes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import evolve

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Memory, Status, shorten
from infinite_memory.core.values.profile import is_profile_key
from infinite_memory.core.values.receipt import KeyHolder, Receipt
from infinite_memory.core.values.scope import Scope, Sensitivity, visible_from
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.services import Services
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.typos import differs_by_typo, has_same_digits
from infinite_memory.storage.keys import list_keys

_MOST = 3
_READ = 20
_TEXT_CHARS = 240
_COMPARED_KEYS = 10_000
_TWO_EDITS_FROM = 8
_STEM_CHARS = 3
_CURRENT = frozenset({Status.CURRENT})
_EVER = _CURRENT | {Status.SUPERSEDED}


def add_key_holders(services: Services, receipt: Receipt, memory: Memory) -> Receipt:
    """Return the receipt of a stored memory with the memories whose keys bear on its key.

    A memory without a key, or one that is superseded already, gets none. The memory is durable, so
    an error here is reported in `pending`. Naming a memory counts neither as recall nor as use.
    """
    is_current = memory.status is Status.CURRENT and receipt.superseded_by is None
    if memory.key is None or not is_current:
        return receipt
    with AfterCommit("the search for its key in other memories") as step:
        return _add_key_holders(services, receipt, memory, memory.key)
    advice = f"{step.failure}; look at the history of the key before you rely on it"
    return evolve(receipt, pending=(*receipt.pending, advice))


def nearest_keys(services: Services, key: str, scopes: Collection[str]) -> list[str]:
    """Return the keys of current memories in `scopes` that may be meant by `key`, nearest first.

    These are keys with the same letters, the same parts in another order, one part in another form
    or with a typing error, or one part more or less. The keys of profiles are left out.
    """
    if is_profile_key(key):
        return []
    near = []
    for known in list_keys(services.storage, scopes, limit=_COMPARED_KEYS):
        if known == key or is_profile_key(known):
            continue
        distance = _measure_distance(key, known)
        if distance is not None:
            near.append((distance, known))
    return [known for _, known in sorted(near)]


def _add_key_holders(services: Services, receipt: Receipt, memory: Memory, key: str) -> Receipt:
    scopes = services.storage.scopes()
    visible = visible_from(memory.scope, scopes)
    related = [*visible, *_list_open_descendants(memory.scope, scopes)]
    same = [
        holder
        for holder in _find_holders(
            services, key, [name for name in related if name != memory.scope]
        )
        if not holder.ended_by(services.clock())
    ]
    same.sort(key=lambda holder: related.index(holder.scope))
    same_key = tuple(_describe_holder(holder, visible) for holder in same[:_MOST])
    receipt = evolve(receipt, same_key=same_key)
    if any(holder.scope in visible for holder in same) or _was_known(services, memory, key):
        return receipt
    nearest = _find_nearest(services, memory, key, visible)
    return (
        receipt
        if nearest is None
        else evolve(receipt, nearest_key=_describe_holder(nearest, visible))
    )


def _find_holders(services: Services, key: str, scopes: Collection[str]) -> Sequence[Memory]:
    """Return the newest current memories in `scopes` with the key."""
    criteria = Criteria(scopes=frozenset(scopes), key=key, statuses=_CURRENT)
    return services.storage.find(criteria, limit=_READ).memories if scopes else ()


def _was_known(services: Services, memory: Memory, key: str) -> bool:
    """Return whether another memory in the scope of `memory` has or had the key."""
    criteria = Criteria(scopes=frozenset({memory.scope}), key=key, statuses=_EVER)
    holders = services.storage.find(criteria, limit=2).memories
    return any(holder.id != memory.id for holder in holders)


def _find_nearest(
    services: Services, memory: Memory, key: str, visible: Collection[str]
) -> Memory | None:
    """Return a memory with the nearest key, which began before `memory` and still holds."""
    now = services.clock()
    for near in nearest_keys(services, key, visible)[:_MOST]:
        for holder in _find_holders(services, near, visible):
            begins_later = holder.held_from > memory.held_from
            if holder.id != memory.id and not begins_later and not holder.ended_by(now):
                return holder
    return None


def _list_open_descendants(name: str, scopes: Mapping[str, Scope]) -> Iterator[str]:
    """Yield the scopes below `name` that a question may open; private scopes are not named."""
    for scope in scopes.values():
        is_open = scope.active and scope.sensitivity is Sensitivity.NORMAL
        if is_open and scope.parent is not None and name in _list_ancestors(scope, scopes):
            yield scope.name


def _list_ancestors(scope: Scope, scopes: Mapping[str, Scope]) -> list[str]:
    ancestors: list[str] = []
    step = scope.parent
    while step is not None and step not in ancestors:
        ancestors.append(step)
        step = scopes[step].parent if step in scopes else None
    return ancestors


def _describe_holder(holder: Memory, visible: Collection[str]) -> KeyHolder:
    return KeyHolder(
        id=holder.id,
        key=str(holder.key),
        scope=holder.scope,
        text=shorten(holder.text, _TEXT_CHARS) if holder.scope in visible else None,
        happened_at=holder.happened_at,
    )


def _measure_distance(key: str, known: str) -> int | None:
    """Return how far two canonical keys are apart, None if they are about different facts."""
    if key.replace("/", "") == known.replace("/", ""):
        return 0
    ours, theirs = key.split("/"), known.split("/")
    if len(ours) != len(theirs):
        shorter, longer = sorted((ours, theirs), key=len)
        return 4 if _has_one_part_more(longer, shorter) else None
    differing = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    if all(_has_same_stem(*pair) for pair in differing):
        return 2
    if all(_is_same_word(*pair) for pair in differing):
        return 3
    return 1 if len(key) == len(known) and sorted(ours) == sorted(theirs) else None


def _has_same_stem(ours: str, theirs: str) -> bool:
    # A stem is a word without its ending, so few pairs get as far as the analyzer.
    begins_alike = ours[:_STEM_CHARS] == theirs[:_STEM_CHARS]
    return begins_alike and has_same_digits(ours, theirs) and terms(ours) == terms(theirs)


def _is_same_word(ours: str, theirs: str) -> bool:
    return differs_by_typo(ours, theirs, two_edits_from=_TWO_EDITS_FROM) or _has_same_stem(
        ours, theirs
    )


def _has_one_part_more(longer: Sequence[str], shorter: Sequence[str]) -> bool:
    """Return whether `longer` is `shorter`, of two parts or more, with a part that has no digit."""
    if len(shorter) < 2 or len(longer) != len(shorter) + 1:
        return False
    return any(
        [*longer[:i], *longer[i + 1 :]] == shorter and not any(map(str.isdigit, part))
        for i, part in enumerate(longer)
    )
