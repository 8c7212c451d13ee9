"""Keep: backups, imports, upkeep, scopes and keys."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.raw_server import environment
from infinite_memory import MemoryStore
from tests.mcp.http_server import HttpServer

pytestmark = pytest.mark.slow("page")


@pytest.fixture
def keep(page: Page, server: HttpServer) -> Page:
    expect(page.locator(".view")).to_be_visible(timeout=30_000)
    page.goto(f"{server.url}/#/keep")
    expect(page.get_by_text("Every memory can be found by meaning.")).to_be_visible(timeout=30_000)
    return page


def test_the_health_of_the_store_is_said_and_every_record_is_checked(keep: Page) -> None:
    expect(keep.get_by_text("All is well")).to_be_visible()
    keep.get_by_role("button", name="Check every record").click()
    expect(keep.get_by_text("checked: all are as they were written")).to_be_visible(timeout=30_000)


def test_a_backup_is_made_checked_restored_after_a_preview_and_deleted(
    keep: Page, store: MemoryStore
) -> None:
    keep.get_by_role("button", name="Backups").click()
    keep.get_by_role("button", name="Make a backup").click()
    expect(keep.get_by_text("Made ")).to_be_visible()
    keep.get_by_role("button", name="Check").first.click()
    expect(keep.get_by_text("Every record was read")).to_be_visible()
    count = store.stats().memories
    late = store.remember("Stored after the backup", scope="Reading").id
    keep.get_by_role("button", name="Restore").first.click()
    dialog = keep.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{count} memories")
    expect(dialog).to_contain_text("It would change no memory")
    expect(dialog).to_contain_text("You can undo it")
    dialog.get_by_label("How").select_option("overwrite")
    expect(dialog).to_contain_text("kept as a backup first")
    expect(dialog).to_contain_text("Reading: 1 removed")
    dialog.get_by_role("button", name="Restore").click()
    expect(keep.get_by_text("Restored. What was here before is in ")).to_be_visible(timeout=30_000)
    with pytest.raises(LookupError):
        store.get(late)
    assert len(store.backups.list()) == 2
    keep.get_by_role("button", name="Delete").first.click()
    keep.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(keep.get_by_role("button", name="Delete")).to_have_count(1)


def test_a_file_is_tried_first_then_brought_in_and_taken_back(
    keep: Page, store: MemoryStore, tmp_path: Path
) -> None:
    file = tmp_path / "memories.jsonl"
    texts = ["The tide table hangs in the hall", "Boots are in the shed"]
    lines = [*({"text": text} for text in texts), {"title": "none"}]
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    keep.get_by_role("button", name="Import and export").click()
    keep.get_by_label("Into the scope").fill("Harbour")
    keep.set_input_files("#import-file", file)
    expect(keep.get_by_text("2 new")).to_be_visible()
    expect(keep.get_by_text("1 record cannot be used")).to_be_visible()
    assert "Harbour" not in store.scopes
    keep.get_by_role("button", name="Bring in 2 memories").click()
    expect(keep.get_by_text("Brought in 2 memories of memories.jsonl")).to_be_visible()
    found = store.browse(scope="Harbour", inherited="none").memories
    assert {memory.text for memory in found} == set(texts)
    keep.get_by_role("button", name="Undo").click()
    expect(keep.get_by_text("Taken back.")).to_be_visible()
    assert "Harbour" not in store.scopes


def test_a_changed_file_is_a_newer_version_or_another_file(
    keep: Page, store: MemoryStore, tmp_path: Path
) -> None:
    file = tmp_path / "boats.txt"
    keep.get_by_role("button", name="Import and export").click()
    for text, outcome in (("The red boat leaks", "1 new"), ("The red boat floats", "1 changed")):
        file.write_text(text, "utf-8")
        keep.set_input_files("#import-file", [])
        keep.set_input_files("#import-file", file)
        expect(keep.get_by_text(outcome)).to_be_visible()
        if "floats" in text:
            expect(keep.get_by_text("a newer version of the boats.txt")).to_be_visible()
            keep.get_by_role("button", name="It is another file").click()
            expect(keep.get_by_text("1 new")).to_be_visible()
            keep.get_by_role("button", name="It is a newer version").click()
        keep.get_by_role("button", name="Bring in 1 memory").click()
        expect(keep.get_by_text("Brought in 1 memory of boats.txt").last).to_be_visible()
    (boat,) = store.search("red boat")[:1]
    assert [each.text for each in store.journal.history(boat.memory.id)] == [
        "The red boat leaks",
        "The red boat floats",
    ]


def test_a_file_that_nothing_can_read_is_refused_with_a_sentence(
    keep: Page, tmp_path: Path
) -> None:
    file = tmp_path / "tune.mp3"
    file.write_bytes(b"\xff\xfb\x90\x00" * 100)
    keep.get_by_role("button", name="Import and export").click()
    keep.set_input_files("#import-file", file)
    expect(keep.get_by_role("alert")).to_contain_text("tune.mp3")


def test_upkeep_is_planned_before_it_is_done_and_dreams_are_taken_back(
    keep: Page, store: MemoryStore
) -> None:
    keep.get_by_role("button", name="Upkeep and dreams").click()
    keep.get_by_role("button", name="See what is due").click()
    keep.get_by_role("button", name="Do it now").click()
    expect(keep.get_by_text("The upkeep is done.")).to_be_visible(timeout=60_000)
    store.dream(seed=2)
    # The page shows the new cycle first, once it has noticed it.
    expect(keep.locator("details.cycle")).to_have_count(len(store.dreams.diary(limit=20)))
    cycle = keep.locator("details.cycle").first
    cycle.locator("summary").click()
    cycle.get_by_role("button", name="Take the whole dream back").click()
    expect(cycle.get_by_text("taken back")).to_be_visible()


def test_a_scope_is_made_private_and_open_again(keep: Page, store: MemoryStore) -> None:
    keep.get_by_role("button", name="Scopes").click()
    row = keep.get_by_role("listitem").filter(has_text="Reading")
    row.get_by_role("button", name="Make private").click()
    expect(row.get_by_text("private", exact=True)).to_be_visible()
    assert store.scopes["Reading"].sensitivity == "private"
    keep.get_by_role("button", name="Undo").click()
    expect(row.get_by_role("button", name="Make private")).to_be_visible()


@pytest.fixture
def owner(home: Path) -> Iterator[str]:
    """The address that signs the owner in, of a server of the command."""
    command = [sys.executable, "-m", "infinite_memory", "web", "--no-browser", "--home", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "http" in line)
        yield re.search(r"http\S+", line)[0]  # type: ignore[index]
        process.terminate()


def test_the_owner_makes_a_key_sees_it_once_and_revokes_it(
    open_page: Callable[..., Page], owner: str, store: MemoryStore
) -> None:
    page = open_page(owner)
    expect(page.locator(".view")).to_be_visible()
    page.goto(f"{owner.partition('#')[0]}#/keep?part=keys")
    page.get_by_label("Name").fill("laptop")
    page.get_by_label("It may").select_option("write")
    page.get_by_label("Scopes, with commas").fill("Studio, Reading")
    store.remember("Something else happened meanwhile")
    expect(page.get_by_text("Something was changed elsewhere")).to_be_visible()
    page.get_by_role("button", name="Make the key").click()
    secret = page.get_by_role("dialog").locator("code").inner_text()
    key = store.keys.check(secret)
    assert (key.name, key.rights[-1]) == ("laptop", "write")
    assert list(key.scopes) == ["Studio", "Reading"]
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("revoked", exact=True)).to_be_visible()
    with pytest.raises(PermissionError):
        store.keys.check(secret)


def test_the_owner_makes_a_key_for_a_person_and_limits_what_they_keep(
    open_page: Callable[..., Page], owner: str, store: MemoryStore
) -> None:
    page = open_page(owner)
    expect(page.locator(".view")).to_be_visible()
    page.goto(f"{owner.partition('#')[0]}#/keep?part=keys")
    page.get_by_label("Name").fill("anna")
    page.get_by_label("It may").select_option("write")
    page.get_by_label("It is").select_option("shared")
    page.get_by_label("Scopes, with commas").fill("Studio")
    page.get_by_role("button", name="Make the key").click()
    key = store.keys.check(page.get_by_role("dialog").locator("code").inner_text())
    assert list(key.scopes) == ["people/anna", "Studio"]
    page.get_by_role("button", name="I have it").click()
    store.remember("A note of hers", scope="people/anna")
    page.reload()
    expect(page.get_by_text("keeps 1 memory, 14 bytes")).to_be_visible()
    page.get_by_role("button", name="Limit").click()
    page.get_by_role("dialog").get_by_label("Memories").fill("5")
    page.get_by_role("dialog").get_by_role("button", name="Limit").click()
    expect(page.get_by_text("keeps 1 memory of at most 5 memories")).to_be_visible()
    assert store.keys.list()[0].quota.max_memories == 5


def test_who_may_not_manage_sees_nothing_of_it(
    open_page: Callable[..., Page], home: Path, server: HttpServer
) -> None:
    page = open_page(f"{server.url}/#/keep")
    expect(page.get_by_role("button", name="Health")).to_be_visible()
    # Only its owner, signed in by a code, manages keys.
    expect(page.locator(".choices button", has_text="Keys")).to_have_count(0)
