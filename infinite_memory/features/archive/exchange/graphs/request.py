"""What to export of the graph, and where to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import check_choice, check_count, check_flag
from infinite_memory.core.values.criteria import Conditions
from infinite_memory.core.values.memory import Status
from infinite_memory.engine.services import Services
from infinite_memory.features.archive.exchange.graphs.values import GraphFormat
from infinite_memory.features.archive.exchange.output_file import check_path
from infinite_memory.features.archive.exchange.selection import Selection, choose_memories

_DEPTH = 2
_FEW = 150
_MOST_AROUND, _MOST = 1000, 10_000_000
_ENDINGS = {".graphml": GraphFormat.GRAPHML, ".json": GraphFormat.JSON}
_PICTURES = ("html", "htm")


@frozen(kw_only=True)
class Around:
    """The neighbourhood of `ids`: a walk by `types`, none for all, in `depth` steps.

    Of more than `limit` memories the strongest are exported.
    """

    ids: Sequence[str]
    types: Sequence[str]
    depth: int
    limit: int


@frozen(kw_only=True)
class Whole:
    """All memories of a selection, or at most `limit`: the best linked, with their neighbours."""

    selection: Selection
    limit: int | None


@frozen(kw_only=True)
class GraphRequest:
    """What to export in which format, and where to; `force` replaces a file."""

    path: Path
    format: GraphFormat
    chosen: Around | Whole
    force: bool


def make_request(
    services: Services,
    to: object,
    ids: object,
    *,
    format_name: object,
    types: object,
    depth: int | None,
    limit: int | None,
    scope: str | Iterable[str] | None,
    statuses: object,
    private: object,
    force: object,
) -> GraphRequest:
    """Return the request for the arguments of a caller; see `Graph.export`.

    Raises:
        InvalidInput: a value cannot be used, or does not go with the others.
        UnknownScope: a scope does not exist.
    """
    path = check_path(to)
    form = _choose_format(path, format_name)
    starts, relations = _check_texts(ids, "ids"), _check_texts(types, "types")
    wanted, with_private = _check_texts(statuses, "statuses"), check_flag(private, "private")
    chosen: Around | Whole
    if starts:
        given = {"scope": scope, "statuses": wanted, "private": with_private}
        _refuse(given, "a neighbourhood is of the current memories that the scope of its ids sees")
        chosen = Around(
            ids=starts,
            types=relations,
            depth=_DEPTH if depth is None else depth,
            limit=_FEW if limit is None else check_count(limit, "limit", low=1, high=_MOST_AROUND),
        )
    else:
        _refuse({"types": relations, "depth": depth}, "a walk begins at ids: give one or several")
        conditions = Conditions(scope=scope, statuses=_check_statuses(wanted))
        chosen = Whole(
            selection=choose_memories(services, conditions, private=with_private),
            limit=None if limit is None else check_count(limit, "limit", low=1, high=_MOST),
        )
    return GraphRequest(
        path=path,
        format=form,
        chosen=chosen,
        force=check_flag(force, "force"),
    )


def _choose_format(path: Path, name: object) -> GraphFormat:
    ending = path.suffix.lower()
    if name in _PICTURES or (name is None and ending.lstrip(".") in _PICTURES):
        raise InvalidInput(
            f"no picture is written into {path.name!r:.100}: `infinite-memory web` shows the graph"
            " in a browser; end the name with .graphml or .json for a file"
        )
    if name is not None:
        return check_choice(name, GraphFormat, "format")
    known = _ENDINGS.get(ending)
    if known is None:
        raise InvalidInput(
            f"the name {path.name!r:.100} does not say in which format to write: end it with"
            " .graphml or .json, or name the format"
        )
    return known


def _check_texts(values: object, name: str) -> tuple[str, ...]:
    if isinstance(values, str):
        return (values,)
    if not isinstance(values, Iterable):
        raise InvalidInput(f"{name} must be a text or a list of texts, not {values!r:.100}")
    return tuple(values)


def _check_statuses(names: Sequence[str]) -> tuple[str, ...]:
    chosen = [check_choice(name, Status, "status") for name in names]
    if Status.FORGOTTEN in chosen:
        raise InvalidInput("forgotten memories are not exported: choose among the other statuses")
    return tuple(map(str, chosen))


def _refuse(given: Mapping[str, object], reason: str) -> None:
    """Refuse arguments that do not go with the others.

    Raises:
        InvalidInput: one was given.
    """
    for name, value in given.items():
        if value not in (None, (), False):
            raise InvalidInput(f"{name} {value!r:.100} cannot be used here: {reason}")
