"""The referees of the protocol: the conformance suite and the Inspector, as they run here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.harness.node_packages import NodePrograms, install_programs

_SUITE = "@modelcontextprotocol/conformance"
_PACKAGES = {_SUITE: "0.2.0-alpha.12", "@modelcontextprotocol/inspector": "2.12.0"}
# What the Inspector asks for.
_MIN_NODE = (22, 19)


@frozen(kw_only=True)
class Verdict:
    """The statuses of the checks of one scenario, and what its failures and warnings say."""

    scenario: str
    statuses: Sequence[str]
    failures: Sequence[str]
    warnings: Sequence[str]

    @property
    def passes(self) -> bool:
        """Whether checks were made, and none of them failed."""
        return bool(self.statuses) and not self.failures


class Referees:
    """The installed programs, run with a home folder of their own."""

    def __init__(self, programs: NodePrograms, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self._programs = programs
        self._home = home

    def judge(self, url: str, revision: str, results: Path) -> dict[str, Verdict]:
        """Run what a revision of the protocol requires of a server; return the scored verdicts."""
        suite = ["conformance", "server", "--url", url, "--requirements", revision]
        self._run([*suite, "--output-dir", str(results)])
        return {name: _read_verdict(name, results) for name in self._scored(revision)}

    def lint(self, *target: str) -> tuple[int, str]:
        """Return the exit code of the strict lint of all tools, and all that it found."""
        done = self.inspect(*target, "--method", "tools/list", "--strict")
        return done.returncode, done.stderr

    def load(
        self, url: str, tool: str, arguments: Mapping[str, Any], *, requests: int, era: str
    ) -> dict[str, Any]:
        """Call a tool that often, ten calls at a time; return the figures of the Inspector."""
        call = ["--method", "tools/call", "--tool-name", tool]
        values = ["--tool-args-json", json.dumps(arguments), "--protocol-era", era]
        amount = ["--load", "--load-requests", str(requests), "--load-concurrency", "10"]
        target = ["--server-url", url, "--transport", "http"]
        done = self.inspect(*target, *call, *values, *amount)
        assert done.stdout, done.stderr
        figures: dict[str, Any] = json.loads(done.stdout)["result"]
        return figures

    def inspect(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line of the Inspector."""
        return self._run(["mcp-inspector", "--cli", *arguments, "--format", "json"])

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self._home,
            env={"HOME": str(self._home), "PATH": self._programs.path()},
            executable=str(self._programs.commands / command[0]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def _scored(self, revision: str) -> list[str]:
        """Return the scenarios of servers that the suite itself counts for a revision."""
        package = self._programs.commands.parent / _SUITE
        lines = (package / "requirements" / f"{revision}.yaml").read_text().splitlines()
        scenarios: list[str] = []
        for line in lines[lines.index("server:") + 1 :]:
            if not line.startswith("  - "):
                break
            scenarios.append(line.removeprefix("  - ").strip())
        return scenarios


def install_referees(home: Path) -> Referees:
    """Return the referees, after installing them if they are not there."""
    return Referees(install_programs("conformance", _PACKAGES, min_node=_MIN_NODE), home)


def _read_verdict(scenario: str, results: Path) -> Verdict:
    """Read the checks of a scenario; none if the suite did not come to write them."""
    checks: list[dict[str, Any]] = []
    for file in results.glob(f"server-{scenario}-20*{os.sep}checks.json"):
        checks += json.loads(file.read_text())
    return Verdict(
        scenario=scenario,
        statuses=[check["status"] for check in checks],
        failures=[_describe(check) for check in checks if check["status"] == "FAILURE"],
        warnings=[_describe(check) for check in checks if check["status"] == "WARNING"],
    )


def _describe(check: Mapping[str, Any]) -> str:
    return f"{check['id']}: {check.get('errorMessage') or check.get('details')}"
