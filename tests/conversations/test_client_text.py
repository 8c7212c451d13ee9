"""What a client adds to the messages of a person is told from what the person wrote."""

from __future__ import annotations

import pytest

from infinite_memory.features.sessions.events.builder import remove_client_text


@pytest.mark.parametrize(
    "block",
    [
        "<ide_selection>The lines 1 to 3 are selected</ide_selection>",
        "<task-notification>\n<task-id>7</task-id>\n</task-notification>",
        '<teammate-message teammate_id="mara">hello</teammate-message>',
        "<turn_aborted>The user interrupted the turn</turn_aborted>",
        "<subagent_notification>{}</subagent_notification>",
        "<command-name>/clear</command-name>\n  <command-args></command-args>",
        "<permissions instructions>\nnone\n</permissions instructions>",
        "<skill>\n<name>paint</name>\nMix the colours.\n</skill>",
        "\n<an-element_of-tomorrow>x</an-element_of-tomorrow>\n",
        "# AGENTS.md instructions for /srv/mill\n\n<INSTRUCTIONS>x</INSTRUCTIONS>",
        "[Request interrupted by user for tool use]",
        "System: Please continue.",
        "You are an AI agent that brings the power of Gemini to the shell. Write GEMINI.md.",
        "<system-reminder>a</system-reminder> <system-reminder>b</system-reminder>",
    ],
)
def test_what_a_client_adds_is_removed(block: str) -> None:
    assert remove_client_text([block]) == ""
    assert remove_client_text([block, "Oil the hinge"]) == "Oil the hinge"


def test_text_behind_what_a_client_adds_stays() -> None:
    said = "<ide_opened_file>a.py</ide_opened_file>\n<new_sign>x</new_sign>\nOil the hinge"
    assert remove_client_text([said]) == "Oil the hinge"


@pytest.mark.parametrize(
    "block",
    [
        "<div>Door</div> is not centred, why?",
        "<task>Paint the door</task>\n<context>It is of oak</context>",
        "<my-button> stays grey",
        "Why does <ide_selection>x</ide_selection> stand here?",
        "a < b and c > d",
        "<" * 5000,
        "<a-b>" * 2000,
    ],
)
def test_what_a_person_writes_stays_also_where_it_looks_alike(block: str) -> None:
    assert remove_client_text([block]) == block


def test_a_reminder_is_cut_out_of_what_stands_around_it() -> None:
    said = "Oil <system-reminder>it is Monday</system-reminder>the hinge"
    assert remove_client_text([said]) == "Oil the hinge"


@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>" * 60_000,
        "<a" + " b" * 250_000 + ">" + "x" * 500_000,
        "<a-b c>" * 100_000,
        " " * 1_000_000 + "x",
    ],
    ids=["reminders", "one long name", "names", "white space"],
)
def test_what_is_never_closed_stays_and_is_read_in_one_pass(text: str) -> None:
    """A reader that looks for each end anew would need hours for a megabyte."""
    assert remove_client_text([text]) == text.strip()


def test_one_name_closes_an_element() -> None:
    said = "<permissions instructions>be careful</permissions instructions>\n<a-b c=1>x</a-b> mine"
    assert remove_client_text([said]) == "mine"
    assert remove_client_text(["<a-b c>x</a-b c> mine"]) == "<a-b c>x</a-b c> mine"
    before = "mine <system-reminder>theirs</system-reminder> too <system-reminder>open"
    assert remove_client_text([before]) == "mine  too <system-reminder>open"
