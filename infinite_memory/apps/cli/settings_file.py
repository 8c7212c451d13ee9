"""Changes settings in the file of the home folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from infinite_memory.core.config import CONFIG_FILE
from infinite_memory.core.errors import ConfigurationError
from infinite_memory.core.files.atomic import write_atomically
from infinite_memory.core.files.regular import read_regular


def change_settings(home: Path, changes: Mapping[str, str | None]) -> Path:
    """Set the keys of `changes` in the file of `home`, without keys that are None; return its path.

    All further settings are kept. The file is replaced as a whole, or its target if it is a link.
    The caller has read the file without an error.

    Raises:
        ConfigurationError: the file cannot be read or written; nothing was changed.
    """
    # A link stays a link: people keep their settings in another folder.
    path = (home / CONFIG_FILE).resolve()
    try:
        settings = json.loads(read_regular(path)) if path.exists() else {}
        changed = {**settings, **changes}
        kept = {key: value for key, value in changed.items() if value is not None}
        if kept != settings:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
            content = json.dumps(kept, indent=2, ensure_ascii=False) + "\n"
            write_atomically(path, content.encode(), mode=mode)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{path} cannot be changed ({error}): make it writable, or set"
            f" {', '.join(changes)} in it by hand"
        ) from error
    return path
