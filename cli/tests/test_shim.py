"""The shim, run as a process of its own against a broker that speaks the wire."""

import ast
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from styx_cli import child, shim, shim_wire
from styx_cli.exits import Exit
from styx_cli.shims import write_shims
from styx_cli.testing import Call, FakeBroker, Place, fields

ALLOWED = {"_signal", "_socket", "posix", "sys", "socket", "ssl", "collections.abc"}
ALLOWED |= {"styx_cli", "styx_cli.shim_wire"}


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as fake:
        yield fake


@pytest.fixture
def place(tmp_path: Path, broker: FakeBroker) -> Place:
    return Place.make(tmp_path, broker)


def test_runs_the_real_tool_with_what_it_was_given(place: Place, broker: FakeBroker) -> None:
    def script(call: Call) -> Iterable[bytes]:
        yield fields("beat=", "exec=exe_7", "set=ACME_TOKEN=a=b", "unset=OLD", "verdict=run")

    broker.script = script
    place.tool('#!/bin/sh\necho "$ACME_TOKEN" "${OLD-none}" "$@"\nexit 41\n')
    code, out, err = place.run("rm", b"caf\xe9", "")
    assert (code, out, err) == (41, b"a=b none rm caf\xe9 \n", "")
    (call,) = broker.calls
    assert (call.tool, call.args, call.public_key) == (b"acme", [b"rm", b"caf\xe9", b""], b"")
    assert call.cwd == os.getcwdb()
    version, trace, span, sampled = call.headers["traceparent"].split("-")
    assert (version, len(trace), len(span), sampled) == ("00", 32, 16, "01")
    assert broker.reports == [("exe_7", b"exit=41")]


def test_ten_thousand_words(place: Place, broker: FakeBroker) -> None:
    place.tool('#!/bin/sh\necho "$#"\n')
    words = [f"word-{n}" for n in range(10_000)]
    assert place.run(*words)[:2] == (0, b"10000\n")
    assert broker.calls[0].args == [word.encode() for word in words]


def test_what_styx_says_is_shown_at_once_and_made_harmless(
    place: Place, broker: FakeBroker
) -> None:
    decided = threading.Event()

    def script(call: Call) -> Iterable[bytes]:
        yield fields("say=waiting for \x1b[2Janna")
        assert decided.wait(20)
        yield fields("exec=exe_1", "verdict=run")

    broker.script = script
    process = place.start()
    assert process.stderr
    try:
        assert process.stderr.readline() == b"styx: waiting for ?[2Janna\n"
    finally:
        decided.set()
    assert process.communicate(timeout=30) == (b"ran\n", b"")


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (fields("say=denied: no", "exit=77", "verdict=refuse"), 77, "denied: no"),
        (fields("say=later", "exit=75", "verdict=refuse"), 75, "later"),
        (fields("verdict=refuse"), 77, ""),
        (fields("exec=e", "set=ACME_TOKEN=FIXTURE-x"), 75, "went away"),
        (fields("exec=e") + b"verdict=run", 75, "went away"),
        (b"", 75, "went away"),
        (fields("verdict=run", "exec=e"), 69, "without a whole verdict"),
        (fields("exec=e", "colour=red", "verdict=run"), 69, "'colour'"),
        (fields("exec=e", "set=NOVALUE", "verdict=run"), 69, "'set'"),
        (fields("exec=e", "verdict=maybe"), 69, "'verdict'"),
    ],
)
def test_nothing_runs_without_a_whole_yes(
    place: Place, broker: FakeBroker, answer: bytes, code: int, words: str
) -> None:
    broker.script = lambda call: [answer]
    got, out, err = place.run()
    assert (got, out) == (code, b"")
    assert words in err
    assert "FIXTURE" not in err
    assert broker.reports == []


def test_a_wrong_token_is_refused_in_the_brokers_words(place: Place) -> None:
    assert place.run(STYX_TOKEN="FIXTURE-ended") == (78, b"", "styx: this task has ended\n")


@pytest.mark.parametrize(
    ("changed", "code", "words"),
    [
        ({"STYX_URL": "http://127.0.0.1:1"}, 69, "styx up"),
        ({"STYX_URL": "http://127.0.0.1"}, 69, "styx up"),
        ({"STYX_URL": "ftp://127.0.0.1"}, 78, "can't be read"),
        ({"STYX_URL": "http://127.0.0.1:x"}, 78, "can't be read"),
        ({"STYX_URL": "http://127.0.0.1:65536"}, 78, "can't be read"),
        ({"STYX_TOKEN": ""}, 78, "styx run -- <agent>"),
        ({"STYX_TOKEN": "FIXTURE\r\nX: y"}, 78, "can't be read"),
        ({"PATH": "/nonexistent"}, 127, "not found on PATH"),
    ],
)
def test_what_is_missing_is_named(
    place: Place, broker: FakeBroker, changed: dict[str, str], code: int, words: str
) -> None:
    got, out, err = place.run(**changed)
    assert (got, out) == (code, b"")
    assert words in err
    assert "FIXTURE" not in err
    assert broker.calls == []


def test_another_web_server_is_not_taken_for_styx(place: Place, broker: FakeBroker) -> None:
    got, _, err = place.run(STYX_URL=f"{broker.url}/elsewhere")
    assert got == 69
    assert "HTTP 401" in err


def test_https_only_to_the_one_whom_the_certificate_names(place: Place, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=styx"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with FakeBroker(tls=context) as broker:
        trusted = place.run(STYX_URL=broker.url, SSL_CERT_FILE=str(certificate))
        assert trusted == (0, b"ran\n", "")
        code, out, err = place.run(STYX_URL=broker.url)
        assert (code, out) == (69, b"")
        assert "certificate verify failed" in err
        assert len(broker.calls) == 1


def test_a_key_needs_a_keyring(place: Place) -> None:
    place.tool("#!/bin/sh\n", "acme-ssh")
    done = subprocess.run([str(place.shims / "acme-ssh")], env=place.env, capture_output=True)
    assert done.returncode == 78
    assert b"STYX_KEYRING" in done.stderr


def test_shims_of_other_tasks_are_passed_over(place: Place, tmp_path: Path) -> None:
    write_shims(tmp_path / "outer", {"acme": "env"})
    place.env["PATH"] = f"{place.shims}:{tmp_path / 'outer'}:{place.env['PATH']}"
    assert place.run()[:2] == (0, b"ran\n")


def test_a_tool_that_cannot_start(place: Place, broker: FakeBroker) -> None:
    place.tool("#!/nonexistent/interpreter\n")
    assert place.run()[0] == 126
    assert broker.reports == [("exe_1", b"exit=126")]


@pytest.mark.parametrize("module", [shim, shim_wire, child])
def test_imports_only_what_is_built_in(module: object) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text())  # type: ignore[attr-defined]
    found = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    assert found <= ALLOWED


def test_the_heavy_modules_stay_out() -> None:
    root = str(Path(shim.__file__).parent.parent)
    code = f"import sys; sys.path.insert(0, {root!r}); import styx_cli.shim; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert {"styx_cli.shim", "posix"} <= loaded
    assert not loaded & {"os", "socket", "ssl", "json", "signal", "typing", "subprocess"}


def test_the_numbers_agree_with_the_table() -> None:
    for module in (shim, shim_wire):
        numbers = {name: getattr(module, name) for name in Exit.__members__ if name in vars(module)}
        assert numbers == {name: Exit[name].value for name in numbers}
    assert {"UNAVAILABLE", "UNDECIDED", "DENIED", "CONFIG"} <= vars(shim_wire).keys()
    assert {"NOT_EXECUTABLE", "NOT_FOUND", "INTERRUPTED"} <= vars(shim).keys()
