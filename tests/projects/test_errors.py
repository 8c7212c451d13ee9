"""Errors: normalising, finding what an error is, comparing two, and ranking their solutions."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.features.projects.errors import (
    ErrorSignature,
    compare_errors,
    find_error,
    normalize_error,
    rank_solutions,
)

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "errors" / "cases.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
PASTED = st.sampled_from([text for c in CASES for text in (c["stored"]["problem"], c["asked"])])
FRAGMENTS = st.lists(
    st.one_of(
        st.sampled_from(list("0aF/\\.:-_~^ \n\r\x1b[]m(),'\"│|#@Te")),
        st.sampled_from(["0x1f", "Error: ", "exit code 12", "c:\\a", "://", "\x1b[31m", "abcdef0"]),
        st.text(max_size=4),
    ),
    max_size=60,
).map("".join)
TRACEBACK = """Traceback (most recent call last):
  File "{path}", line {line}, in load
    return json.loads(text)
ValueError: row {number} of 0x{address:x} in {path} at {uuid} is not a number"""


def find(text: str) -> ErrorSignature:
    signature = find_error(text)
    assert signature is not None
    return signature


@given(st.one_of(st.text(), FRAGMENTS, PASTED))
def test_normalising_is_idempotent_and_never_longer(text: str) -> None:
    normalized = normalize_error(text)
    assert normalize_error(normalized) == normalized
    assert len(normalized) <= len(text)


@given(st.one_of(st.text(), FRAGMENTS, PASTED))
def test_the_normalised_text_has_the_signature_of_the_text(text: str) -> None:
    signature = find_error(text)
    assert find_error(normalize_error(text)) == signature
    assert (signature is None) == (normalize_error(text) == "")


@given(
    st.lists(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), max_size=5),
    st.integers(1, 99_999),
    st.integers(0, 10**9),
    st.integers(0, 2**48),
    st.uuids(),
)
def test_other_folders_lines_and_ids_leave_the_signature(
    folders: list[str], line: int, number: int, address: int, uuid: Any
) -> None:
    pasted = TRACEBACK.format(
        path="/".join(["", *folders, "rows.py"]),
        line=line,
        number=number,
        address=address,
        uuid=uuid,
    )
    usual = TRACEBACK.format(path="C:\\src\\rows.py", line=7, number=3, address=4096, uuid=0)
    assert find(pasted) == find(usual)


@given(PASTED, PASTED)
def test_likeness_is_symmetric_and_between_0_and_1(first: str, second: str) -> None:
    one, other = find(first), find(second)
    likeness = compare_errors(one, other)
    assert 0.0 <= likeness <= 1.0
    assert likeness == pytest.approx(compare_errors(other, one))
    assert compare_errors(one, one) >= (0.999 if one.name else 0.9)


@pytest.mark.parametrize(
    ("pasted", "normalized"),
    [
        ("\x1b[31merror\x1b[0m: a.c:12:5: no", "error: a.c:0: no"),
        ("2024-02-11T09:14:22.031Z main[4711] took 12.5ms", "0 main[0] took 0"),
        ("listen on 127.0.0.1:8080 (pid 12)", "listen on 0 (pid 0)"),
        ("commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "commit 0"),
        ("id 3b241101-e2bb-4255-8caf-4136c566a962 gone", "id 0 gone"),
        ("at 0x7ffee3b5 in /usr/lib/libc.so.6", "at 0 in libc.so.0"),
        ("get https://host.example:8443/a?b=1 failed", "get url failed"),
        ("error[E0382]: use of moved value: `x`", "error[E0382]: use of moved value: `x`"),
        ("exit code 137, ERROR 1045 (28000)", "exit code 137, ERROR 1045 (0)"),
        ("│ Error: Cycle\n  ^^^^^\n====\n", "Error: Cycle"),
        ("  12 rows\n  13 rows\n", "0 rows"),
    ],
)
def test_what_varies_is_replaced(pasted: str, normalized: str) -> None:
    assert normalize_error(pasted) == normalized


def test_the_signature_of_a_traceback() -> None:
    assert find(TRACEBACK.format(path="/a/b.py", line=3, number=4, address=5, uuid=6)) == (
        ErrorSignature(
            name="ValueError",
            message="ValueError: row 0 of 0 in b.py at 0 is not a number",
            frames=("load",),
            text=(
                "Traceback (most recent call last):\n"
                'File "b.py", line 0, in load\n'
                "return json.loads(text)\n"
                "ValueError: row 0 of 0 in b.py at 0 is not a number"
            ),
        )
    )


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("py-import-circular", "ImportError"),
        ("java-npe-getter", "NullPointerException"),
        ("rust-e0499", "E0499"),
        ("ts-2322-number", "TS2322"),
        ("csharp-cs0246", "CS0246"),
        ("node-eaddrinuse", "EADDRINUSE"),
        ("ruby-nil-each", "NoMethodError"),
        ("npm-eresolve", "ERESOLVE"),
        ("make-missing-separator", None),
    ],
)
def test_the_name_of_an_error(case: str, name: str | None) -> None:
    problem = next(c["stored"]["problem"] for c in CASES if c["id"] == case)
    assert find(problem).name == name


@pytest.mark.parametrize(
    ("case", "frames"),
    [
        ("java-npe-getter", ("com.acme.orders.Shipping.label", "com.acme.orders.Main.main")),
        ("go-nil-map", ("main.count",)),
        ("c-asan-overflow", ("copy_name", "main")),
        ("py-attribute-none-group", ("parse",)),
    ],
)
def test_the_innermost_frame_comes_first(case: str, frames: tuple[str, ...]) -> None:
    problem = next(c["stored"]["problem"] for c in CASES if c["id"] == case)
    assert find(problem).frames == frames


def test_the_colours_and_marks_of_a_terminal_leave_no_trace() -> None:
    assert find("\x1b[1;31m│ Error\x1b[0m: \x1b]0;title\x07no lock") == find("Error: no lock")


@pytest.mark.parametrize("text", ["", " \n\t", "-----", "^~~~", "\x1b[0m", "│ │"])
def test_a_text_without_words_is_no_error(text: str) -> None:
    assert find_error(text) is None


def test_of_a_long_log_only_the_failure_is_searched_for() -> None:
    log = "\n".join(f"INFO loaded {chr(97 + n)}" for n in range(26))
    error = "fatal: refusing to merge unrelated histories"
    signature = find(f"{log}\n{error}\n{log}")
    assert signature.message == error
    assert signature.text == f"INFO loaded z\n{error}\nINFO loaded a"


def test_what_a_log_says_again_and_again_is_routine() -> None:
    passed = "\n".join(
        f"suite {n} of {chr(97 + n)}: 12 passed, 0 failed, 0 errors" for n in range(9)
    )
    ticket = "INFO ABC-1234: begin with NODE_ENV=production, without cache"
    signature = find(f"{passed}\n{ticket}\n{passed}\nUnable to reach the queue\n{passed}")
    assert signature.message == "Unable to reach the queue"
    assert signature.name is None


def test_a_failure_that_a_log_repeats_is_still_found() -> None:
    log = "\n".join(
        f"worker {chr(97 + n)}: KeyError: 'size'\nworker begins again" for n in range(20)
    )
    assert find(log).name == "KeyError"


def test_the_cause_is_the_message_of_a_chain() -> None:
    chain = "a.BeanError: no bean\n\tat a.B.c(B.java:1)\nCaused by: b.DiskError\n\tat d.E.f(E.java)"
    assert find(chain).name == "DiskError"
    assert find(chain).frames == ("a.B.c", "d.E.f")


def test_solutions_are_ranked_by_the_error_and_by_the_search() -> None:
    asked = find("ValueError: 7 is not a colour")
    same, other = find("ValueError: 9 is not a colour"), find("KeyError: 'colour'")
    ranked = rank_solutions(
        asked, [("other", other, 0.6), ("none", None, 0.6), ("same", same, 0.5)]
    )
    assert [solution_id for solution_id, _ in ranked] == ["same", "other", "none"]
    assert all(0.0 <= score <= 1.0 for _, score in ranked)
    assert rank_solutions(asked, []) == []
    assert [name for name, _ in rank_solutions(None, [("a", same, 0.1), ("b", None, 0.2)])] == [
        *("b", "a")
    ]


@pytest.mark.parametrize(
    "piece",
    ["a", "/", "a/", "0", "0:", "0a", "f", "_", "-", "\x1b[", "\x1b]", "(", "at a", "A", "Aa", "::",
     "Error", "x-", "a.b", "12-", "'", "\\", "~^", "http://", "#0 ", "File \""],
)  # fmt: skip
def test_a_long_text_takes_no_long_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    start = time.perf_counter()
    find_error(text)
    find_error("\n".join(text[n : n + 999] for n in range(0, len(text), 999)))
    assert time.perf_counter() - start < 5.0


def test_the_cases_are_mixed_and_worded_apart() -> None:
    halves = Counter(case["split"] for case in CASES)
    assert halves.keys() == {"tuning", "held-out"}
    assert min(halves.values()) >= 55
    assert len({case["id"] for case in CASES}) == len(CASES)
    assert len({case["tool"] for case in CASES}) >= 12
    assert not [case["id"] for case in CASES if case["asked"] == case["stored"]["problem"]]
