"""What a call names as its host and sends to the host's shell, as ssh(1) itself reads it."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_adapters.commands.load import tool
from styx_core.remote import host, remote_command
from styx_core.tool import Tool

SSH = tool("ssh")
CALLS = [
    ("web uptime", "web", "uptime"),
    ("ada@web uptime", "web", "uptime"),
    ("web", "web", None),
    ("web ", "web", None),
    ("", None, None),
    ("-v", None, None),
    ("-p 22", None, None),
    ("-p 22 web uptime -p", "web", "uptime -p"),
    ("-p22 web uptime", "web", "uptime"),
    ("-vp 22 web uptime", "web", "uptime"),
    ("-vp22 web uptime", "web", "uptime"),
    ("-v web uptime", "web", "uptime"),
    ("web -p 22 uptime", "web", "uptime"),
    ("web -v -p22 uptime -v", "web", "uptime -v"),
    ("web -- uptime", "web", "uptime"),
    ("-- web uptime", "web", "uptime"),
    ("web -- -v uptime", "web", "-v uptime"),
    ("-- web -- ls -l", "web", "ls -l"),
    ("-l ada web ls", "web", "ls"),
    ("-o Port=22 web ls", "web", "ls"),
    ("-oPort=22 web ls", "web", "ls"),
    ("-i web other ls", "other", "ls"),
    ("ada@corp@web ls", "web", "ls"),
    ("ssh://ada@web:22 ls", "web", "ls"),
    ("ssh://web/ ls", "web", "ls"),
    ("ssh://web ls", "web", "ls"),
    ("-P evil web ls", None, None),
    ("-vP evil web ls", None, None),
    ("web -P tag ls", "web", None),
]


@pytest.mark.parametrize(("call", "named", "sent"), CALLS, ids=[call[0] for call in CALLS])
def test_a_call_is_read_as_ssh_reads_it(call: str, named: str | None, sent: str | None) -> None:
    argv = call.split(" ") if call else []
    assert host(SSH, argv) == named
    assert remote_command(SSH, argv) == sent


DISGUISED = [
    *("ssh://a@evil/@web", "ssh://evil#@web", "ssh://evil?@web", "ssh://a:b@evil", "a@b/c@web"),
    *("SSH://evil", "ssh://evil:22@web", "ssh://evil:22:@web", "ssh://a@b@evil:22", "ssh:///web"),
    *("ssh://evil%40web", "ssh://evil%2f@web", "web:22", "[::1]", "a@::1", "@web", "ssh://web//"),
    *("-J evil web", "-Jevil web", "-W evil:22 web", "-b 1 web", "-D 1080 web", "-L 1:a:1 web"),
    *("-I x web", "-S x web", "-w 1 web", "-GG web", "-4A6aCf web", "-E /dev/null web"),
]


@pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed")
@pytest.mark.parametrize("call", [*(call for call, named, _ in CALLS if named), *DISGUISED])
def test_ssh_itself_goes_to_the_same_host_or_nowhere(call: str) -> None:
    """`-G` prints where ssh would go and goes nowhere."""
    asked = ["ssh", "-F", "none", "-G", *(word for word in call.split(" ") if word)]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)
    names = [line[9:] for line in said.stdout.splitlines() if line.startswith("hostname ")]
    assert said.returncode or names == [host(SSH, call.split(" "))]
    assert not said.returncode or call in DISGUISED


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (["ls", "my file"], "ls my file"),
        (["echo 'a  b'", ";", "rm"], "echo 'a  b' ; rm"),
        (["", "ls"], " ls"),
        ([" "], None),
        (["", ""], None),
        (["ls\n-l"], "ls\n-l"),
    ],
)
def test_words_are_joined_by_single_blanks_and_quoted_by_nobody(
    words: list[str], sent: str | None
) -> None:
    """So a this-command-once certificate forces the very text that the host's shell would get."""
    assert remote_command(SSH, ["web", *words]) == sent


PLAIN = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda word: word[0] != "-" and word.strip()
)


@given(st.lists(PLAIN, min_size=1, max_size=4), st.lists(st.sampled_from(["-v", "-p22", "-4"])))
def test_options_before_the_host_change_nothing_of_what_is_sent(
    words: list[str], options: list[str]
) -> None:
    assert remote_command(SSH, [*options, "web", *words]) == " ".join(words)
    assert host(SSH, [*options, "web", *words]) == "web"


@given(st.lists(st.text(max_size=5), max_size=6))
def test_any_vector_gets_an_answer(argv: list[str]) -> None:
    named, sent = host(SSH, argv), remote_command(SSH, argv)
    assert named is None or named
    assert sent is None or sent.strip()


def test_a_tool_without_options_has_its_host_first() -> None:
    plain = Tool(name="rlogin", values=("-l", "--long"))
    assert host(plain, ["-l", "ada", "web"]) == "web"
    assert host(plain, ["--long", "web"]) is None, "only flags of one letter take a value here"
