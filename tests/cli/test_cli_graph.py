"""`graph`: what belongs to a memory, and links by hand, as a person types them."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from click.testing import Result

from infinite_memory import MemoryStore

Run = Callable[..., Result]
Ask = Callable[..., Any]
PLAN, LEASE = "the-plan-00000001", "the-lease-00000002"
ENDS = f'"We move the office to Lyon in May" ({PLAN}) to "The lease ends with June" ({LEASE})'


@pytest.fixture
def filled(home: Path) -> None:
    """Store two memories without anything in common but the hour, and a third elsewhere."""
    with MemoryStore.open(home) as store:
        store.remember("We move the office to Lyon in May", id=PLAN, similar=False)
        store.remember("The lease ends with June", id=LEASE, similar=False)
        store.remember("Bread needs salt", id="elsewhere-00000003", scope="kitchen", similar=False)


def test_a_link_is_made_listed_from_both_ends_and_removed(run: Run, filled: None) -> None:
    made = run("graph", "link", PLAN, LEASE, "-t", "intent", "-w", "0.9", "-r", "why we move")
    assert made.stdout == f"Linked {ENDS}: intent, with the weight 0.9.\n"
    (cells,) = (line.split("\t") for line in run("graph", "links", LEASE).stdout.splitlines())
    assert cells[:5] == ["from", "intent", "0.90", "We move the office to Lyon in May", PLAN]
    assert cells[5] == "infinite-memory"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", cells[6])
    assert cells[7:] == ["why we move"]
    assert run("graph", "links", PLAN).stdout.startswith("to\tintent\t0.90\tThe lease ends")
    removed = run("graph", "unlink", PLAN, LEASE)
    assert removed.stdout == f"Removed 1 link from {ENDS}: intent.\n"
    again = run("graph", "unlink", PLAN, LEASE)
    assert (again.stdout, "There was no such link" in again.stderr) == ("", True)
    assert "No link is stored" in run("graph", "links", PLAN).stderr


def test_the_endings_of_ids_are_enough_everywhere(ask: Ask, filled: None) -> None:
    plan, lease = PLAN[-8:], LEASE[-8:]
    assert ask("graph", "link", plan, lease)["source"] == PLAN
    assert [link["target"] for link in ask("graph", "links", lease)["links"]] == [LEASE]
    assert LEASE in [each["id"] for each in ask("graph", "related", plan)["related"]]
    assert [link["type"] for link in ask("graph", "unlink", plan, lease)["removed"]] == ["semantic"]


def test_what_belongs_to_a_memory_has_its_weight_its_reason_and_its_id(
    run: Run, ask: Ask, filled: None
) -> None:
    run("graph", "link", PLAN, LEASE, "--weight", "0.9", "--reason", "why we move")
    lines = run("graph", "related", PLAN, "--type", "semantic").stdout.splitlines()
    assert lines[0].startswith("0.90  The lease ends with June  ")
    assert lines[0].endswith(f"  {LEASE}")
    assert lines[1:] == ["      semantic link to it: why we move"]
    (related,) = ask("graph", "related", PLAN, "--type", "semantic", "--type", "intent")["related"]
    assert (related["id"], related["weight"]) == (LEASE, 0.9)
    assert [step["relation"] for step in related["path"]] == ["semantic"]


def test_nothing_that_belongs_to_it_is_said(run: Run, filled: None) -> None:
    told = run("graph", "related", PLAN, "--type", "topic")
    assert (told.stdout, told.stderr) == ("", "Nothing belongs to it by these relations.\n")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("link", PLAN, PLAN), 2, "cannot be linked to itself"),
        (("link", PLAN, "nothing-like-it"), 5, "nothing-like-it"),
        (("link", PLAN, LEASE, "--weight", "2"), 2, "give a number above 0, at most 1"),
        (("link", PLAN, LEASE, "--weight", "nan"), 2, "give a number above 0, at most 1"),
        (("link", PLAN, LEASE, "--weight", "much"), 2, "'much' is not a valid float"),
        (("link", PLAN, LEASE, "--type", "friend"), 2, "'friend' is not one of"),
        (("link", PLAN, LEASE, "--type", "supersedes"), 2, "is not made by hand"),
        (("link", PLAN, LEASE, "--reason", "x" * 201), 2, "reason"),
        (("link", PLAN, "elsewhere-00000003"), 2, "a link never joins two scopes"),
        (("link", PLAN), 2, "Missing argument 'OTHER'"),
        (("links", "nothing-like-it"), 5, "nothing-like-it"),
        (("related",), 2, "Missing argument 'ID...'"),
        (("related", PLAN, "--depth", "5"), 2, "depth"),
        (("related", PLAN, "--limit", "0"), 2, "limit"),
        (("related", *[PLAN] * 17), 2, "17 ids were given"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    arguments: tuple[str, ...], code: int, sentence: str, run: Run, ask: Ask, filled: None
) -> None:
    before = ask("log")
    assert sentence in run("graph", *arguments, code=code).stderr
    assert ask("log") == before


def test_a_link_of_an_upkeep_is_shown_and_not_removed_by_hand(
    run: Run, ask: Ask, filled: None
) -> None:
    run("revise", LEASE, "--supersedes", PLAN)
    assert "to\tsupersedes\t1.00" in run("graph", "links", LEASE).stdout
    assert "not removed by hand" in run("graph", "unlink", LEASE, PLAN, code=2).stderr
    assert len(ask("graph", "links", LEASE)["links"]) == 1


def test_the_group_alone_shows_its_commands(run: Run) -> None:
    shown = run("graph", code=2).output
    assert all(f"  {name} " in shown for name in ("related", "links", "link", "unlink"))


def test_the_graph_is_exported_into_a_file_for_its_owner_alone(
    run: Run, ask: Ask, filled: None, tmp_path: Path
) -> None:
    run("graph", "link", PLAN, LEASE)
    run("scopes", "update", "kitchen", "--private")
    out = tmp_path / "graph.graphml"
    told = run("graph", "export", "--to", str(out))
    assert told.stdout == f"Exported 2 memories and 1 link into {out}.\n"
    assert "1 private scope was left out: --private exports them too" in told.stderr
    assert "holds personal data in the clear" in told.stderr
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert sorted(nx.read_graphml(out)) == [LEASE, PLAN]
    exported = ask("graph", "export", "--to", str(out), "--force", "--scope", "kitchen")
    assert (exported["memories"], exported["links"], exported["left_out_scopes"]) == (1, 0, [])


def test_the_neighbourhood_of_an_ending_is_exported_and_what_is_left_out_is_said(
    run: Run, filled: None, tmp_path: Path
) -> None:
    run("graph", "link", PLAN, LEASE)
    out = tmp_path / "graph.txt"
    arguments = ("graph", "export", PLAN[-8:], "--to", str(out), "--format", "json", "--limit", "1")
    told = run(*arguments, "--type", "semantic")
    assert told.stdout == f"Exported 1 memory and 0 links into {out}.\n"
    assert "1 memory was left out, since others are stronger: --limit takes more." in told.stderr
    assert [node["id"] for node in json.loads(out.read_text("utf-8"))["nodes"]] == [PLAN]
    assert "exists already, and nothing was written" in run(*arguments, code=5).stderr


@pytest.mark.parametrize("choice", [("picture.html",), ("picture.json", "--format", "html")])
def test_a_picture_is_refused_with_the_command_that_shows_it(
    choice: tuple[str, ...], run: Run, filled: None, tmp_path: Path
) -> None:
    name, *options = choice
    told = run("graph", "export", PLAN, "--to", str(tmp_path / name), *options, code=2)
    assert "`infinite-memory web` shows the graph in a browser" in told.stderr
    assert list(tmp_path.glob("picture*")) == []
    other = run("graph", "export", "--to", str(tmp_path / "g.json"), "--format", "gexf", code=2)
    assert "gexf" in other.stderr
