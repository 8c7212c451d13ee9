from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

Ask = Callable[..., Any]
Run = Callable[..., Any]


def test_a_hard_forget_can_be_repeated_and_finishes_what_was_left(
    run: Run, ask: Ask, home: Path
) -> None:
    run("remember", "one", "--id", "a")
    run("remember", "two", "--id", "b")
    run("forget", "a", "--hard", "--yes")
    (home / "index").mkdir(exist_ok=True)
    (home / "index" / "left.index").write_bytes(b"traces")
    receipts = ask("forget", "a", "b", "a", "--hard", "--yes")["receipts"]
    assert [(each["id"], each["outcome"]) for each in receipts] == [
        ("a", "unchanged"),
        ("b", "erased"),
    ]
    assert not list((home / "index").iterdir())
    assert "Unchanged a" in run("forget", "a", "--hard").stdout, "nothing is left to ask about"


def test_a_wrong_id_beside_an_erased_one_forgets_nothing(run: Run, ask: Ask) -> None:
    run("remember", "one", "--id", "a")
    run("remember", "two", "--id", "b")
    run("forget", "a", "--hard", "--yes")
    run("forget", "a", "b", "wrong", "--hard", "--yes", code=5)
    run("forget", "a", "b", code=5)
    assert ask("show", "b")["status"] == "current"


def test_a_damaged_memory_can_be_erased(run: Run, ask: Ask, home: Path) -> None:
    run("remember", "one", "--id", "a")
    run("remember", "two", "--id", "b")
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("UPDATE memories SET text = 'lies' WHERE id = 'a'")
    connection.close()
    run("forget", "a", code=4)
    refused = run("forget", "a", "--hard", code=2)
    assert "give --yes" in refused.stderr
    (receipt,) = ask("forget", "a", "--hard", "--yes")["receipts"]
    assert (receipt["outcome"], receipt["erased"]) == ("erased", ["memory a, which was damaged"])
    assert ask("verify")["sound"] is True


def test_an_erasure_names_what_holds_the_same_words(run: Run) -> None:
    run("remember", "I am allergic to penicillin", "--id", "fact")
    run("remember", "Remember: I am  allergic to Penicillin!", "--id", "said", "--kind", "message")
    run("remember", "I am allergic to pollen", "--id", "other")
    erased = run("forget", "fact", "--hard", "--yes").stderr
    assert "still in 1 other memory: infinite-memory forget said --hard" in erased
    assert "The same words" not in run("forget", "other", "--hard", "--yes").stderr


def test_a_text_too_long_for_a_question_is_erased_like_any_other(run: Run) -> None:
    text = "the harbour of the island " * 20_000
    run("remember", "--id", "long", stdin=text)
    run("remember", "--id", "copy", stdin=text)
    erased = run("forget", "long", "--hard", "--yes")
    assert "Erased long" in erased.stdout
    assert "infinite-memory forget copy --hard" in erased.stderr
