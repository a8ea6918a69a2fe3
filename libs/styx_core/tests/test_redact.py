"""Redaction: what must vanish, and what must stay byte for byte.

`STYX_CASES` names a folder of ground truth (`secret_shapes*.jsonl`); without it the made-up cases
below still hold. Every fake says FIXTURE and is joined from pieces, so that no scanner takes it
for real.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from styx_core.redact import redact, redact_argv, redactor
from styx_core.secret_kinds import COMMON
from styx_core.secret_names import MARK
from styx_core.secret_shape import ALPHABETS, SecretShape

TOKEN = "gh" + "p_" + "FIXTURE" + "abcDEF0123456789abcDEF0123456"
ACME = SecretShape("acme", ("acme-",), "base62", 12)


def _fake(shape: SecretShape, prefix: str) -> str:
    allowed = re.compile(f"[{ALPHABETS[shape.alphabet]}]")
    letters = "".join(c for c in "FIXTUREabcdef0123456789GHJKLM" if allowed.match(c))
    return prefix + (letters * (shape.least // len(letters) + 2))[: shape.least + 3]


FAKES = [(f"{s.kind}:{p}", _fake(s, p)) for s in COMMON for p in s.prefixes]
AROUND = (
    "{}",
    '"{}",',
    "see ({}).",
    "Authorization: Bearer {}",
    "https://x:{}@example.com/o/r.git",
    '{{"level":"info","msg":"x","v":"{}"}}',
    "x\\n{}\\ny",
    "%22{}%22",
)


@pytest.mark.parametrize(("kind", "fake"), FAKES, ids=[kind for kind, _ in FAKES])
def test_every_common_shape_vanishes_wherever_it_stands(kind: str, fake: str) -> None:
    for around in AROUND:
        out = redact(around.format(fake))
        assert fake not in out
        assert MARK in out, (kind, around)


PARTED = [
    "ey" + "JhbGciOiJIUzI1NiJ9.eyJpc3MiOiJGSVhUVVJFIn0.FIXTUREabc",
    "ey" + "JlbmMiOiJGSVhUVVJFIn0..FIXTUREiv.FIXTUREtext.FIXTUREtag",
    "123456789:A" + "AFIXTURE" + "abcDEF0123456789" * 2,
    "MTFIXTURE" + "abcDEF0123456789a" + ".FIXTUR.FIXTURE" + "abcDEF0123456789" * 2,
]


@pytest.mark.parametrize("fake", PARTED)
@pytest.mark.parametrize("around", [a for a in AROUND if "Bearer" not in a and "@" not in a])
def test_a_token_known_by_its_parts_vanishes(fake: str, around: str) -> None:
    assert redact(around.format(fake)) == around.format(MARK)


def test_what_hiding_brings_together_is_hidden_too() -> None:
    once = redact("://u:://u:@@")
    assert redact(once) == once


PW = "hunter2" + "FIXTURE"


@pytest.mark.parametrize(
    "text",
    [
        f"--password {PW}",
        f"--db-password={PW}",
        f"--api-key -{PW}",
        f'"password": "{PW} and more"',
        f'\\"token\\": \\"{PW}\\"',
        f"'token' => '{PW}'",
        f"DB_PASSWORD={PW}",
        f'PASSWORD={PW}"quote',
        f"password: {PW}$dollar",
        f'mysql -u root -p"{PW} x" db',
        f"sudo sshpass -p {PW} ssh h",
        f"curl -u user:{PW} https://x",
        f"cat x | redis-cli -a {PW}",
        f"postgresql://u:{PW}%40w@h:5432/db",
        f"postgresql://u:p@{PW}@h:5432/db",
        f"postgresql://u:p/{PW}@h:5432/db",
        f"https://x/?a=1&api_key={PW}&b=2",
        f"supabase secrets set ANY={PW}",
        f"aws ssm put-parameter --type SecureString --value {PW}",
        f"aws configure set aws_secret_access_key {PW}",
        f"ssh -o SetEnv=TOKEN={PW} h",
        f"Authorization: Custom {PW} {PW}",
        f"curl -H 'Cookie: session={PW}; path=/' https://x",
        f"machine h login u password {PW}",
        f"ALTER USER u WITH PASSWORD '{PW}'",
        f"<client-secret>{PW}</client-secret>",
        f"['--password', '{PW}']",
        f"--password \\\n  {PW}",
        f"pass\u200bword={PW}",
        f"password=\x1b[1m{PW}\x1b[0m",
        f"-t FIXTURE{'aB3' * 5}xY",
    ],
)
def test_what_the_words_around_it_make_secret_vanishes(text: str) -> None:
    out = redact(text)
    assert PW not in out
    assert MARK in out


def test_what_is_not_secret_stays_beside_what_is() -> None:
    assert redact(f"https://x/?a=1&api_key={PW}&b=2") == f"https://x/?a=1&api_key={MARK}&b=2"
    assert redact(f"curl -u me:{PW} https://x") == f"curl -u me:{MARK} https://x"
    assert redact(f'{{"token": "{PW}", "n": 1}}') == f'{{"token": "{MARK}", "n": 1}}'
    assert redact(f"Authorization: Bearer {PW}") == f"Authorization: Bearer {MARK}"


@pytest.mark.parametrize(
    "text",
    [
        "b6589fc6ab0dc82cf12099d1c2d40ab994e8410c",
        "request-id: 66d862ac-825d-83c3-eebd-31f3587a593b",
        "nginx@sha256:" + "676b8bb84ce7267dd520deca4811c8f1" * 2,
        "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-AbCdEf",
        "https://user@host/path https://h:8080/@scope/pkg",
        "--token-file /run/t --private-key file://k.pem --private-key ./id.pem",
        "--password-stdin --no-verify-jwt fn --tokens 5 --starting-token abc",
        "docker run -p 8080:80 mysql; cp -p a b; ssh -t h; docker build -t image .",
        "password: ",
        "Authorization header missing; Bearer authentication required",
        "GH_TOKEN=$GH_TOKEN TOKEN=${{ secrets.X }} token=${TOKEN} --token <your-token>",
        "PWD=/home/u gh secret set TOKEN; kubectl get secret x; unset GH_TOKEN",
        '"tokens": 100, "token": null',
        "gcloud secrets versions access 1 --secret db",
        "sk- ghp_ AKIA ASIA-PACIFIC eyJ s.abcdefghij npm_package_dependencies_some_long_name_here",
        f"password={MARK}",
    ],
)
def test_near_misses_stay_byte_for_byte(text: str) -> None:
    assert redact(text) == text


def _pem(kind: str) -> list[str]:
    body = [("FIXTURE" + "Ab0+/" * 12)[:64] for _ in range(3)]
    return [f"-----BEGIN {kind}-----", *body, f"-----END {kind}-----"]


@pytest.mark.parametrize("joint", ["\n", "\r\n", "\\n", "\n    "])
@pytest.mark.parametrize("cut", [2, 4, 5])
def test_a_private_key_vanishes_whole_or_cut_off(joint: str, cut: int) -> None:
    key = _pem("RSA " + "PRIVATE KEY")
    out = redact(f'before "{joint.join(key[:cut])}" after')
    assert "FIXTURE" not in out
    assert "before" in out
    assert "after" in out


def test_a_public_key_stays() -> None:
    text = "\n".join(_pem("PUBLIC KEY"))
    assert redact(text) == text


@pytest.mark.parametrize(
    "disguise",
    [
        lambda t: t.encode().hex(),
        lambda t: "".join(f"%{b:02x}" for b in t.encode()),
        lambda t: t[::-1],
        lambda t: __import__("base64").b64encode(b"user:" + t.encode()).decode(),
        lambda t: t[:20] + "\x1b[0m" + t[20:],
        lambda t: "\u200b".join(t),
        lambda t: t[:20] + "\\\n" + t[20:],
    ],
)
def test_a_disguised_token_vanishes(disguise: Callable[[str], str]) -> None:
    hidden = disguise(TOKEN)
    assert redact(f"x {hidden} y") == f"x {MARK} y"


def test_argv_keeps_its_length_and_hides_declared_flags() -> None:
    argv = ("-t", PW, f"-t{PW}", f"--tok={PW}", "--db-password", f"-{PW}", "rm", TOKEN)
    out = redact_argv(argv, (), ("-t", "--tok"))
    assert out == ("-t", MARK, f"-t{MARK}", f"--tok={MARK}", "--db-password", MARK, "rm", MARK)


def test_argv_keeps_what_is_no_secret() -> None:
    argv = ("s3", "rm", "s3://bucket/key", "--recursive", "--password", "--force", "-t", "x")
    assert redact_argv(argv, (), ()) == argv


def test_argv_reads_the_command_around_a_word() -> None:
    assert redact_argv(("curl", "-u", f"me:{PW}", "https://x"))[2] == f"me:{MARK}"
    assert redact_argv(("mysql", f"-p{PW} with space", "db"))[1] == f"-p{MARK}"


def test_a_declared_shape_is_found_and_others_are_not() -> None:
    fake = "acme-" + "FIXTURE0123456"
    assert redact(fake) == fake
    assert redactor([ACME])(f"a {fake} b") == f"a {MARK} b"
    assert redact_argv((fake,), [ACME]) == (MARK,)


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            [
                *(TOKEN, PW, " ", "=", ": ", '"', "'", "\\", "password", "--token", "token="),
                *("://u:", "@", "-----BEGIN PRIVATE KEY-----", "mysql ", "-p", "Bearer ", "eyJ"),
                *(MARK, "\n", "Authorization: ", "$TOKEN", "<token>", "\u200b", "secrets set "),
                *("A=", "-", "."),
            ]
        ),
    ),
    max_size=12,
).map("".join)


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_redacting_is_idempotent_and_bounded(text: str) -> None:
    once = redact(text)
    assert redact(once) == once
    assert len(once) <= len(text) * (len(MARK) + 1)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="abcdxyz0123 ,.!?\n", max_size=60))
def test_text_without_a_trigger_is_unchanged(text: str) -> None:
    assert redact(text) == text


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from(AROUND))
def test_a_planted_token_vanishes(before: str, after: str, around: str) -> None:
    planted = before + around.format(TOKEN) + after
    assert TOKEN not in redact(planted)
    assert TOKEN not in "\0".join(redact_argv(["x", planted]))
    assert TOKEN not in redact(json.dumps({"k": planted}))


def _cases() -> Iterator[tuple[str, list[str], bool]]:
    for path in sorted(Path(os.environ["STYX_CASES"]).glob("secret_shapes*.jsonl")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            lists = row["secret"] and isinstance(row["secret"][0], list)
            secrets = ["".join(s) for s in (row["secret"] if lists else [row["secret"]])]
            yield "".join(row["text"]), secrets, row["redact"]


@pytest.mark.skipif("STYX_CASES" not in os.environ, reason="STYX_CASES names no ground truth")
def test_ground_truth() -> None:
    wrong = []
    for number, (text, secrets, hidden) in enumerate(_cases()):
        out = redact(text)
        pieces = [secret[i : i + 16] for secret in secrets for i in range(0, len(secret), 16)]
        gone = not any(len(p) >= 12 and p in out for p in pieces) and out != text
        gone = gone and not any(secret in out for secret in secrets)
        if hidden != gone or (not hidden and out != text):
            wrong.append(number)
    assert not wrong
