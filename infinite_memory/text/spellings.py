"""Words that are written in two ways and mean the same: a closed list."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["NUMBERS", "SPELLINGS"]

_OUR = (
    "col fav hon lab harb neighb hum flav behavi rum vap endeav rig arm od sav"
    " splend tum parl ferv vig val ranc cand clam"
)
_ISE = (
    "organ real recogn summar prior optim custom minim maxim author final util apolog emphas"
    " categor normal serial synchron initial standard critic special visual local central modern"
    " general item memor hospital legal popular stabil symbol incentiv person formal global"
    " industrial ideal social sympath scrutin subsid neutral public character fantas penal"
    " capital commercial national digit random vector token anonym"
)
_ENDINGS = ("e", "es", "ed", "ing", "er", "ers", "ation", "ations")


def _british() -> dict[str, str]:
    words = {
        f"{stem}our{end}": f"{stem}or{end}"
        for stem in _OUR.split()
        for end in ("", "s", "ed", "ing", "ite", "ites", "able", "al", "hood", "hoods", "less")
    }
    for stem in _ISE.split():
        words |= {f"{stem}is{end}": f"{stem}iz{end}" for end in _ENDINGS}
    for stem in ("travel", "cancel", "model", "label", "signal", "fuel", "level", "tunnel"):
        words |= {f"{stem}l{end}": f"{stem}{end}" for end in ("ed", "ing", "er", "ers")}
    for stem in ("anal", "paral", "catal"):
        words |= {f"{stem}ys{end}": f"{stem}yz{end}" for end in ("e", "ed", "ing")}
    return words


SPELLINGS: Mapping[str, str] = {
    **_british(),
    **{f"{one}{s}": f"{other}{s}" for s in ("", "s") for one, other in (
        ("centre", "center"), ("theatre", "theater"), ("litre", "liter"), ("metre", "meter"),
        ("kilometre", "kilometer"), ("catalogue", "catalog"), ("dialogue", "dialog"),
        ("defence", "defense"), ("offence", "offense"), ("jewellery", "jewelry"),
        ("aeroplane", "airplane"), ("pyjama", "pajama"), ("moustache", "mustache"),
        ("e-mail", "email"), ("web-site", "website"), ("wi-fi", "wifi"), ("set-up", "setup"),
        ("co-worker", "coworker"), ("log-in", "login"), ("time-zone", "timezone"),
        ("data-base", "database"), ("file-name", "filename"), ("user-name", "username"),
        ("check-list", "checklist"), ("sub-task", "subtask"), ("on-line", "online"),
        ("off-line", "offline"), ("licence", "license"), ("programme", "program"),
        ("artefact", "artifact"), ("tyre", "tire"), ("café", "cafe"), ("fiancé", "fiance"),
        ("fiancée", "fiancee"), ("façade", "facade"),
    )},
    "grey": "gray", "okay": "ok", "fulfil": "fulfill", "enrol": "enroll", "sceptical": "skeptical",
    "aluminium": "aluminum", "mould": "mold", "cosy": "cozy", "sulphur": "sulfur",
    "manoeuvre": "maneuver", "naïve": "naive", "towards": "toward",
    "co-operate": "cooperate", "co-ordinate": "coordinate", "skilful": "skillful",
    "ageing": "aging", "judgement": "judgment", "whilst": "while", "amongst": "among",
    "teh": "the", "recieve": "receive", "recieved": "received", "adress": "address",
    "definately": "definitely", "seperate": "separate", "occured": "occurred",
    "tommorow": "tomorrow", "resturant": "restaurant", "untill": "until", "wich": "which",
    "becuase": "because", "acheive": "achieve", "calender": "calendar", "goverment": "government",
    "enviroment": "environment", "neccessary": "necessary", "accomodate": "accommodate",
    "succesful": "successful", "begining": "beginning", "beleive": "believe", "freind": "friend",
    "deadlien": "deadline", "wierd": "weird",
}  # fmt: skip
"""The American and the right spelling, by the British and the best known wrong ones."""

_SMALL = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
_TEENS = "sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"

NUMBERS: Mapping[str, str] = {
    **{word: str(n) for n, word in enumerate(f"{_SMALL} {_TEENS}".split(), 2)},
    **{word: str(10 * n) for n, word in enumerate(_TENS.split(), 2)},
    **{
        f"{ten}-{one}": str(10 * n + k)
        for n, ten in enumerate(_TENS.split(), 2)
        for k, one in enumerate(f"one {_SMALL}".split()[:9], 1)
    },
}
"""Digits by the words for them; "one" is too often no number."""
