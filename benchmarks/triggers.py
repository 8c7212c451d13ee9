"""How long it takes to check many conditions against a message, beside other ways to do it.

    python -m benchmarks.triggers

Printed: the best and the median of several rounds, warm, of

- conditions in JavaScript, in the process that the store keeps; beside a process for each
  condition, of which a few are timed; and, within one process, a fresh context for each condition
  beside a single context that is used for all, which is what freezing one would save at most;
- conditions as rules; beside a regular expression for each keyword, on the same message.

A hundredth of the conditions hold.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from infinite_memory.core.values.conversation.message import ChatMessage
from infinite_memory.core.values.conversation.trigger import Occasion
from infinite_memory.features.reminders.triggers.builtin import RulesEvaluator
from infinite_memory.features.reminders.triggers.javascript.evaluator import JavaScriptEvaluator
from infinite_memory.features.reminders.triggers.keywords import fold_message

_ROUNDS = 9
_MESSAGE = (
    "We talked about the harbour, and whether the ferry still leaves at ten on weekdays. Alice said"
    " that her birthday is near (她的生日快到了), and that the project has a deadline in June. "
)
_SAID = Occasion(
    now=datetime(2026, 7, 17, 12, tzinfo=UTC),
    messages=(ChatMessage(role="user", content=_MESSAGE),),
)


def keywords_of(number: int) -> list[str]:
    """Return the keywords of a condition: in every hundredth, one that the message has."""
    word = "birthday" if number % 100 == 0 else f"keyword{number}"
    return [word, f"关键词{number}"]


def measure(name: str, number: int, check: Callable[[], int], rounds: int = _ROUNDS) -> float:
    """Print how long a check of `number` conditions takes, and return the median in ms."""
    expected = len(range(0, number, 100))
    assert check() == expected
    times = []
    for _ in range(rounds):
        gc.collect()
        begun = time.perf_counter()
        check()
        times.append((time.perf_counter() - begun) * 1000)
    median = statistics.median(times)
    print(f"{name}: {number:,} conditions, best {min(times):,.1f} ms, median {median:,.1f} ms")
    return median


def compare_javascript(number: int, alone: int) -> None:
    sources = [
        f"match_keys(context.messages, {json.dumps(keywords_of(n), ensure_ascii=False)}, 'any')"
        for n in range(number)
    ]
    evaluator = JavaScriptEvaluator(zone="UTC")
    prepared = {str(n): evaluator.prepare(source) for n, source in enumerate(sources)}

    def check_all() -> int:
        return sum(verdict.holds for verdict in evaluator.evaluate(prepared, _SAID).values())

    def check_alone() -> int:
        held = 0
        for n in range(alone):
            single = JavaScriptEvaluator(zone="UTC")
            held += single.evaluate({"it": prepared[str(n)]}, _SAID)["it"].holds
            single.close()
        return held

    median = measure("JavaScript", number, check_all)
    evaluator.close()
    other = measure("JavaScript, a process for each", alone, check_alone, rounds=3)
    print(f"  ratio: {other / alone / (median / number):,.0f}")
    compare_contexts(sources)


def compare_contexts(sources: list[str]) -> None:
    from infinite_memory.features.reminders.triggers.javascript import child

    context = json.dumps({"messages": [{"role": "user", "content": _MESSAGE}]})

    def check_fresh() -> int:
        return sum(
            child._evaluate_condition(source, context, 0.0)["value"] == "true" for source in sources
        )

    def check_shared() -> int:
        judge = child._make_judge("", context, 0.0)
        return sum(judge(source) == "true" for source in sources)

    fresh = measure("  a fresh context for each, in this process", len(sources), check_fresh)
    shared = measure("  one context for all, in this process", len(sources), check_shared)
    print(f"  a fresh context costs {(fresh - shared) / len(sources) * 1000:,.0f} µs more")


def compare_rules(number: int) -> None:
    evaluator = RulesEvaluator()
    rules: list[dict[str, Any]] = [{"any_of": keywords_of(n)} for n in range(number)]
    prepared = {str(n): evaluator.prepare(rule) for n, rule in enumerate(rules)}
    expressions = [
        [re.compile(rf"\b{re.escape(word)}\b") for word in keywords_of(n)] for n in range(number)
    ]

    def check_rules() -> int:
        return sum(verdict.holds for verdict in evaluator.evaluate(prepared, _SAID).values())

    def check_expressions() -> int:
        text = fold_message(_MESSAGE)
        return sum(any(word.search(text) for word in words) for words in expressions)

    median = measure("rules", number, check_rules)
    other = measure("a regular expression for each keyword", number, check_expressions)
    print(f"  ratio: {other / median:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--javascript", type=int, default=1000, help="conditions in JavaScript")
    parser.add_argument("--rules", type=int, default=10_000, help="conditions as rules")
    parser.add_argument("--alone", type=int, default=20, help="conditions in a process each")
    arguments = parser.parse_args()
    compare_javascript(arguments.javascript, arguments.alone)
    compare_rules(arguments.rules)


if __name__ == "__main__":
    main()
