from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.ids import give_import_ids, is_import_id

NOON = datetime(2026, 6, 5, 12, tzinfo=UTC)


def ids(*drafts: Draft) -> list[str | None]:
    return [draft.id for draft in give_import_ids(drafts)]


def test_an_id_of_the_caller_stays_and_does_not_count() -> None:
    assert ids(Draft(text="a", id="mine"), Draft(text="a"))[0] == "mine"
    assert ids(Draft(text="a", id="mine"), Draft(text="a"))[1] == ids(Draft(text="a"))[0]


def test_the_id_depends_on_text_time_speaker_conversation_scope_and_number_alone() -> None:
    variants = [
        Draft(text="a"),
        Draft(text="b"),
        Draft(text="a", happened_at=NOON),
        Draft(text="a", speaker="Bo"),
        Draft(text="a", conversation_id="Bo"),
        Draft(text="a", scope="Bo"),
        Draft(text="a"),
    ]
    named = ids(*variants)
    assert len(set(named)) == len(variants)
    assert all(is_import_id(str(name)) for name in named)
    assert ids(Draft(text="a", tags=["x"], kind="fact")) == ids(Draft(text="a"))


def test_the_same_moment_and_the_same_scope_have_several_spellings() -> None:
    later = NOON.astimezone(timezone(timedelta(hours=2)))
    assert ids(Draft(text="a", happened_at=NOON, scope="Work")) == ids(
        Draft(text="a", happened_at=later, scope="work")
    )
