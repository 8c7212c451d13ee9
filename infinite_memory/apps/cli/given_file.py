"""Opens a file that an option names: a regular file, or a stream that the shell hands over."""

from __future__ import annotations

import os
import re
from typing import BinaryIO

from infinite_memory.core.files.regular import open_regular
from infinite_memory.core.paths import expand_path

# What the shell makes of `<(command)`, and the names of the streams that the process was given.
_STREAM = re.compile(r"/dev/stdin|/(?:dev|proc/self)/fd/(?P<number>\d+)")


def open_given_file(name: str) -> BinaryIO:
    """Open the file `name`; the caller closes it.

    A stream such as /dev/stdin is read until its writer ends it. Any other file must be regular,
    since nobody may ever write to a pipe of that name.

    Raises:
        OSError: it cannot be opened; `strerror` says why.
        ValueError: the name holds a character that no path can hold.
    """
    stream = _STREAM.fullmatch(name)
    if stream is None:
        try:
            return open_regular(expand_path(name))
        except OSError as error:
            error.filename = name  # as it was given, so that a password in it can be masked
            raise
    return os.fdopen(os.dup(int(stream["number"] or 0)), "rb")
