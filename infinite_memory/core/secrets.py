"""Find keys, tokens, passwords, and numbers of cards and accounts in a text, by their forms.

A form whose beginning is unmistakable needs no more; the numbers of cards and accounts have
checksums, and a value that only a word names must look as nobody writes words. The time is linear
in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from attrs import frozen


@frozen
class Secret:
    """A secret of a `kind` in the half-open character range from `start` to `end`."""

    kind: str
    start: int
    end: int


@frozen
class _Form:
    """A kind of secrets: a text without any of the `anchors` has none."""

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    is_valid: Callable[[str], object]


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets in a text, in their order; none overlaps another."""
    found = [*_find_begun(text), *_find_numbers(text), *_find_named(text)]
    kept: list[Secret] = []
    # The sort is stable: of two that begin together, the one of the surer form stays.
    for secret in sorted(found, key=lambda secret: secret.start):
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return kept


def mask_secrets(text: str, secrets: Iterable[Secret] | None = None) -> tuple[str, tuple[str, ...]]:
    """Return `text` with a mask such as `[secret: AWS access key]` for each secret, and the kinds.

    `secrets` are those of `find_secrets`, which are looked for without them.
    """
    parts, kinds, start = [], dict[str, None](), 0
    for secret in find_secrets(text) if secrets is None else secrets:
        parts.append(f"{text[start : secret.start]}{MASK}{secret.kind}]")
        kinds[secret.kind] = None
        start = secret.end
    return "".join([*parts, text[start:]]), tuple(kinds)


def _find_begun(text: str) -> Iterator[Secret]:
    for form in _BEGUN:
        if any(anchor in text for anchor in form.anchors):
            for match in form.pattern.finditer(text):
                if form.is_valid(match["secret"]):
                    yield Secret(form.kind, *match.span("secret"))


def _find_numbers(text: str) -> Iterator[Secret]:
    for match in _CARD.finditer(text):
        if _is_card([int(digit) for digit in match[0] if digit.isdigit()]):
            yield Secret("card number", *match.span())
    for match in _IBAN.finditer(text):
        if length := _measure_iban(match[0]):
            yield Secret("IBAN", match.start(), match.start() + length)


def _find_named(text: str) -> Iterator[Secret]:
    """Yield the values behind a word such as "password" or "token"."""
    # A few letters become two in lower case; they stay, so that places in both texts agree.
    folded = text.lower()
    if len(folded) != len(text):
        folded = "".join(low if len(low := each.lower()) == 1 else each for each in text)
    for form in _NAMED:
        position = 0 if any(word in folded for word in form.anchors) else len(folded)
        while match := form.pattern.search(folded, position):
            start, end = match.span("secret")
            value = text[start:end].rstrip(".?")
            position = match.end("word")
            if not _OTHERWISE.search(folded, position, start) and form.is_valid(value):
                yield Secret(form.kind, start, start + len(value))
                position = end


def _is_no_filler(value: str) -> bool:
    """Return whether a value is more than a row of the same characters."""
    return len(set(value)) > _MOST_IN_FILLER


def _looks_random(value: str) -> bool:
    """Return whether letters and digits change places as often as in no word, name or path."""
    changes = len(_CHANGE.findall(value))
    return changes >= max(3, len(value) // 12) and not _CODE.fullmatch(value)


def _is_password(value: str) -> bool:
    """Return whether a value is no word, and no number, date, version or piece of code either."""
    if value.isdigit():
        return len(value) >= _LEAST_DIGITS
    has_letter = any(character.isalpha() for character in value)
    return has_letter and _UNLIKE_WORDS.search(value) is not None and not _CODE.fullmatch(value)


def _is_card(digits: list[int]) -> bool:
    """Return whether a number has the checksum of Luhn, and is no row of one digit."""
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _measure_iban(text: str) -> int:
    """Return the length of the account number at the beginning of `text`, 0 if there is none."""
    for end in reversed([match.end() for match in re.finditer(r"\w\b", text)]):
        number = text[:end].replace(" ", "")
        turned = "".join(str(int(each, 36)) for each in number[4:] + number[:4])
        if _LEAST_IBAN <= len(number) <= _MOST_IBAN and int(turned) % 97 == 1:
            return end
    return 0


def _form(
    kind: str, anchors: str, body: str, is_valid: Callable[[str], object] = _is_no_filler
) -> _Form:
    """Return a form that begins with one of the `anchors`, which goes on with a `body`."""
    starts = tuple(anchors.split())
    begin = "|".join(map(re.escape, starts))
    pattern = rf"(?<![A-Za-z0-9])(?P<secret>(?:{begin}){body})(?![A-Za-z0-9])"
    return _Form(kind, starts, re.compile(pattern), is_valid)


MASK = "[secret: "
"""The beginning of every mask."""

_MOST_IN_FILLER = 8
_PLACEHOLDERS = frozenset({"password", "pass", "passwd", "pwd", "secret", "xxx", "xxxx", "..."})
_BEGUN = (
    _Form(
        "private key",
        ("PRIVATE KEY",),
        re.compile(
            r"(?P<secret>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"|(?:(?:\s|\\n)*[A-Za-z0-9+/=]{32,}+)*+))"
        ),
        lambda value: len(value) > 80,
    ),
    _form("AWS access key", "AKIA ASIA", "[A-Z0-9]{16}"),
    _form("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", "[A-Za-z0-9]{36,255}"),
    _form("GitHub token", "github_pat_", r"\w{40,255}"),
    _form("GitLab token", "glpat- gldt- glrt- glptt- glcbt-", r"[\w-]{20,255}"),
    _form("Slack token", "xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp-", "[A-Za-z0-9-]{10,255}"),
    _form("Slack webhook", "hooks.slack.com/services/", r"T\w+/B\w+/\w{16,64}"),
    _form("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_", "[A-Za-z0-9]{16,255}"),
    _form("Anthropic key", "sk-ant-", r"[\w-]{20,255}", _looks_random),
    _form("OpenAI key", "sk-", r"[\w-]{20,255}", _looks_random),
    _form("Google key", "AIza", r"[\w-]{35}"),
    _form("Google secret", "GOCSPX- ya29.", r"[\w-]{24,512}"),
    _form("Hugging Face token", "hf_", "[A-Za-z0-9]{30,64}"),
    _form("SendGrid key", "SG.", r"[\w-]{16,64}\.[\w-]{30,64}"),
    _form("npm token", "npm_", "[A-Za-z0-9]{36}"),
    _form("PyPI token", "pypi-", r"[\w-]{50,512}"),
    # "eyJ" is the beginning of an object in base64.
    _form("JSON web token", "eyJ", r"[\w-]{8,}+\.[\w-]{8,}+\.[\w-]{8,}"),
    _Form(
        "URL password",
        ("://",),
        re.compile(r"://[^\s:/@]{0,200}:(?P<secret>[^\s/@\"'`<>]{3,200})@(?=[\w\[])"),
        lambda value: value[0] not in "$*{[%" and value.lower() not in _PLACEHOLDERS,
    ),
)

# The numbers of payment cards by their first digits, in groups or without.
_CARD = re.compile(
    r"(?<![\w.,/-])(?:(?:4\d|5[1-5]|2[2-7]|6\d|35)\d\d([ -]?)\d{4}\1\d{4}\1\d{4}(?:\1?\d{3})?"
    r"|3[47]\d\d([ -]?)\d{6}\2\d{5})(?![\w-]|[.,]\d)"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d\d ?[A-Z0-9][A-Z0-9 ]{9,40}")
_LEAST_IBAN, _MOST_IBAN = 15, 34

_CHANGE = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_UNLIKE_WORDS = re.compile(r"[0-9!#$%^*]|\w[&@+?~]\w")
_LEAST_DIGITS = 4
# Versions, dates, names of methods, dotted names, variables, paths, and addresses.
_CODE = re.compile(
    r"v?\d+(?:[.:/_-]\d+)+\w{0,6}|(?:sha|md|utf|base|http|ipv|oauth|bcrypt|argon|pbkdf)-?\d.*"
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[$%*/~\\.].*|[A-Za-z]:[\\/].*|.*://.*"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    re.DOTALL | re.IGNORECASE,
)
# What a value may be called where the word belongs to something else: "the token of commit ...".
_OTHERWISE = re.compile(
    r"\b(?:commits?|hash|sha\d*|digest|checksum|md5|uuid|revision|date|time|year|length|limit|count"
    r"|version|line|policy|min|max|minimum|maximum|integrity|etag)\b"
)
_SIGN = r"\s{0,3}(?:[:=]=?>?|：|＝)\s{0,3}"
_VERB = r"[^\S\n]{1,3}(?:is|was|ist|war|lautet|es|era|est|était)\b\s{0,3}(?:now\s|[:：]\s{0,3})?"
_GAP = r"(?:[^\S\n]{1,3}[^\s:=：]{1,24}){0,6}?"
_LINK = rf"(?:{_GAP}(?:{_SIGN}|{_VERB})|\s{{0,2}}[是为為]\s{{0,2}}[:：]?)[\"'`“„«]{{0,3}}"


def _name_values(words: str, link: str, value: str) -> re.Pattern[str]:
    return re.compile(rf"(?P<word>(?:{words})\w{{0,3}})[\"'`]{{0,2}}{link}(?P<secret>{value})")


# The words are in lower case; a text without one of them has no such value.
_NAMED = (
    _Form(
        "AWS secret key",
        ("secret",),
        _name_values(
            r"aws[\w -]{0,24}secret[\w -]{0,16}|secret[_ -]?access[_ -]?key",
            rf"(?:{_LINK}|[^\S\n]{{1,3}})",
            "[a-z0-9+/]{40}(?![a-z0-9+/=])",
        ),
        lambda value: not value.islower(),
    ),
    _Form(
        "password",
        ("pass", "pwd", "kennwort", "contrase", "clave", "mot de", "mdp", "密码", "密碼", "口令"),
        _name_values(
            r"passwor[dt]|passwd|passphrase|passcode|pwd|kennwort|contraseña|contrasena"
            r"|(?<![a-z])clave|mots? de passe|(?<![a-z])mdp|密码|密碼|口令",
            rf"(?:{_LINK}|(?<=--password)[^\S\n])",
            r"(?=[^\s]{0,128}[0-9!#$%&*+?^~@])[^\s\"'`“”„«»,;，。；、<>(){}\[\]|]{4,128}+(?![(\[{])",
        ),
        _is_password,
    ),
    _Form(
        "token",
        tuple("token secret key credential bearer authoriz schlüssel jeton clé 令牌 密钥".split()),
        _name_values(
            r"token|secret|(?:api|access|secret|private|auth|account|client|signing)[ _-]?key"
            r"|(?<![\w-])(?<!cache )(?<!public )(?<!primary )(?<!foreign )(?<!object )key(?!\")"
            r"|credential|bearer|authorization|schlüssel|jeton|(?<!\w)clé|令牌|密钥",
            rf"(?:{_LINK}|[^\S\n]{{1,3}}[\"'`]?)",
            r"(?=[a-z_+/=~.-]{0,40}[0-9])[a-z0-9_+/=~.-]{10,512}+(?![(\[{@])",
        ),
        _looks_random,
    ),
)
