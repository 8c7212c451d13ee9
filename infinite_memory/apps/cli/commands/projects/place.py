"""The repository that a command works on: the one that is named, or that of the current folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from attrs import frozen

from infinite_memory.apps.cli.completions import complete_files, complete_repositories
from infinite_memory.core.paths import expand_path, find_working_folder
from infinite_memory.features.sessions.git import find_work_tree

Command = TypeVar("Command", bound=Callable[..., Any])


@frozen
class Place:
    """The repository as the library takes it, None for all of them; and the current folder.

    `top` is the top folder of the repository of the current folder, None if another one is meant.
    """

    repository: str | None
    folder: str
    top: Path | None = None

    @property
    def named(self) -> str:
        """The repository as it was typed, not None.

        Raises:
            click.UsageError: all of them are meant.
        """
        if self.repository is None:
            raise click.UsageError("give one repository: ALL is for commands that search")
        return self.repository

    def locate(self, files: Sequence[str]) -> list[str]:
        """Return paths that are relative to the current folder as full paths.

        Those of another repository, and those that exist from the top folder alone, stay as typed.
        """
        if self.top is None:
            return list(files)
        here, top = Path(self.folder), self.top
        paths = [(file, Path(os.path.normpath(here / expand_path(file)))) for file in files]
        return [
            file if not path.exists() and (top / file).exists() else str(path)
            for file, path in paths
        ]


def choose_place(given: str | None, way: str) -> Place:
    """Return the repository that `given` names, by default that of the current folder.

    `way` is the argument or option that names one.

    Raises:
        click.UsageError: none is given, and the current folder is in none.
    """
    here = find_working_folder()
    if given is not None:
        return Place(None if given.casefold() == "all" else given, str(here))
    top = find_work_tree(here)
    if top is None:
        raise click.UsageError(
            f"this folder is in no repository: give {way}, which is HOST/OWNER/NAME such as"
            " github.com/octo/apollo, the address of its remote, or its folder"
        )
    return Place(str(here), str(here), top)


def repository_argument(command: Command) -> Command:
    """Give a command the argument REPOSITORY, which may be left out."""
    return click.argument("repository", required=False, shell_complete=complete_repositories)(
        command
    )


def repository_option(command: Command) -> Command:
    """Give a command --repository."""
    return click.option(
        "--repository",
        metavar="REPOSITORY",
        shell_complete=complete_repositories,
        help="HOST/OWNER/NAME, the end of that, the address of the remote, or a folder; by default"
        " the repository of the current folder.",
    )(command)


def file_option(command: Command) -> Command:
    """Give a command --file."""
    return click.option(
        "--file",
        "files",
        metavar="PATH",
        multiple=True,
        shell_complete=complete_files,
        help="A file that it is about. May be repeated.",
    )(command)
