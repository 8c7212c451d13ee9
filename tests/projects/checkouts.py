"""A repository, its scope, and git for its checkouts."""

from __future__ import annotations

import subprocess
from pathlib import Path

REPOSITORY = "github.com/octo/apollo"
SCOPE = f"repo/{REPOSITORY}"


def git(folder: Path, *arguments: str) -> str:
    """Run git with a fixed author and without the configuration of the user."""
    environment = {
        "PATH": "/usr/bin:/bin:/usr/local/bin",
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
    }
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()
