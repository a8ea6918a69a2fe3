"""The real `gh` with nothing but what was issued, against a server of the tests over TLS.

gh reaches an Enterprise Server by https alone, so a front with a certificate made here stands
before the played API, and gh is told to trust it (SSL_CERT_FILE).
"""

import asyncio
import contextlib
import os
import re
import shutil
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio
from certificate import self_signed
from conformance import Case
from github_case import Played, connected, github_server, issued, vault_and_api
from styx_adapters.adapter import Connected, Deps, Minted
from styx_adapters.api import Api
from styx_adapters.github_api import NO_LOGIN, host_of
from styx_adapters.local_login import LocalLogin
from styx_adapters.providers import github
from styx_core.errors import LoginExpired
from styx_core.ids import new_id
from styx_core.scope import Scope

GH = shutil.which("gh")
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(GH is None, reason="gh is not installed"),
]

OTHERS = f"gho_FIXTUREperson{'0' * 24}"
REPOSITORY = ("-R", "acme/web")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deps(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deps]:
    async with vault_and_api(tmp_path_factory.mktemp("stack")) as made:
        yield made


@dataclass(frozen=True)
class Place:
    """A target at the played server, as gh and its adapter reach it."""

    played: Played
    case: Case
    to: Connected
    folder: Path

    async def issue(self, *scopes: Scope) -> Minted:
        return await issued(self.case, self.to, *scopes)

    async def gh(self, env: dict[str, str], *words: str) -> tuple[int, str]:
        """What gh answers with this environment, in a home that has somebody's login."""
        given = {"PATH": os.defpath, "HOME": str(self.folder / "home")}
        trust = {"SSL_CERT_FILE": str(self.folder / "trusted.pem")}
        process = await asyncio.create_subprocess_exec(
            str(GH), *words,
            cwd=self.folder,
            env={**given, **trust, **github.PROVIDER.quiet, **env},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        async with asyncio.timeout(30):
            out, _ = await process.communicate()
        return process.returncode or 0, out.decode()


class TrustingApi(Api):
    """The adapter's own client, with one more authority."""

    def __init__(self, trusted: Path) -> None:
        import httpx

        super().__init__()
        context = ssl.create_default_context(cafile=str(trusted))
        self._client = httpx.AsyncClient(verify=context, trust_env=False)


@contextlib.asynccontextmanager
async def tls_front(behind: str, folder: Path) -> AsyncIterator[str]:
    """An https address of the played server."""
    certificate, private = self_signed("127.0.0.1")
    (folder / "trusted.pem").write_text(certificate)
    (folder / "front.pem").write_text(certificate + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "front.pem")
    host, _, port = host_of(behind).partition(":")

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/api/v3"
    server.close()


@pytest_asyncio.fixture(loop_scope="module")
async def place(deps: Deps, tmp_path: Path) -> AsyncIterator[Place]:
    """A target by an App, and a home where a person is logged in to other hosts."""
    own = tmp_path / "home/.config/gh"
    own.mkdir(parents=True)
    hosts = ("github.com", "ghe.example.com")
    login = "    user: person\n    oauth_token: {}\n"
    (own / "hosts.yml").write_text("".join(f"{host}:\n{login.format(OTHERS)}" for host in hosts))
    (own / "config.yml").write_text("aliases:\n    mine: auth token\n")
    with github_server() as played:
        async with tls_front(played.url, tmp_path) as url:
            api = TrustingApi(tmp_path / "trusted.pem")
            case = played.case(github.adapter(replace(deps, api=api)))
            case = replace(case, config={**case.config, "api": url})
            yield Place(played, case, await connected(case), tmp_path)
            await api.close()


async def test_gh_reads_and_is_refused_a_write_and_ends_with_the_lease(place: Place) -> None:
    minted = await place.issue(Scope.READ)
    env = minted.secret["env"]
    assert set(env) <= set(github.PROVIDER.env)
    assert await place.gh(env, "workflow", "list", *REPOSITORY) == (0, "Release\tactive\t1\n")
    assert (await place.gh(env, "api", "repos/acme/web"))[0] == 0
    for words in (
        ("label", "create", "bug", *REPOSITORY),
        ("api", "repos/acme/web/issues", "-f", "title=x"),
        ("repo", "delete", "acme/web", "--yes"),
    ):
        code, said = await place.gh(env, *words)
        assert code != 0
        assert "Resource not accessible by integration" in said, said
    assert "web" in place.played.server.repositories
    ended = await place.case.adapter.revoke(place.to.secret, place.to.config, minted.handle)
    assert ended.outcome == "hard"
    code, said = await place.gh(env, "workflow", "list", *REPOSITORY)
    assert code != 0
    assert "401" in said


async def test_gh_writes_and_deletes_with_the_scope_for_it(place: Place) -> None:
    write = (await place.issue(Scope.WRITE)).secret["env"]
    assert (await place.gh(write, "label", "create", "bug", *REPOSITORY))[0] == 0
    assert (await place.gh(write, "repo", "delete", "acme/web", "--yes"))[0] != 0
    delete = (await place.issue(Scope.DELETE)).secret["env"]
    assert (await place.gh(delete, "repo", "delete", "acme/web", "--yes"))[0] == 0
    assert place.played.server.repositories == {"api", "docs"}


async def test_gh_finds_no_login_but_the_issued_one(place: Place) -> None:
    env = (await place.issue(Scope.READ)).secret["env"]
    for host in ("github.com", "ghe.example.com", "127.0.0.1"):
        code, said = await place.gh(env, "auth", "token", "--hostname", host)
        expected = NO_LOGIN if host == "github.com" else env["GH_ENTERPRISE_TOKEN"]
        assert (code, said.strip()) == (0, expected)
    assert (await place.gh(env, "mine"))[0] != 0, "the person's own alias"
    bare = {"GH_HOST": "github.com"}
    assert OTHERS not in (await place.gh(bare, "auth", "token"))[1]
    seen = await place.gh({**bare, "GH_CONFIG_DIR": ""}, "auth", "token")
    assert OTHERS in seen[1], "what the quiet setting keeps out is there"


async def test_gh_can_write_no_config_where_it_is_told_to_look(place: Place) -> None:
    env = (await place.issue(Scope.READ)).secret["env"]
    code, said = await place.gh(env, "config", "set", "http_unix_socket", "/tmp/x")
    assert code != 0
    assert "config" in said
    assert not Path(github.PROVIDER.quiet["GH_CONFIG_DIR"]).exists()
    assert (await place.gh(env, "api", "repos/acme/web"))[0] == 0


async def test_the_real_gh_is_asked_for_what_its_file_does_not_hold(
    place: Place, deps: Deps
) -> None:
    """As with a keyring; here gh understands a file that we leave to it."""
    host, token = host_of(place.to.config["api"]), place.played.server.person("x", "jane", "gho_")
    own = place.folder / "elsewhere"
    own.mkdir()
    (own / "hosts.yml").write_text(f"{host}: {{user: jane, oauth_token: {token}}}\n")
    environ = {"PATH": os.environ["PATH"], "GH_CONFIG_DIR": str(own), "GH_TOKEN": OTHERS}
    api = TrustingApi(place.folder / "trusted.pem")
    login = LocalLogin(place.folder / "home", environ)
    adapter = github.adapter(replace(deps, api=api, login=login))
    config = {"api": place.to.config["api"]}
    to = await adapter.connect("cli", new_id("tgt"), config, {})
    assert to.secret == {"account": "jane"}
    (own / "hosts.yml").write_text("{}: garbage\n[")
    with pytest.raises(LoginExpired):
        await adapter.health({"account": "jane"}, config)
    await api.close()


PRESENTATION = {
    *("GH_EDITOR", "GH_BROWSER", "GH_DEBUG", "GH_FORCE_TTY", "GH_COLOR_LABELS", "GH_MDWIDTH"),
    *("GH_ACCESSIBLE_COLORS", "GH_ACCESSIBLE_PROMPTER"),
}
"""What gh documents that leads it to no other credential, account or place."""


async def test_every_variable_that_gh_documents_is_settled(place: Place) -> None:
    _, manual = await place.gh({}, "help", "environment")
    documented = set(re.findall(r"\b(?:GH|GITHUB)_[A-Z_]+", manual))
    assert {"GH_TOKEN", "GH_REPO", "GH_CONFIG_DIR"} <= documented
    settled = {*github.PROVIDER.stripped(), *github.PROVIDER.quiet}
    assert documented - settled <= PRESENTATION
