"""A real browser with a passkey of its own: Chromium with a virtual authenticator (WebAuthn 11)."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page, async_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
MISSING = "" if CHROMIUM else "no chromium here (apt-get install chromium)"
ARTIFACTS = Path(__file__).parents[1] / "artifacts"
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
AXE = Path(__file__).parents[2] / ".venv/clis/node_modules/axe-core/axe.min.js"
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser that speaks to this machine only."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        await browser.close()


class Visitor:
    """One person's browser: a page, and what went wrong on it."""

    def __init__(self, context: BrowserContext, page: Page, url: str) -> None:
        self.context, self.page, self.url = context, page, url
        self.wrong: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda m: self.wrong.append(m.text) if m.type == "error" else None)

    @classmethod
    async def opened(cls, browser: Browser, url: str, **how: object) -> "Visitor":
        """A browser that nobody has used yet."""
        context = await browser.new_context(**{"viewport": {"width": 1100, "height": 800}, **how})  # type: ignore[arg-type]
        context.set_default_timeout(15_000)
        page = await context.new_page()
        devtools = await context.new_cdp_session(page)
        await devtools.send("WebAuthn.enable")
        options = {"options": AUTHENTICATOR}
        await devtools.send("WebAuthn.addVirtualAuthenticator", options)
        return cls(context, page, url.replace("127.0.0.1", "localhost"))

    async def join(self, link: str, person: str) -> None:
        """Use a link, and be signed in."""
        await self.page.goto(link)
        await self.page.fill("[name=person]", person)
        await self.page.click("text=Make a passkey")
        await self.page.wait_for_url(self.url + "/")

    async def show(self, path: str, wait: str = "main") -> None:
        """Go to a page of Styx's."""
        await self.page.goto(self.url + path)
        await self.page.wait_for_selector(wait)

    async def photograph(self, name: str) -> None:
        """The page as it is, in light and in dark."""
        ARTIFACTS.mkdir(exist_ok=True)
        for scheme in ("light", "dark"):
            await self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            await self.page.screenshot(path=ARTIFACTS / f"{name}-{scheme}.png", full_page=True)
        await self.page.emulate_media(color_scheme="light")

    async def faults(self) -> list[str]:
        """What axe, an accessibility checker, finds seriously wrong, in light and in dark."""
        if not AXE.exists():
            return []
        found: list[str] = []
        for scheme in ("light", "dark"):
            await self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            await self.page.evaluate(AXE.read_text())
            result = await self.page.evaluate("axe.run()")
            found += [
                f"{scheme}: {each['id']}: {node['html']}"
                for each in result["violations"]
                if each["impact"] in ("serious", "critical")
                for node in each["nodes"]
            ]
        await self.page.emulate_media(color_scheme="light")
        return found
