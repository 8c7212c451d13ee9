"""Every entry point of an installation, as a user calls it.

    python tests/smoke.py FOLDER_OF_COMMANDS

Run by .ci/run on a clean installation of the wheel; it needs the client library of the protocol,
which the environment that runs it has, and prints what the commands print.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters


def say(*command: str) -> str:
    print("$", Path(command[0]).name, *command[1:], flush=True)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    print(done.stdout, end="", flush=True)
    return done.stdout


async def speak(command: str, home: str) -> None:
    server = StdioServerParameters(command=command, args=["--home", home])
    for era in ("auto", "legacy"):
        async with Client(server, mode=era) as client:
            tools = await client.list_tools()
            print(f"{era}: {len(tools.tools)} tools", flush=True)
            stored = await client.call_tool("store_memory", {"text": f"The {era} era was here"})
            found = await client.call_tool("retrieve_memory", {"query": f"{era} era"})
            assert not stored.is_error, stored
            assert f"> The {era} era was here" in found.content[0].text, found
            print(found.content[0].text, flush=True)


def main() -> None:
    commands = Path(sys.argv[1])
    memory = str(commands / "infinite-memory")
    # A dependency that is quiet in a CI may leave something behind at a user's.
    os.environ.pop("CI", None)
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as user:
        os.environ["HOME"] = os.environ["USERPROFILE"] = user
        say(memory, "--version")
        say(memory, "--help")
        say(memory, "--home", home, "doctor")
        say(memory, "--home", home, "remember", "Alice's birthday is January 20", "--tag", "family")
        say(memory, "--home", home, "search", "when was Alice born?")
        found = json.loads(say(memory, "--home", home, "search", "when was Alice born?", "--json"))
        assert found["hits"][0]["text"] == "Alice's birthday is January 20"
        for command in ("list", "scopes", "stats", "config", "doctor"):
            say(memory, "--home", home, command)
        say(memory, "model", "info")
        say(str(commands / "infinite-memory-mcp"), "--version")
        anyio.run(speak, str(commands / "infinite-memory-mcp"), home)
        found = json.loads(say(memory, "--home", home, "search", "which era?", "--json"))
        assert len(found["hits"]) >= 2
        left = sorted(path.name for path in Path(user).iterdir())
        assert not left, f"{left} were left in the folder of the user"


if __name__ == "__main__":
    main()
