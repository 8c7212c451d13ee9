"""What a command of a shell says about itself: where it ran, and what it committed."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise

_MAX_CHARS = 20_000
_CD = re.compile(r"\s*cd\s+(?P<folder>\"[^\"]+\"|'[^']+'|[^\s;&|]+)\s*(?:&&|;|\n|$)")
_DASH_C = re.compile(r"\bgit\s+-C\s+(?P<folder>\"[^\"]+\"|'[^']+'|[^\s;&|]+)")
_GIT = re.compile(r"(?:^|[;&|(\n])[^\S\n]*+(?:\w+=\S+\s++)*+git\b(?P<rest>[^;&|\n]*)")
_VALUED = {"-C", "-c", "--git-dir", "--work-tree", "--namespace"}
_HASH = re.compile(
    r"\[[^\]\n]{1,200}?\s(?P<hash>[0-9a-f]{7,64})\]|^(?P<first>[0-9a-f]{7,64})\s", re.M
)
_REDIRECTED = re.compile(r"(?:(?<![0-9&>])>>?|\btee\s+(?:-a\s+)?)\s*(?P<path>[^\s;&|<>()]+)")
_SED = re.compile(r"\b(?:sed|perl)\s+(?:-[a-zA-Z]+\s+)*-[a-zA-Z]*i\b(?P<rest>[^;&|\n]*)")
_RM = re.compile(r"\brm\b(?P<rest>[^;&|\n]*)")
_FILE = re.compile(r"[\w./~@+-]*\w\.\w{1,8}")
_HEREDOC = re.compile(r"<<-?\s*'?(\w+)'?\n(?P<text>.*?)\n\s*\1", re.DOTALL)


def find_folder(command: str) -> str | None:
    """Return the folder that a command changes to first, or names with `git -C`, None if none."""
    text = command[:_MAX_CHARS]
    match = _CD.match(text) or _DASH_C.search(text)
    return match["folder"].strip("\"'") if match else None


def find_written(command: str) -> list[str]:
    """Return the files that a command writes by a redirection, by `tee`, or by `sed -i`.

    Files for the moment are left out: those in /tmp and /dev, and those that the command removes.
    """
    text = command[:_MAX_CHARS]
    paths = [match["path"] for match in _REDIRECTED.finditer(text)]
    for match in _SED.finditer(text):
        paths += match["rest"].split()[-1:]
    removed = {word for match in _RM.finditer(text) for word in match["rest"].split()}
    kept = [path.strip("\"'") for path in paths]
    return [
        path
        for path in dict.fromkeys(kept)
        if _FILE.fullmatch(path) and path not in removed and not path.startswith(("/tmp/", "/dev/"))
    ]


def find_commit(command: str, output: str) -> tuple[str, str] | None:
    """Return the hash and the message of the commit that a command made, None if it made none.

    The hash is "" if the output does not show it.
    """
    text = command[:_MAX_CHARS]
    for match in _GIT.finditer(text):
        words = match["rest"].split()
        while words and words[0].startswith("-"):
            del words[: 2 if words[0] in _VALUED else 1]
        if words and words[0] == "commit" and "--dry-run" not in words:
            shown = _HASH.search(output[:_MAX_CHARS])
            digest = (shown["hash"] or shown["first"]) if shown else ""
            return digest, _find_message(text[match.start("rest") :])
    return None


def _find_message(arguments: str) -> str:
    """Return the message of the option -m, or the text of a here-document, "" without either."""
    heredoc = _HEREDOC.search(arguments)
    if heredoc is not None:
        return heredoc["text"].strip()
    try:
        words = shlex.split(arguments, comments=False)
    except ValueError:
        words = arguments.split()
    for word, following in pairwise([*words, ""]):
        if word == "--message" or re.fullmatch(r"-[a-zA-Z]*m", word):
            return following.strip()
        if word.startswith("--message="):
            return word.removeprefix("--message=")
    return ""
