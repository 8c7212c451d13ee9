"""The referees of the protocol against our own server over HTTP, in both revisions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from http_server import HttpServer

from infinite_memory_mcp.settings import ALL_TOOLSETS
from tests.harness.referees import Referees, install_referees

pytestmark = pytest.mark.slow("conformance")

_ONE_ANSWER = "an answer is one JSON document, and no tool reports on its way (decision 0050)"
_NO_QUESTIONS = (
    "without sessions the server cannot ask a client of this revision anything (decision 0050)"
)
_NO_LOG = "logging to the client is optional, deprecated by the next revision, and not offered"
_NO_SUBSCRIPTIONS = "subscriptions are optional and not offered: they would need sessions"

REASONS: dict[str, dict[str, str]] = {
    "2026-07-28": {"tools-call-with-progress": _ONE_ANSWER},
    "2025-11-25": {
        "tools-call-with-progress": _ONE_ANSWER,
        "tools-call-sampling": _NO_QUESTIONS,
        "tools-call-elicitation": _NO_QUESTIONS,
        "elicitation-sep1034-defaults": _NO_QUESTIONS,
        "elicitation-sep1330-enums": _NO_QUESTIONS,
        "logging-set-level": _NO_LOG,
        "tools-call-with-logging": _NO_LOG,
        "resources-subscribe": _NO_SUBSCRIPTIONS,
        "resources-unsubscribe": _NO_SUBSCRIPTIONS,
    },
}
"""Why a scored scenario does not pass, by revision. One that passes must not be listed."""

SLOPPY = """
from mcp.server import MCPServer
from mcp.server.mcpserver.tools.base import Tool

def choose(name: str) -> str:
    return name

tool = Tool.from_function(choose, description="Choose.")
tool.parameters["properties"]["name"] = True
MCPServer("sloppy", tools=[tool]).run()
"""


@pytest.fixture(scope="module")
def referees(tmp_path_factory: pytest.TempPathFactory) -> Referees:
    return install_referees(tmp_path_factory.mktemp("referees") / "home")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """Give our server with the fixtures of the suite beside its own tools."""
    program = [sys.executable, str(Path(__file__).with_name("conformance_server.py"))]
    with HttpServer(tmp_path_factory.mktemp("conformance") / "home", program=program) as running:
        yield running
        assert running.stop() == 0
        assert "Traceback" not in running.log


@pytest.mark.parametrize("revision", REASONS)
def test_every_scored_scenario_passes_or_has_its_reason(
    referees: Referees, server: HttpServer, revision: str, tmp_path: Path
) -> None:
    verdicts = referees.judge(f"{server.url}/mcp", revision, tmp_path)
    failed = {name for name, verdict in verdicts.items() if not verdict.passes}
    statuses = Counter(status for verdict in verdicts.values() for status in verdict.statuses)
    print(
        f"\n{revision}: {len(verdicts) - len(failed)} of {len(verdicts)} scored scenarios pass;"
        f" checks: {dict(statuses)}"
    )
    for name in sorted(failed):
        print(f"  failed: {name}: {REASONS[revision].get(name, 'NO REASON')}")
        for failure in verdicts[name].failures:
            print(f"    {failure}")
    for verdict in verdicts.values():
        for warning in verdict.warnings:
            print(f"  warned: {verdict.scenario}: {warning}")
    unexplained = {name: verdicts[name].failures for name in failed - REASONS[revision].keys()}
    assert unexplained == {}
    assert REASONS[revision].keys() - failed == set()
    assert len(verdicts) >= 30


@pytest.mark.parametrize("toolsets", [*ALL_TOOLSETS, "all"])
def test_the_strict_lint_finds_nothing(referees: Referees, toolsets: str, tmp_path: Path) -> None:
    with HttpServer(tmp_path / "home", "--toolsets", toolsets) as server:
        for era in ("legacy", "modern"):
            target = ["--server-url", f"{server.url}/mcp", "--transport", "http"]
            assert referees.lint(*target, "--protocol-era", era) == (0, "")


def test_the_strict_lint_finds_a_sloppy_schema(referees: Referees, tmp_path: Path) -> None:
    (tmp_path / "sloppy.py").write_text(SLOPPY)
    code, found = referees.lint(sys.executable, str(tmp_path / "sloppy.py"))
    assert code == 6
    assert "Bare `true`" in found


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_under_load_there_are_no_errors(referees: Referees, tmp_path: Path, era: str) -> None:
    calls = [("store_memory", {"text": "The load was carried"}), ("reminders", {})]
    with HttpServer(tmp_path / "home") as server:
        for tool, arguments in calls:
            figures = referees.load(f"{server.url}/mcp", tool, arguments, requests=400, era=era)
            assert figures["errorMessages"] == []
            assert (figures["ok"], figures["toolErrors"], figures["errors"]) == (400, 0, 0)
        assert server.stop() == 0
        assert "Traceback" not in server.log
