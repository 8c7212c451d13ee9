"""Words that are written in two ways and mean one thing: a closed list, for `likeness`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "APART",
    "CURRENCIES",
    "IN_ANY_CASE",
    "NUMBERS",
    "SIGNS_OF_UNITS",
    "SPELLINGS",
    "SPOKEN",
    "UNITS",
    "UNMARKED",
]

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

IN_ANY_CASE = frozenset(("wi-fi", "wifi"))
"""Written with a capital or without, all the same: "Wi-Fi", "WiFi"."""

APART: Mapping[str, str] = {
    word: word.replace("-", " ")
    for word in "long-term short-term part-time full-time real-time read-only command-line"
    " open-source high-level low-level third-party face-to-face".split()
}
"""Written with a hyphen or with a space."""

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

UNITS: Mapping[str, str] = {
    **dict.fromkeys(("min", "mins", "minutes"), "minute"),
    **dict.fromkeys(("hr", "hrs", "h", "hours"), "hour"),
    **dict.fromkeys(("sec", "secs", "s", "seconds"), "second"),
    **dict.fromkeys(("days",), "day"),
    **dict.fromkeys(("wk", "wks", "weeks"), "week"),
    **dict.fromkeys(("yr", "yrs", "years"), "year"),
    **dict.fromkeys(("percent", "pct"), "%"),
    **{
        f"{name}{s}": sign
        for s in ("", "s")
        for name, sign in (
            ("kilogram", "kg"), ("kilometer", "km"), ("kilometre", "km"), ("centimeter", "cm"),
            ("centimetre", "cm"), ("millimeter", "mm"), ("millimetre", "mm"),
            ("millisecond", "ms"), ("milligram", "mg"), ("milliliter", "ml"),
            ("millilitre", "ml"), ("kilobyte", "KB"), ("megabyte", "MB"), ("gigabyte", "GB"),
            ("terabyte", "TB"), ("gigahertz", "GHz"), ("megahertz", "MHz"), ("pixel", "px"),
        )
    },
}  # fmt: skip
"""What follows a number, by its other names."""

CURRENCIES: Mapping[str, str] = {
    "dollars": "$", **dict.fromkeys(("euros", "EUR", "€"), "€"),
}  # fmt: skip
"""What stands before a number, by what may follow it instead.

"5 dollar bills" are no "$5 bills", and "5 pounds" may be a weight.
"""

SIGNS_OF_UNITS = frozenset(
    "% GB MB KB kB TB GHz MHz kHz Hz kg km cm mm ms mg ml kWh px °C °F"
    " gb mb kb tb ghz mhz khz hz kwh".split()
)
"""They stand right behind their number, or after a space."""

SPOKEN: Mapping[str, str] = {
    "i'm": "am",
    **{f"{who}'re": "are" for who in ("you", "we", "they")},
    **{f"{who}'ve": "have" for who in ("i", "you", "we", "they")},
    **{f"{who}'ll": "will" for who in ("i", "you", "he", "she", "it", "we", "they")},
    **{
        f"{verb}n't": "not"
        for verb in "do does did is are was were has have had should could would must need".split()
    },
    "can't": "not", "cannot": "not", "won't": "not",
}  # fmt: skip
"""What the end of a contraction stands for."""

UNMARKED: Mapping[str, str] = {
    **{
        f"{verb}nt": f"{verb}n't"
        for verb in "do does did is are was were have has had should could would".split()
    },
    "im": "i'm",
}
"""Contractions by what they are without their sign, as far as that is no other word."""
