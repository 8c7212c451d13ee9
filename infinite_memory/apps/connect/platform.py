"""The machine as the clients see it: its system, its folders and its environment."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from attrs import field, frozen

_VARIABLE = re.compile(r"\{(\w+)\}")


@frozen(kw_only=True)
class Platform:
    """A machine: `system` is "linux", "darwin" or "win32", as `sys.platform` gives it.

    `folder` is the working folder, to which the files of a project belong; None if it is gone.
    """

    system: str
    user_home: Path
    folder: Path | None
    environment: Mapping[str, str] = field(factory=dict, repr=False)

    def resolve(self, template: str) -> Path | None:
        """Return the path of a template of the catalog, None if it names an unset variable.

        `{home}` is the folder of the user; `{data}` where applications keep their data:
        `~/Library/Application Support`, `%APPDATA%`, or `$XDG_CONFIG_HOME`; `{config}` where
        programs from Unix keep their settings; any other name is a variable of the environment.
        """
        folders = {
            "home": str(self.user_home),
            "data": str(self._find_data_folder()),
            "config": str(self._find_config_folder()),
            "project": "" if self.folder is None else str(self.folder),
        }
        values = {**self.environment, **folders}
        names = _VARIABLE.findall(template)
        if not all(values.get(name) for name in names):
            return None
        return Path(_VARIABLE.sub(lambda match: values[match[1]], template))

    def has_command(self, names: Iterable[str]) -> bool:
        """Return whether any of the commands is on the search path."""
        path = self.environment.get("PATH", "")
        return any(shutil.which(name, path=path) for name in names)

    def shorten(self, path: Path) -> str:
        """Return a path with `~` for the folder of the user, for a person to read."""
        try:
            return str(Path("~") / path.relative_to(self.user_home))
        except ValueError:
            return str(path)

    def _find_data_folder(self) -> Path:
        if self.system == "darwin":
            return self.user_home / "Library" / "Application Support"
        if self.system == "win32":
            roaming = self.environment.get("APPDATA")
            return Path(roaming) if roaming else self.user_home / "AppData" / "Roaming"
        return self._find_config_folder()

    def _find_config_folder(self) -> Path:
        configured = self.environment.get("XDG_CONFIG_HOME", "")
        # By its specification a relative path is to be ignored.
        return Path(configured) if configured.startswith("/") else self.user_home / ".config"
