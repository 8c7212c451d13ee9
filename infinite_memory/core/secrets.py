"""Find keys, tokens, passwords, codes, and numbers of cards and accounts in a text, by their forms.

A form whose beginning is unmistakable needs no more; the numbers of cards and accounts have
checksums, and a value that only a word names must look as nobody writes words. A text is first
searched for the anchors of the forms, and nearly always has none; the time is linear in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from attrs import field, frozen


@frozen
class Secret:
    """A secret of a `kind` in the half-open character range from `start` to `end`."""

    kind: str
    start: int
    end: int


@frozen
class _Form:
    """A kind of secrets: a text without any of the `anchors` has none.

    `pattern` has a group `secret`, and `word` where only the word before it names the value.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
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


def may_hold_secret(text: str) -> bool:
    """Return whether `find_secrets` has anything to look at in a text: quick, and often False."""
    if _IN_VALUES.search(text) and (_DIGITS.search(text) or _anchored(_fold(text), _NAMED)):
        return True
    return bool(_anchored_begun(text))


def mask_secrets(text: str, secrets: Iterable[Secret] | None = None) -> tuple[str, tuple[str, ...]]:
    """Return `text` with a mask such as `[secret: AWS access key]` for each secret, and the kinds.

    `secrets` are those of `find_secrets`, which are looked for without them. What is masked has no
    secret any more, so a second call changes nothing.
    """
    parts, kinds, start = [], dict[str, None](), 0
    for secret in find_secrets(text) if secrets is None else secrets:
        parts.append(f"{text[start : secret.start]}{MASK}{secret.kind}]")
        kinds[secret.kind] = None
        start = secret.end
    return "".join([*parts, text[start:]]), tuple(kinds)


_TALLY: ContextVar[tuple[Counter[str], set[int]] | None] = ContextVar("tally", default=None)


@contextmanager
def unattended() -> Iterator[Counter[str]]:
    """Mask the secrets in what is stored within the block, which nobody looks at.

    The counter gets how many different ones of each kind were masked.
    """
    counts = Counter[str]()
    token = _TALLY.set((counts, set()))
    try:
        yield counts
    finally:
        _TALLY.reset(token)


def is_unattended() -> bool:
    """Return whether what is stored now comes in by a way that nobody looks at."""
    return _TALLY.get() is not None


def note_masked(kind: str, value: str) -> None:
    """Count a secret that was masked in what comes in unattended; its value is not kept."""
    counts, met = _TALLY.get() or (Counter[str](), set[int]())
    if hash(value) not in met:
        met.add(hash(value))
        counts[kind] += 1


@frozen
class Masker:
    """Masks the secrets in values; `found` has the kind, the place and the value of each."""

    found: list[tuple[str, str, str]] = field(factory=list)

    def mask(self, value: Any, place: str, name: str = "") -> Any:
        """Return a value of a memory with masks; its `name`, such as "password: ", says what it is.

        A value without a secret is equal afterwards.
        """
        if isinstance(value, str):
            named = [s for s in find_secrets(name + value) if s.start >= len(name)]
            secrets = [Secret(s.kind, s.start - len(name), s.end - len(name)) for s in named]
            for secret in secrets:
                where = f"{place}, characters {secret.start + 1:,} to {secret.end:,}"
                self.found.append((secret.kind, where, value[secret.start : secret.end]))
            return mask_secrets(value, secrets)[0]
        if isinstance(value, Mapping):
            return {
                self.mask(key, place): self.mask(item, f"{place}.{key:.60}", f"{key}: ")
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            items = [self.mask(item, f"{place}[{at}]", name) for at, item in enumerate(value)]
            return items if isinstance(value, list) else tuple(dict.fromkeys(items))
        return value


def _anchored(text: str, forms: Iterable[_Form]) -> list[_Form]:
    """Return the forms of which a text has an anchor."""
    found = []
    for form in forms:
        for anchor in form.anchors:  # no generator: this runs for every text that is stored
            if anchor in text:
                found.append(form)
                break
    return found


def _anchored_begun(text: str) -> list[_Form]:
    """Return the forms with a beginning of their own of which a text has an anchor."""
    forms = _URLS if "://" in text else ()
    # Nothing in the table is shorter, and in most texts no word is so long.
    return _anchored(text, _BEGUN if max(map(len, text.split()), default=0) >= _LEAST else forms)


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when it is first needed: most of the table never is."""
    return re.compile(pattern)


def _find_begun(text: str) -> Iterator[Secret]:
    for form in _anchored_begun(text):
        for match in _compile(form.pattern).finditer(text):
            if form.is_valid(match["secret"]):
                yield Secret(form.kind, *match.span("secret"))


def _find_numbers(text: str) -> Iterator[Secret]:
    if _DIGITS.search(text) is None:
        return
    for match in _compile(_CARD).finditer(text):
        is_named = _OTHER_NUMBER.search(text, max(0, match.start() - _NAME_CHARS), match.start())
        if not is_named and _is_card([int(digit) for digit in match[0] if digit.isdigit()]):
            yield Secret("card number", *match.span())
    for match in _compile(_IBAN).finditer(text):
        if length := _measure_iban(match[0]):
            yield Secret("IBAN", match.start(), match.start() + length)


def _fold(text: str) -> str:
    """Return a text in lower case, letter for letter, so that places in both texts agree."""
    folded = text.lower()
    if len(folded) != len(text):  # a few letters become two
        folded = "".join(low if len(low := each.lower()) == 1 else each for each in text)
    return folded


def _find_named(text: str) -> Iterator[Secret]:
    """Yield the values beside a word such as "password" or "token"."""
    folded = _fold(text)
    for form in _anchored(folded, _NAMED) if _IN_VALUES.search(text) else ():
        position, pattern = 0, _compile(form.pattern)
        while match := pattern.search(folded, position):
            start, end = match.span("secret")
            value = text[start:end].rstrip(".?")
            word = match.end("word")
            position = max(word, position + 1)
            if not _OTHERWISE.search(folded, word, start) and form.is_valid(value):
                yield Secret(form.kind, start, start + len(value))
                position = max(position, end)


def _is_no_filler(value: str) -> bool:
    """Return whether a value is more than a row of the same characters."""
    return len(set(value)) > _MOST_IN_FILLER


def _looks_random(value: str) -> bool:
    """Return whether letters and digits change places as often as in no word, name or path."""
    changes = len(_CHANGE.findall(value))
    is_mixed = len(value) >= _LEAST_MIXED and 2 * len(_CASE.findall(value)) >= len(value)
    return (changes >= max(3, len(value) // 12) or is_mixed) and not _CODE.fullmatch(value)


def _is_password(value: str) -> bool:
    """Return whether a value is no word, and no number, date, version or piece of code either."""
    if value.isdigit():
        return len(value) >= _LEAST_DIGITS
    has_letter = any(character.isalpha() for character in value)
    return has_letter and _UNLIKE_WORDS.search(value) is not None and not _CODE.fullmatch(value)


def _is_given(value: str) -> bool:
    """Return whether a value is one, and not what stands in its place in an example."""
    return value[0] not in "$*{[%<" and value.lower() not in _PLACEHOLDERS


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


def _split_rows(table: str) -> Iterator[list[str]]:
    """Yield the columns of each row of a table; a row goes on in lines that are further in."""
    joined = re.sub(r"\n {8,}", "", table.replace("\n        | ", " | "))
    for row in joined.strip().splitlines():
        yield [column.strip() for column in row.split(" | ")]


def _read_groups(table: str) -> tuple[_Form, ...]:
    """Return a form for each kind of a row; the first column says how its beginnings go on."""
    forms = []
    for body, *kinds in _split_rows(table):
        for kind, _, starts in (each.partition(": ") for each in kinds):
            begin = "|".join(map(re.escape, starts.split()))
            pattern = rf"(?<![A-Za-z0-9])(?P<secret>(?:{begin}){body})(?![A-Za-z0-9])"
            check = _CHECKS.get(kind, _is_no_filler)
            forms.append(_Form(kind, tuple(starts.split()), pattern, check))
    return tuple(forms)


def _read_table(table: str) -> tuple[_Form, ...]:
    """Return a form for each row: the kind, its anchors, in which `_` is a space, the pattern."""
    forms = []
    for kind, anchors, pattern in _split_rows(table):
        for name, part in _PARTS.items():
            pattern = pattern.replace(name, part)
        starts = tuple([anchor.replace("_", " ") for anchor in anchors.split()])
        forms.append(_Form(kind, starts, pattern, _CHECKS.get(kind, _is_no_filler)))
    return tuple(forms)


MASK = "[secret: "
"""The beginning of every mask."""

_LEAST, _MOST_IN_FILLER = 20, 7
_PLACEHOLDERS = frozenset({"password", "pass", "passwd", "pwd", "secret", "xxx", "xxxx", "..."})
# Without any of these nothing beside a word is a value, and nothing is a number.
_IN_VALUES = re.compile(r"[\d!#$%&*+?^~@]")
_DIGITS = re.compile(r"\d[\d -]{6}")
# The numbers of payment cards by their first digits, in groups or without.
_CARD = (
    r"(?<![\w.,/-])(?:(?:4\d|5[1-5]|2[2-7]|6\d|35)\d\d([ -]?)\d{4}\1\d{4}\1\d{4}(?:\1?\d{3})?"
    r"|3[47]\d\d([ -]?)\d{6}\2\d{5})(?![\w-]|[.,]\d)"
)
# A number that these words name is another one: a tenth of all numbers have the checksum.
_OTHER_NUMBER = re.compile(
    r"\b(?:order|invoice|ticket|tracking|parcel|shipment|message|snowflake|tweet|imei|timestamp"
    r"|bestell|auftrag|rechnung|sendung|pedido|factura|commande|facture|id)\w*\W",
    re.IGNORECASE,
)
_NAME_CHARS = 24
_IBAN = r"(?<![A-Za-z0-9])[A-Z]{2}\d\d ?[A-Z0-9][A-Z0-9 ]{9,40}"
_LEAST_IBAN, _MOST_IBAN = 15, 34

_CHANGE = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_CASE = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])")
_LEAST_MIXED = 16
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
_VERB = (
    r"[^\S\n]{1,3}(?:is|was|ist|war|lautet|es|era|est|était|è|é|jest)\b\s{0,3}"
    r"(?:now\s|[:：]\s{0,3})?"
)
_GAP = r"(?:[^\S\n]{1,3}[^\s:=：]{1,24}){0,6}?"
_LINK = rf"(?:{_GAP}(?:{_SIGN}|{_VERB})|\s{{0,2}}[是为為は은는]\s{{0,2}}[:：]?)[\"'`“„«]{{0,3}}"


_CODE_WORDS = (
    r"(?:verification|one[- ]?time|security|log-?in|sign[- ]?in|confirmation|authentication|auth"
    r"|2fa|mfa|access|bestätigungs|verifizierungs|einmal|sicherheits|anmelde|freigabe)[- ]?"
    r"(?:code|passcode|pin|password|passwort|kennwort|token)|(?<!\w)(?:otp|totp|pin|tan)(?!\w)"
    r"|c[óo]digo de (?:verificaci[óo]n|seguridad|confirmaci[óo]n|acceso)"
    r"|code de (?:vérification|sécurité|confirmation|connexion)"
    r"|验证码|驗證碼|校验码|认证码|код подтверждения"
)
_PARTS = {
    "<code>": _CODE_WORDS,
    "<number>": r"(?P<secret>(?:[a-z]-)?\d{3}[ -]?\d{3}|\d{4,8})",
    "<near>": r"\w{0,3})[\"'`]{0,2}",
    "<link>": _LINK,
}
# Where a beginning is not enough, since it also begins names that people write.
_CHECKS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("Anthropic key", "OpenAI key", "Resend key", "Mailgun key"), _looks_random),
    "token": _looks_random,
    **dict.fromkeys(("URL password", "login", "one-time seed"), _is_given),
    "password": _is_password,
    "one-time code": bool,
    "AWS secret key": lambda value: not value.islower(),
    "private key": lambda value: len(value) > _LEAST_PRIVATE,
}
_LEAST_PRIVATE = 80
_URLS = _read_table(
    r"URL password | :// | ://[^\s:/@]{0,200}:(?P<secret>[^\s/@\"'`<>]{3,200})@(?=[\w\[])"
)
# Each line of the first table has kinds that go on in the same way after their beginnings.
_BEGUN = _URLS + _read_groups(
    r"""
    [A-Z0-9]{16} | AWS access key: AKIA ASIA ABIA ACCA
    [A-Za-z0-9+/]{100,2000}={0,3} | AWS Bedrock key: ABSK | 1Password token: ops_eyJ
    [A-Za-z0-9]{16,255} | Stripe key: sk_live_ rk_live_ sk_test_ rk_test_ whsec_
    [A-Za-z0-9]{30,300} | GitHub token: ghp_ gho_ ghu_ ghs_ ghr_ | Hugging Face token: hf_ api_org_
        | Groq key: gsk_ | xAI key: xai- | Perplexity key: pplx- | Replicate token: r8_
        | npm token: npm_ | Notion token: ntn_ | Netlify token: nfp_
        | Linear key: lin_api_ lin_oauth_ | JFrog key: AKCp
    (?=[a-z0-9]*[A-Z])[A-Za-z0-9]{32} | crates token: cio
    [A-Za-z0-9]{80,300} | Facebook token: EAAG EAAB EAAC EAAD EAAM
    [a-fA-F0-9]{32,64} | Shopify token: shpat_ shpca_ shppa_ shpss_ | Twilio key: SK
        | Databricks token: dapi | RubyGems token: rubygems_ | Mailgun key: key-
        | Pulumi token: pul- | DigitalOcean token: dop_v1_ doo_v1_ dor_v1_ | Supabase token: sbp_
        | Sentry token: sntryu_
    [\w-]{20,300} | Anthropic key: sk-ant- | OpenAI key: sk- | Google secret: GOCSPX- ya29. 1//0
        | Square token: sq0atp- sq0csp- | Docker token: dckr_pat_ dckr_oat_ | Vault token: hvs. hvb.
        | PlanetScale token: pscale_tkn_ pscale_oauth_ pscale_pw_ | Typeform token: tfp_
        | New Relic key: NRAK- NRII- NRAL- | Heroku key: HRKU- | Tailscale key: tskey-
        | Figma token: figd_ | Pinecone key: pcsk_ | Supabase token: sb_secret_
    [\w-]{35,1000} | Google key: AIza | PyPI token: pypi- | GitHub token: github_pat_
        | Doppler token: dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit. | Dropbox token: sl.
    [\w+/=-]{24,700} | Grafana token: glsa_ glc_ | Fly token: fo1_ fm1a_ fm1r_ fm2_
        | Sentry token: sntrys_ | Atlassian token: ATATT3 ATCTT3 ATBB
    [\w-]{20,300}(?:\.[a-z0-9]{9})? | GitLab token: glpat- gldt- glrt- glptt- glcbt- gloas- glsoat-
    [A-Za-z0-9-]{12,255} | Slack token: xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp- xoxe.xox
    [a-z]{8,9}/[\w/]{30,80} | Slack webhook: https://hooks.slack.com/ hooks.slack.com/
    \d{10,22}/[\w-]{50,90} | Discord webhook: https://discord.com/api/webhooks/
    [a-z0-9]{13,20}\$[a-f0-9]{32} | PayPal token: access_token$production$
    [a-f0-9]{32}_[a-f0-9]{10} | LangSmith key: lsv2_pt_ lsv2_sk_
    [\w-]{16,64}\.[\w-]{30,64} | SendGrid key: SG.
    [a-f0-9]{64}-[A-Za-z0-9]{16} | Brevo key: xkeysib- xsmtpsib-
    [A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,32} | Resend key: re_
    [a-f0-9]{24}-[a-f0-9]{34,146} | Postman key: PMAK- | Cloudflare key: v1.0-
    [A-Z0-9]{24}\.[A-Z0-9]{64} | Dynatrace token: dt0c01. dt0s01.
    [A-Za-z0-9]{14}\.[a-f0-9]{64} | Airtable token: pat
    [a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12} | HubSpot token: pat-na1- pat-eu1- pat-na2-
    [A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3} | 1Password key: A3-
    [A-Z0-9]{58} | age key: AGE-SECRET-KEY-1
    (?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40} | Sourcegraph token: sgp_
    [a-z2-7]{8}_[a-z2-7]{52} | access key of this memory: im_
    [\w-]{8,}+\.[\w-]{8,}+\.[\w-]{8,} | JSON web token: eyJ
"""
)
_BEGUN += _read_table(
    r"""
    Azure secret | Q~ | (?<![\w~.-])(?P<secret>\w{3}\dQ~[\w~.-]{31,34})
    Teams webhook | .webhook.office.com/
        | (?P<secret>https://[\w-]{1,63}\.webhook\.office\.com/webhookb2/[\w@/-]{60,300})
    Mailchimp key | -us | (?<![A-Za-z0-9])(?P<secret>[a-f0-9]{32}-us\d{1,2})(?!\w)
    Telegram token | :AA | (?<![A-Za-z0-9])(?P<secret>\d{8,10}:AA[\w-]{32,35})(?!\w)
    Discord token | .C .D .E .F .G .X .Y .Z
        | (?<![\w.-])(?P<secret>[MNO][A-Za-z0-9]{22,27}\.[C-GX-Z][\w-]{5}\.[\w-]{27,40})(?![\w-])
    Terraform token | .atlasv1. | (?<![A-Za-z0-9])(?P<secret>[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,70})
    Azure key | AccountKey= SharedAccessKey= &sig= ?sig=
        | (?:AccountKey|SharedAccessKey|[?&]sig)=(?P<secret>[A-Za-z0-9+/%]{40,120}={0,2})
    one-time seed | otpauth://
        | otpauth://[^\s"'<>]{1,300}?[?&]secret=(?P<secret>[A-Za-z2-7]{16,128})
    private key | PRIVATE_KEY
        | (?P<secret>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----
        (?:(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----
        |(?:(?:\s|\\n)*[A-Za-z0-9+/=]{32,}+)*+))
"""
)
# The words are in lower case; a text without one of them has no such value.
_NAMED = _read_table(
    r"""
    AWS secret key | secret
        | (?P<word>(?:aws[_ -]secret|secret[_ -]?access[_ -]?key)<near>
        (?:<link>|[^\S\n]{1,3})(?P<secret>[a-z0-9+/]{40}(?![a-z0-9+/=]))
    one-time code | code código codigo passwor one-time otp_ otp: otp= pin_ pin: tan_ tan: 码 碼 код
        | (?P<word>(?:<code>)<near>(?:<link>|[^\S\n])<number>(?![\w-]|[.,]\d)
    one-time code | code código otp
        | (?<![\w.,-])<number>(?P<word>) (?:is|ist|es|est) (?:your|ihr|dein|tu|su|votre|ton)
        (?:\ [^\s.]{1,24}){0,3}?\ (?:<code>|\w{0,20}code\b|código\b)
    login | basic_ | (?P<word>authorization)\W{1,4}basic\s{1,3}(?P<secret>[a-z0-9+/]{8,512}={0,2})
    login | curl_
        | (?P<word>curl) [^\n]{0,300}?(?:-u|--user)[ =]?["']?[^\s:"']{1,100}:
        (?P<secret>[^\s"']{3,200})
    password | pass pwd kennwort contrase clave mdp парол senha wachtwoord hasło 密 口令 パス 비밀
        | (?P<word>(?:passwor[dt]|passwd|passphrase|passcode|pwd|kennwort|contraseña|contrasena
        |(?<![a-z])clave|mots? de passe|(?<![a-z])mdp|парол[ьяю]|senha|wachtwoord|hasło
        |密码|密碼|口令|パスワード|비밀번호)<near>
        (?:<link>|(?<=--password)[^\S\n]|[^\S\n](?:to|auf|en|à)[^\S\n])
        (?P<secret>(?=[^\s]{0,128}[0-9!#$%&*+?^~@])[^\s"'`“”„«»,;，。；、<>(){}\[\]|]{4,128}+(?![(\[{]))
    token | token secret key credential bearer authoriz schlüssel jeton clé 令牌 密钥
        | (?P<word>(?:token|secret|(?:api|access|secret|private|auth|account|client|signing)
        [ _-]?key
        |(?<![\w-])(?<!cache )(?<!public )(?<!primary )(?<!foreign )(?<!object )key(?!")
        |credential|bearer|authorization|schlüssel|jeton|(?<!\w)clé|令牌|密钥)<near>
        (?:<link>|[^\S\n]{1,3}["'`]?)
        (?P<secret>(?=[a-z_+/=~.-]{0,40}[0-9])[a-z0-9_+/=~.-]{10,512}+(?![(\[{@]))
"""
)
