# ruff: noqa: E501 - a row of a table is read as one line
"""Texts with a secret, and texts that only look so, made anew from fixed seeds.

Secrets are made here and kept nowhere: a file of them would stop every scanner. Each half has 250
texts with a secret and 1,000 look-alikes. The rules of `infinite_memory.core.secrets` that were there
before masked 126 of the first half, and touched none of its look-alikes; the present ones were
written after it. The second half was written after these: 234 were masked at the first try, and
four kinds of sentences were mended then.

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
    (
        "access key of this library",
        lambda d: f"im_{draw(d, BASE32.lower(), 8)}_{draw(d, BASE32.lower(), 52)}",
    ),
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


# The second half, written after the rules: kinds and sentences that the first half has not.
FURTHER_PLAIN: list[tuple[str, Make]] = [
    ("AWS Bedrock key", lambda d: f"ABSK{draw(d, ALNUM + '+/', 127)}="),
    ("GitHub user token", lambda d: d.choice(["ghu_", "ghr_"]) + draw(d, ALNUM, 36)),
    ("GitLab deploy token", lambda d: d.choice(["gldt-", "glrt-"]) + draw(d, WORD, 19) + "b"),
    (
        "Slack user token",
        lambda d: (
            f"xoxp-{draw(d, DIGITS, 11)}-{draw(d, DIGITS, 11)}-{draw(d, DIGITS, 12)}-{draw(d, HEX, 32)}"
        ),
    ),
    (
        "Slack app token",
        lambda d: f"xapp-1-A{draw(d, UPPER + DIGITS, 10)}-{draw(d, DIGITS, 13)}-{draw(d, HEX, 64)}",
    ),
    (
        "Teams webhook",
        lambda d: (
            f"https://apollo.webhook.office.com/webhookb2/{uuid.UUID(bytes=d.randbytes(16))}@{uuid.UUID(bytes=d.randbytes(16))}/IncomingWebhook/{draw(d, HEX, 32)}/{uuid.UUID(bytes=d.randbytes(16))}"
        ),
    ),
    (
        "Discord webhook",
        lambda d: (
            f"https://discord.com/api/webhooks/{draw(d, '123456789', 18)}/{draw(d, WORD, 67)}x"
        ),
    ),
    ("Stripe webhook secret", lambda d: f"whsec_{draw(d, ALNUM, 32)}"),
    (
        "OpenAI service key",
        lambda d: f"sk-svcacct-{draw(d, WORD, 73)}aT3BlbkFJ{draw(d, WORD, 73)}Q",
    ),
    ("OpenRouter key", lambda d: f"sk-or-v1-{draw(d, HEX, 64)}"),
    ("DeepSeek key", lambda d: f"sk-{draw(d, HEX, 32)}"),
    ("Anthropic admin key", lambda d: f"sk-ant-admin01-{draw(d, WORD, 93)}AA"),
    ("Google access token", lambda d: f"ya29.{draw(d, WORD, 150)}x"),
    ("LangSmith key", lambda d: f"lsv2_pt_{draw(d, HEX, 32)}_{draw(d, HEX, 10)}"),
    ("Pinecone key", lambda d: f"pcsk_{draw(d, ALNUM, 6)}_{draw(d, ALNUM, 60)}"),
    ("crates token", lambda d: f"cio{draw(d, ALNUM, 32)}"),
    ("Brevo key", lambda d: f"xkeysib-{draw(d, HEX, 64)}-{draw(d, ALNUM, 16)}"),
    ("Resend key", lambda d: f"re_{draw(d, ALNUM, 8)}_{draw(d, ALNUM, 24)}"),
    ("Facebook token", lambda d: f"EAAG{draw(d, ALNUM, 180)}"),
    ("Fly token", lambda d: f"fo1_{draw(d, WORD, 42)}d"),
    ("Pulumi token", lambda d: f"pul-{draw(d, HEX, 40)}"),
    ("Doppler token", lambda d: f"dp.pt.{draw(d, ALNUM, 43)}"),
    ("PlanetScale token", lambda d: f"pscale_tkn_{draw(d, WORD, 42)}e"),
    ("Netlify token", lambda d: f"nfp_{draw(d, ALNUM, 36)}"),
    ("Dynatrace token", lambda d: f"dt0c01.{draw(d, BASE32, 24)}.{draw(d, BASE32, 64)}"),
    ("HubSpot token", lambda d: f"pat-eu1-{uuid.UUID(bytes=d.randbytes(16))}"),
    ("Figma token", lambda d: f"figd_{draw(d, WORD, 39)}f"),
    ("Tailscale key", lambda d: f"tskey-auth-{draw(d, ALNUM, 12)}CNTRL-{draw(d, ALNUM, 32)}"),
    ("Dropbox token", lambda d: f"sl.{draw(d, WORD, 140)}g"),
    ("JFrog key", lambda d: f"AKCp{draw(d, ALNUM, 69)}"),
    ("Sourcegraph token", lambda d: f"sgp_{draw(d, HEX, 16)}_{draw(d, HEX, 40)}"),
    (
        "EC private key",
        lambda d: make_pem(
            d, d.choice(["EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
        ),
    ),
    ("American Express", lambda d: with_luhn(f"3{d.choice('47')}{draw(d, DIGITS, 12)}")),
    ("bare card number", lambda d: with_luhn(f"4{draw(d, DIGITS, 14)}")),
    (
        "IBAN of a small country",
        lambda d: make_iban(
            *d.choice(
                [
                    ("AT", draw(d, DIGITS, 16)),
                    ("CH", draw(d, DIGITS, 17)),
                    ("BE", draw(d, DIGITS, 12)),
                    ("PL", draw(d, DIGITS, 24)),
                ]
            )
        ),
    ),
]
FURTHER_NAMED: list[tuple[str, str, Make]] = [
    ("password", "passwd: {}", make_password),
    ("password", "I changed my Netflix password to {} last night", make_password),
    ("password", "login: anna\npassword: {}\nserver: db1", make_password),
    ("password", 'spring.datasource.password="{}"', make_password),
    ("password", "Das Kennwort vom Router war {}, jetzt ist es ein anderes", make_password),
    ("password", "mysql -u root --password={} apollo", make_password),
    ("password", "la clave del alarma es {}", make_password),
    ("password", "密码：{}", make_password),
    ("URL password", "amqp://guest:{}@rabbit:5672/vhost", make_password),
    (
        "URL password",
        "git clone https://anna:{}@git.example.org/a/b.git",
        lambda d: draw(d, ALNUM, 20),
    ),
    ("basic auth", "curl -u anna:{} https://api.example.org/v1/me", make_password),
    ("API key", '{{"apiKey": "{}", "region": "eu"}}', lambda d: draw(d, HEX, 40)),
    ("API key", "x-api-key: {}", lambda d: draw(d, ALNUM, 40)),
    ("signing key", "SIGNING_KEY='{}'", lambda d: draw(d, ALNUM, 44)),
    ("token", "The access token: {} expires tomorrow", lambda d: draw(d, ALNUM, 48)),
    ("token", "set TOKEN={} && run", lambda d: draw(d, ALNUM, 24)),
    (
        "Azure signature",
        "https://apollo.blob.core.windows.net/c/f?sv=2026-01-01&sig={}",
        lambda d: draw(d, ALNUM, 43) + "%3D",
    ),
    ("one-time code", "Dein Sicherheitscode: {}", lambda d: draw(d, DIGITS, 6)),
    ("one-time code", "Use verification code {} to sign in", lambda d: draw(d, DIGITS, 6)),
    ("one-time code", "{} ist Ihr Anmeldecode", lambda d: draw(d, DIGITS, 6)),
    ("one-time code", "OTP: {}", lambda d: draw(d, DIGITS, 6)),
    ("PIN", "meine PIN lautet {}", lambda d: draw(d, DIGITS, 4)),
]
FURTHER_SENTENCES = [
    "the one for staging ({}) is older",
    "X = '{}'  # do not commit",
    "curl https://api.example.org/v1?x={}&y=1",
    "docker run -e VALUE={} apollo:latest",
    "<add key='value' value='{}' />",
    "Bitte speichern: {}.",
    "我的：{}，谢谢",
    "- {}\n- nothing else",
    "Voici la nouvelle valeur, {}, à garder pour toi",
    '["{}", "b"]',
]
FURTHER_ALIKE: list[Make] = [
    lambda d: f"git show {draw(d, HEX, 40)}:src/key.py",
    lambda d: f"diff --git a/x b/x\nindex {draw(d, HEX, 7)}..{draw(d, HEX, 7)} 100644",
    lambda d: (
        f'ETag: "{draw(d, HEX, 32)}" Content-MD5: {base64.b64encode(d.randbytes(16)).decode()}'
    ),
    lambda d: f"blake3 {draw(d, HEX, 64)} of the file key.bin",
    lambda d: f"go.sum h1:{base64.b64encode(d.randbytes(32)).decode()}",
    lambda d: f"trace id {draw(d, HEX, 32)} span {draw(d, HEX, 16)}",
    lambda d: f"arn:aws:iam::{draw(d, DIGITS, 12)}:role/apollo-{draw(d, HEX, 6)}",
    lambda d: f"vpc-{draw(d, HEX, 17)} and ami-{draw(d, HEX, 17)}",
    lambda d: f"Tweet {draw(d, '123456789', 1)}{draw(d, DIGITS, 18)} of yesterday",
    lambda d: f"Die Sendung {draw(d, DIGITS, 20)} kommt am {d.randint(1, 28)}.{d.randint(1, 12)}.",
    lambda d: (
        f"1 234 567,{draw(d, DIGITS, 2)} € und {draw(d, '123456789', 3)}.{draw(d, DIGITS, 3)},{draw(d, DIGITS, 2)} EUR"
    ),
    lambda d: (
        f"+33 6 {draw(d, DIGITS, 2)} {draw(d, DIGITS, 2)} {draw(d, DIGITS, 2)} {draw(d, DIGITS, 2)}, 0151-{draw(d, DIGITS, 8)}"
    ),
    lambda d: f"IMEI 35{draw(d, DIGITS, 13)}, serial {draw(d, UPPER + DIGITS, 12)}",
    lambda d: f"ISBN 979{draw(d, DIGITS, 10)}, EAN {draw(d, DIGITS, 13)}",
    lambda d: f"font: url(data:font/woff2;base64,{base64.b64encode(d.randbytes(400)).decode()})",
    lambda d: base64.urlsafe_b64encode(d.randbytes(180)).decode(),
    lambda d: f"https://www.youtube.com/watch?v={draw(d, WORD, 11)}&t={d.randint(1, 999)}",
    lambda d: f"https://docs.google.com/document/d/{draw(d, WORD, 44)}/edit",
    lambda d: (
        f"npm i left-pad@{d.randint(0, 9)}.{d.randint(0, 30)}.{d.randint(0, 30)} --save-exact"
    ),
    lambda d: (
        f"Python 3.{d.randint(8, 14)}.{d.randint(0, 9)}, Linux 6.{d.randint(1, 18)}.0-{draw(d, DIGITS, 2)}-generic"
    ),
    lambda d: (
        f"PRIMARY KEY (id), KEY idx_user_{draw(d, DIGITS, 4)} (user_id), token varchar({draw(d, '123456789', 3)})"
    ),
    lambda d: (
        f"The secret of the {d.choice(['soup', 'trick', 'garden'])} is {d.choice(['patience', 'salt', 'time'])}, room {draw(d, DIGITS, 3)}"
    ),
    lambda d: f"Line {draw(d, DIGITS, 4)}: def get_token_{draw(d, DIGITS, 2)}(key: str) -> Token:",
    lambda d: (
        f"{d.choice(WORDS)} {d.choice(WORDS)} hat {d.randint(20, 80)} Buchstaben; der Code ist {draw(d, DIGITS, 3)} Zeilen lang"
    ),
    lambda d: (
        f"The 2FA code path is in auth_{draw(d, DIGITS, 2)}.py, the discount code SUMMER{draw(d, DIGITS, 2)} ends soon"
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


def second_secrets() -> list[tuple[str, str, str]]:
    """Return the half of the secrets that was written after the rules."""
    return list(secrets_of(4206, 250, FURTHER_NAMED, FURTHER_PLAIN, FURTHER_SENTENCES))


def second_alike() -> list[str]:
    """Return the half of the look-alikes that was written after the rules."""
    return list(alike_of(4207, 1000, FURTHER_ALIKE))


def is_masked(text: str, secret: str) -> bool:
    """Return whether masking a text leaves nothing of its secret, and all that is around it.

    Nothing means: no eight characters in a row that stand nowhere else in the text, of a shorter
    secret not all of it.
    """
    masked, _ = mask_secrets(text)
    before, _, after = text.partition(secret)
    size = min(8, len(secret))
    pieces = (secret[at : at + size] for at in range(len(secret) - size + 1))
    left = [piece for piece in pieces if piece in masked and piece not in before + after]
    return not left and masked.startswith(before[:-8]) and masked.endswith(after[8:])


def main() -> None:
    """Print how many secrets are masked, and how many look-alikes are touched."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what went wrong, too")
    shows = parser.parse_args().show
    for name, secrets, alike in (
        ("first", first_secrets(), first_alike()),
        ("second", second_secrets(), second_alike()),
    ):
        missed = [item for item in secrets if not is_masked(item[1], item[2])]
        touched = [text for text in alike if mask_secrets(text)[1]]
        print(f"{name} half: {len(secrets) - len(missed)} of {len(secrets)} secrets are masked")
        print(f"{name} half: {len(touched)} of {len(alike)} look-alikes are touched")
        if shows:
            print(Counter(kind for kind, _, _ in missed), *touched, sep="\n")


if __name__ == "__main__":
    main()
