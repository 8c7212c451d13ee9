"""What a session never leaves in the memory: secrets, and what was not to be kept.

This is a step on the events of a session, before anything is made of them. The names of the events
stay as they were, so a message that was stored before is known again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from attrs import evolve, field, frozen

from infinite_memory.core.secrets import MASK, find_secrets, mask_secrets, note_masked
from infinite_memory.features.sessions.events.event import Event

PRIVATE = "[private]"
"""Stands in the place of a stretch between `<private>` and `</private>`."""

_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)
# Said by the user, these keep a message out of the memory, with all that is done for it.
_OFF_THE_RECORD = re.compile(
    r"\boff[ -]the[ -]record\b|\b(?:bleibt|nur) unter uns\b|\bunter uns gesagt\b"
    r"|\bque (?:quede|esto quede) entre nosotros\b|\bextraoficialmente\b"
    r"|\b(?:ça|cela) reste entre nous\b|私下说|私下跟你说",
    re.IGNORECASE,
)
# "Do not keep this": it may also be a secret that the sentence names before.
_END = r"(?=\s*(?:[.;!?)]|\Z|\n|,? (?:please|anywhere|bitte|por favor|s['’]il te plaît)\b))"
_DO_NOT_KEEP = re.compile(
    r"\b(?:do not|don['’]t|never) (?:keep|save|store|remember|record|memori[sz]e)"
    rf" (?:(?:this|that)(?: message)?{_END}|(?:this|that|it) (?:anywhere|in (?:the|your) memory)\b)"
    rf"|\b(?:merke?|speichere?|behalte?|notiere?)(?: dir)? (?:das|dies)(?: bitte)? nicht{_END}"
    rf"|\b(?:das|dies)(?: bitte)? nicht (?:merken|speichern|behalten|notieren){_END}"
    rf"|\bno (?:guardes|recuerdes|memorices|anotes) (?:esto|eso){_END}"
    rf"|\bn(?:e |['’])(?:garde|enregistre|retiens|mémorise|note)s? pas (?:ça|cela|ceci){_END}"
    r"|(?:不要|别|请勿)(?:保存|记住|记下|记录|存储)(?:这[个些条]?|下来)?(?=[。！!.]|\s*\Z)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?]\s|[。！？\n]")
# A value that was found once is masked wherever the session repeats it.
_LEAST_REPEATED, _MOST_REPEATED, _MOST_VALUES = 8, 256, 64
_SENTENCE_CHARS = 500


@frozen
class Pauses:
    """The times at which sessions were paused, by the id of the session, "" for all sessions.

    A span is half-open, and its end is None while it lasts.
    """

    spans: Mapping[str, tuple[tuple[datetime, datetime | None], ...]] = field(factory=dict)

    def hold(self, session: str, at: datetime) -> bool:
        """Return whether what happened in a session at a moment is left out."""
        return any(
            begin <= at and (end is None or at < end)
            for name in ("", session)
            for begin, end in self.spans.get(name, ())
        )


NO_PAUSES = Pauses()
"""No session was ever paused."""


def withhold(events: Iterable[Event], pauses: Pauses) -> list[Event]:
    """Return what may be kept of the events of session files, which are in the order of time.

    What a request asks to leave out, or a pause, is left out with all that follows until the next
    request of its session.
    """
    kept: list[Event] = []
    values: dict[str, str] = {}
    silent: dict[str, bool] = {}
    for event in events:
        is_paused = pauses.hold(event.session, event.at)
        masked = _mask_event(event, values)
        if event.is_request:
            masked = evolve(masked, text=_PRIVATE.sub(PRIVATE, masked.text))
            is_empty = not masked.text.replace(PRIVATE, "").strip()
            silent[event.session] = is_paused or is_empty or _is_off_the_record(masked.text)
        if not (is_paused or silent.get(event.session)):
            kept.append(masked)
    return [_mask_repeated(event, values) for event in kept] if values else kept


def _mask_event(event: Event, values: dict[str, str]) -> Event:
    """Return the event with masked texts, and note the kinds of the secrets by their values."""

    def mask(text: str) -> str:
        secrets = find_secrets(text)
        for secret in secrets:
            value = text[secret.start : secret.end]
            note_masked(secret.kind, value)
            if _LEAST_REPEATED <= len(value) <= _MOST_REPEATED and len(values) < _MOST_VALUES:
                values.setdefault(value, secret.kind)
        return mask_secrets(text, secrets)[0]

    return _change_texts(event, mask)


def _mask_repeated(event: Event, values: Mapping[str, str]) -> Event:
    def mask(text: str) -> str:
        for value, kind in values.items():
            text = text.replace(value, f"{MASK}{kind}]")
        return text

    return _change_texts(event, mask)


def _change_texts(event: Event, change: Callable[[str], str]) -> Event:
    texts = (event.text, event.before, event.after, event.output)
    text, before, after, output = map(change, texts)
    todos = tuple([evolve(todo, text=change(todo.text)) for todo in event.todos])
    return evolve(event, text=text, before=before, after=after, output=output, todos=todos)


def _is_off_the_record(text: str) -> bool:
    if _OFF_THE_RECORD.search(text):
        return True
    for match in _DO_NOT_KEEP.finditer(text):
        before = text[max(0, match.start() - _SENTENCE_CHARS) : match.start()]
        if MASK not in _SENTENCE_END.split(before)[-1]:
            return True
    return False
