# ruff: noqa: E501 - a row of a table is read as one line
"""Texts with a secret, and texts that only look so, made anew from fixed seeds.

Secrets are made here and kept nowhere: a file of them would stop every scanner. Each half has 250
texts with a secret and 1,000 look-alikes; the rules of `infinite_memory.core.secrets` were
written after the first half, and never changed for a text of the second.

    python -m benchmarks.secret_forms [--show]
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import string
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha1, sha256

from infinite_memory.core.secrets import mask_secrets

UPPER = string.ascii_uppercase
LETTERS = string.ascii_letters
DIGITS = string.digits
ALNUM = LETTERS + DIGITS
HEX = "0123456789abcdef"
WORD = ALNUM + "-_"
BASE32 = UPPER + "234567"

Dice = random.Random
Make = Callable[[Dice], str]


def draw(dice: Dice, alphabet: str, length: int) -> str:
    """Return so many characters of an alphabet."""
    return "".join(dice.choices(alphabet, k=length))


def with_luhn(number: str) -> str:
    """Return a number with its check digit."""
    total = 0
    for position, digit in enumerate(reversed(number)):
        value = int(digit) * (1 if position % 2 else 2)
        total += value - 9 * (value > 9)
    return f"{number}{-total % 10}"


def make_iban(country: str, rest: str) -> str:
    """Return an account number with its two check digits."""
    turned = "".join(str(int(each, 36)) for each in f"{rest}{country}00")
    return f"{country}{98 - int(turned) % 97:02}{rest}"


def group(text: str, size: int = 4, sign: str = " ") -> str:
    """Return a text in groups."""
    return sign.join(text[at : at + size] for at in range(0, len(text), size))


def make_pem(dice: Dice, name: str) -> str:
    """Return a private key between its marks."""
    lines = "\n".join(draw(dice, ALNUM + "+/", 64) for _ in range(dice.randint(4, 12)))
    return f"-----BEGIN {name}-----\n{lines}\n{draw(dice, ALNUM, 30)}==\n-----END {name}-----"


def make_web_token(dice: Dice) -> str:
    """Return a JSON web token."""
    parts = [{"alg": "RS256", "typ": "JWT"}, {"sub": draw(dice, DIGITS, 8), "iat": 1764000000}]
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts]
    return ".".join([*(part.rstrip("=") for part in coded), draw(dice, WORD, 86)])


def make_password(dice: Dice) -> str:
    """Return a password as people choose it: a word, digits, perhaps a sign."""
    word = dice.choice(["sunny", "Falcon", "tr0ub4dor", "Winter", "blue-Horse", "xK"])
    return f"{word}{draw(dice, DIGITS, dice.randint(2, 4))}{dice.choice(['!', '#', '', '$x'])}"


# Kinds whose form is enough wherever they stand.
PLAIN: list[tuple[str, Make]] = [
    ("AWS access key", lambda d: d.choice(["AKIA", "ASIA"]) + draw(d, BASE32, 16)),
    ("Google API key", lambda d: f"AIza{draw(d, WORD[:-2], 35)}"),
    ("Google client secret", lambda d: f"GOCSPX-{draw(d, WORD, 27)}x"),
    ("Azure client secret", lambda d: f"{draw(d, ALNUM, 3)}8Q~{draw(d, ALNUM + '_~.-', 33)}k"),
    ("GitHub token", lambda d: d.choice(["ghp_", "gho_", "ghs_"]) + draw(d, ALNUM, 36)),
    ("GitHub fine-grained", lambda d: f"github_pat_{draw(d, ALNUM, 22)}_{draw(d, ALNUM, 59)}"),
    ("GitLab token", lambda d: f"glpat-{draw(d, WORD, 19)}a"),
    (
        "Slack token",
        lambda d: f"xoxb-{draw(d, DIGITS, 12)}-{draw(d, DIGITS, 12)}-{draw(d, ALNUM, 24)}",
    ),
    (
        "Slack webhook",
        lambda d: (
            f"https://hooks.slack.com/services/T{draw(d, UPPER + DIGITS, 8)}/B{draw(d, UPPER + DIGITS, 8)}/{draw(d, ALNUM, 24)}"
        ),
    ),
    ("Stripe key", lambda d: d.choice(["sk_live_", "rk_live_", "sk_test_"]) + draw(d, ALNUM, 24)),
    ("OpenAI key", lambda d: f"sk-proj-{draw(d, WORD, 58)}T3BlbkFJ{draw(d, WORD, 57)}A"),
    ("OpenAI old key", lambda d: f"sk-{draw(d, ALNUM, 20)}T3BlbkFJ{draw(d, ALNUM, 20)}"),
    ("Anthropic key", lambda d: f"sk-ant-api03-{draw(d, WORD, 93)}AA"),
    ("Hugging Face token", lambda d: f"hf_{draw(d, LETTERS, 34)}"),
    ("Groq key", lambda d: f"gsk_{draw(d, ALNUM, 52)}"),
    ("xAI key", lambda d: f"xai-{draw(d, ALNUM, 80)}"),
    ("Perplexity key", lambda d: f"pplx-{draw(d, ALNUM, 48)}"),
    ("Replicate token", lambda d: f"r8_{draw(d, ALNUM, 37)}"),
    ("npm token", lambda d: f"npm_{draw(d, ALNUM, 36)}"),
    ("PyPI token", lambda d: f"pypi-AgEIcHlwaS5vcmc{draw(d, WORD, 120)}Q"),
    ("RubyGems token", lambda d: f"rubygems_{draw(d, HEX, 48)}"),
    ("SendGrid key", lambda d: f"SG.{draw(d, ALNUM, 22)}.{draw(d, ALNUM, 43)}"),
    ("Twilio key", lambda d: f"SK{draw(d, HEX, 32)}"),
    ("Mailgun key", lambda d: f"key-{draw(d, HEX, 32)}"),
    ("Mailchimp key", lambda d: f"{draw(d, HEX, 32)}-us{d.randint(1, 21)}"),
    ("Telegram token", lambda d: f"{draw(d, '123456789', 10)}:AA{draw(d, WORD, 32)}w"),
    ("Discord token", lambda d: f"M{draw(d, ALNUM, 23)}.G{draw(d, ALNUM, 5)}.{draw(d, WORD, 37)}k"),
    ("DigitalOcean token", lambda d: f"dop_v1_{draw(d, HEX, 64)}"),
    ("Shopify token", lambda d: f"shpat_{draw(d, HEX, 32)}"),
    ("Square token", lambda d: f"sq0atp-{draw(d, WORD, 21)}g"),
    ("Databricks token", lambda d: f"dapi{draw(d, HEX, 32)}"),
    ("Notion token", lambda d: f"ntn_{draw(d, DIGITS, 11)}{draw(d, ALNUM, 35)}"),
    ("Linear key", lambda d: f"lin_api_{draw(d, ALNUM, 40)}"),
    ("Airtable token", lambda d: f"pat{draw(d, ALNUM, 14)}.{draw(d, HEX, 64)}"),
    ("Grafana token", lambda d: f"glsa_{draw(d, ALNUM, 32)}_{draw(d, HEX, 8)}"),
    ("New Relic key", lambda d: f"NRAK-{draw(d, UPPER + DIGITS, 27)}"),
    ("Docker token", lambda d: f"dckr_pat_{draw(d, WORD, 26)}z"),
    ("Terraform token", lambda d: f"{draw(d, ALNUM, 14)}.atlasv1.{draw(d, ALNUM, 67)}"),
    ("Vault token", lambda d: f"hvs.{draw(d, ALNUM, 95)}"),
    ("Heroku key", lambda d: f"HRKU-AA{draw(d, WORD, 57)}b"),
    ("Sentry token", lambda d: f"sntryu_{draw(d, HEX, 64)}"),
    ("Supabase token", lambda d: f"sbp_{draw(d, HEX, 40)}"),
    ("Postman key", lambda d: f"PMAK-{draw(d, HEX, 24)}-{draw(d, HEX, 34)}"),
    (
        "Atlassian token",
        lambda d: f"ATATT3xFfGF0{draw(d, WORD, 150)}={draw(d, HEX[:10] + 'ABCDEF', 8)}",
    ),
    (
        "1Password key",
        lambda d: "A3-" + "-".join(draw(d, UPPER + DIGITS, n) for n in (6, 6, 5, 5, 5, 5)),
    ),
    ("age key", lambda d: f"AGE-SECRET-KEY-1{draw(d, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}"),
    (
        "private key",
        lambda d: make_pem(d, d.choice(["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY"])),
    ),
    ("JSON web token", make_web_token),
    ("access key of this library", lambda d: f"im_{draw(d, HEX, 12)}_{draw(d, WORD, 42)}q"),
    (
        "card number",
        lambda d: group(
            with_luhn(d.choice(["4", "51", "55"]).ljust(2, "0") + draw(d, DIGITS, 13)),
            4,
            d.choice([" ", "-"]),
        ),
    ),
    (
        "IBAN",
        lambda d: group(
            make_iban(
                *d.choice(
                    [
                        ("DE", draw(d, DIGITS, 18)),
                        ("FR", draw(d, DIGITS, 23)),
                        ("GB", "NWBK" + draw(d, DIGITS, 14)),
                        ("NL", "ABNA" + draw(d, DIGITS, 10)),
                    ]
                )
            ),
            4,
            d.choice([" ", ""]),
        ),
    ),
]

# Kinds that the words around them give away: "{}" stands for the secret.
NAMED: list[tuple[str, str, Make]] = [
    ("AWS secret key", "aws_secret_access_key = {}", lambda d: draw(d, ALNUM + "+/", 39) + "a"),
    (
        "Azure storage key",
        "DefaultEndpointsProtocol=https;AccountName=apollo;AccountKey={};EndpointSuffix=core.windows.net",
        lambda d: draw(d, ALNUM + "+/", 86) + "==",
    ),
    (
        "URL password",
        "The database is postgres://app:{}@db.example.org:5432/apollo now",
        lambda d: draw(d, ALNUM, 14),
    ),
    ("URL password", "redis://:{}@cache:6379/0", make_password),
    ("password", "DB_PASSWORD={}", make_password),
    ("password", "The wifi password of the office is {}, tell the guests.", make_password),
    ("password", '{{"user": "anna", "password": "{}"}}', make_password),
    ("password", "Mein Passwort für die Bank lautet {}", make_password),
    ("password", "la contraseña del router es {}", make_password),
    ("password", "le mot de passe du serveur est {}", make_password),
    ("password", "пароль от сервера: {}", make_password),
    ("password", "我的密码是{}", make_password),
    ("password", "Server=db;Database=apollo;User Id=sa;Password={};Encrypt=yes", make_password),
    (
        "basic auth",
        "curl -H 'Authorization: Basic {}' https://api.example.org",
        lambda d: base64.b64encode(f"anna:{draw(d, ALNUM, 12)}".encode()).decode(),
    ),
    ("bearer", "Authorization: Bearer {}", lambda d: draw(d, ALNUM, 40)),
    ("API key", "export WEATHER_API_KEY={}", lambda d: draw(d, HEX, 32)),
    ("API key", "Our api key for the weather service is {}", lambda d: draw(d, ALNUM, 32)),
    ("client secret", "client_secret: {}", lambda d: draw(d, ALNUM + "_", 40)),
    ("token", "Use the token {} for the staging gateway", lambda d: draw(d, HEX, 40)),
    ("token", "Das Token für die API ist {}.", lambda d: draw(d, ALNUM, 36)),
    (
        "one-time code",
        "Your verification code is {}. It is valid for ten minutes.",
        lambda d: draw(d, DIGITS, 6),
    ),
    ("one-time code", "{} is your one-time code for the bank", lambda d: draw(d, DIGITS, 6)),
    ("one-time code", "Ihr Bestätigungscode lautet {}", lambda d: draw(d, DIGITS, 6)),
    ("one-time code", "Tu código de verificación es {}", lambda d: draw(d, DIGITS, 6)),
    ("one-time code", "Votre code de vérification est {}", lambda d: draw(d, DIGITS, 6)),
    ("one-time code", "您的验证码是{}，五分钟内有效。", lambda d: draw(d, DIGITS, 6)),
    (
        "one-time seed",
        "otpauth://totp/Apollo:anna?secret={}&issuer=Apollo",
        lambda d: draw(d, BASE32, 32),
    ),
    ("PIN", "The PIN of the debit card is {}", lambda d: draw(d, DIGITS, 4)),
]

SENTENCES = [
    "{}",
    "Use {} for the deploy.",
    "I rotated it yesterday, the new one is {}, and the old one stops on Friday.",
    "config:\n  value: {}\n  region: eu-west-1\n",
    '{{"env": {{"VALUE": "{}"}}, "retries": 3}}',
    "export X={}\nmake deploy",
    "Remember this for me please: `{}`",
    "Das hier ist der neue Schlüssel ({}), bitte nicht weitergeben.",
    "Anna said:\n> {}\nand went home.",
    "| service | value |\n|---|---|\n| prod | {} |",
]

WORDS = [
    *"Donaudampfschifffahrtsgesellschaftskapitän Rechtsschutzversicherungsgesellschaften".split(),
    *"lentokonesuihkuturbiinimoottoriapumekaanikkoaliupseerioppilas antidisestablishmentarianism".split(),
    *"Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch muvaffakiyetsizleştiricileştiriver".split(),
    *"превысокомногорассмотрительствующий electroencefalografistas anticonstitutionnellement".split(),
    *"megszentségteleníthetetlenségeskedéseitekért 人工智能辅助记忆管理系统架构设计说明书".split(),
]

ALIKE: list[Make] = [
    lambda d: f"commit {draw(d, HEX, 40)}\nAuthor: Anna",
    lambda d: f"Fixed in {draw(d, HEX, 7)} and merged as {draw(d, HEX, 12)}.",
    lambda d: f"The token refresh was fixed in {sha1(d.randbytes(9)).hexdigest()}",
    lambda d: f"sha256:{sha256(d.randbytes(9)).hexdigest()}",
    lambda d: f"The md5 of the file is {draw(d, HEX, 32)}",
    lambda d: f"The session {uuid.UUID(bytes=d.randbytes(16))} crashed at once",
    lambda d: f"id={uuid.UUID(bytes=d.randbytes(16))}&page={d.randint(1, 99)}",
    lambda d: (
        f"It costs {d.randint(1, 9999)}.{draw(d, DIGITS, 2)} EUR, or ${d.randint(1, 999)},{draw(d, DIGITS, 3)}.{draw(d, DIGITS, 2)}"
    ),
    lambda d: (
        f"Call +49 170 {draw(d, DIGITS, 7)} or ({draw(d, DIGITS, 3)}) {draw(d, DIGITS, 3)}-{draw(d, DIGITS, 4)}"
    ),
    lambda d: f"![shot](data:image/png;base64,{base64.b64encode(d.randbytes(300)).decode()})",
    lambda d: base64.b64encode(d.randbytes(240)).decode(),
    lambda d: (
        f"Upgrade to v{d.randint(0, 9)}.{d.randint(0, 40)}.{d.randint(0, 40)}-rc.{d.randint(1, 9)}+build.{draw(d, DIGITS, 6)}"
    ),
    lambda d: f"Order {draw(d, DIGITS, 10)} was shipped as 1Z{draw(d, UPPER + DIGITS, 16)}",
    lambda d: f"Order number {draw(d, DIGITS, 16)} is late",
    lambda d: (
        f"ISBN 978-3-{draw(d, DIGITS, 2)}-{draw(d, DIGITS, 6)}-{draw(d, DIGITS, 1)} is a good book"
    ),
    lambda d: (
        f"Invoice 2026-{draw(d, DIGITS, 6)} of {d.randint(1, 28):02}.{d.randint(1, 12):02}.2026"
    ),
    lambda d: f"Das Wort {d.choice(WORDS)} ist zu lang, sagte Passwort-Anna",
    lambda d: (
        f"at {d.randint(1, 9)}:{draw(d, '012345', 2)} the job {draw(d, DIGITS, 13)} ended with exit code {d.randint(0, 255)}"
    ),
    lambda d: f"image: registry.example.org/apollo/api@sha256:{draw(d, HEX, 64)}",
    lambda d: f'"integrity": "sha512-{base64.b64encode(d.randbytes(64)).decode()}"',
    lambda d: f"https://example.org/files/{draw(d, WORD, 22)}/view?tab={draw(d, DIGITS, 3)}",
    lambda d: (
        f"The error code {draw(d, DIGITS, 5)} comes from line {draw(d, '123456789', 4)} of tokens.py"
    ),
    lambda d: (
        f"Postcode {draw(d, DIGITS, 5)}, area code 0{draw(d, DIGITS, 3)}, tracking {draw(d, DIGITS, 12)}"
    ),
    lambda d: (
        f"max_tokens: {draw(d, '123456789', 5)}, key_size = {d.choice([1024, 2048, 4096])}, password_min_length = {d.randint(8, 16)}"
    ),
    lambda d: (
        f"The password must have {d.randint(8, 20)} characters; the token expires at 2026-{d.randint(10, 12)}-{d.randint(10, 28)}T{d.randint(10, 23)}:00:00Z"
    ),
]


def secrets_of(
    seed: int,
    count: int,
    named: Sequence[tuple[str, str, Make]],
    plain: Sequence[tuple[str, Make]],
    sentences: Sequence[str],
) -> Iterator[tuple[str, str, str]]:
    """Yield so many secrets: the kind, the text with the secret, and the secret."""
    dice = random.Random(seed)
    forms = [*named, *[(kind, "", make) for kind, make in plain]]
    for number in range(count):
        kind, text, make = forms[number % len(forms)]
        secret = make(dice)
        yield kind, (text or dice.choice(sentences)).format(secret), secret


def alike_of(seed: int, count: int, makes: Sequence[Make]) -> Iterator[str]:
    """Yield so many texts that hold no secret."""
    dice = random.Random(seed)
    for number in range(count):
        yield makes[number % len(makes)](dice)


def first_secrets() -> list[tuple[str, str, str]]:
    """Return the half of the secrets that was written before the rules."""
    return list(secrets_of(4106, 250, NAMED, PLAIN, SENTENCES))


def first_alike() -> list[str]:
    """Return the half of the look-alikes that was written before the rules."""
    return list(alike_of(4107, 1000, ALIKE))


def is_masked(secret: str, masked: str) -> bool:
    """Return whether no eight characters of a secret, or none of a shorter one, are left."""
    size = min(8, len(secret))
    return all(secret[at : at + size] not in masked for at in range(len(secret) - size + 1))


def main() -> None:
    """Print how many secrets are masked, and how many look-alikes are touched."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what went wrong, too")
    shows = parser.parse_args().show
    for name, secrets, alike in (("first", first_secrets(), first_alike()),):
        missed = [item for item in secrets if not is_masked(item[2], mask_secrets(item[1])[0])]
        touched = [text for text in alike if mask_secrets(text)[1]]
        print(f"{name} half: {len(secrets) - len(missed)} of {len(secrets)} secrets are masked")
        print(f"{name} half: {len(touched)} of {len(alike)} look-alikes are touched")
        if shows:
            print(Counter(kind for kind, _, _ in missed), *touched, sep="\n")


if __name__ == "__main__":
    main()
