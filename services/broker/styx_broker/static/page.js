// What every page does: ask the broker, say what went wrong, look again when something changed.

import { byPasskey, bySession, canonical, forgetKeys } from "./signing.js";

export const meta = (name) => document.querySelector(`meta[name=styx-${name}]`)?.content ?? "";
export const session = () => meta("session");

/** An answer of the broker's; throws an Error that a person can read. */
export async function ask(method, path, body) {
  const headers = { "Styx-CSRF": meta("csrf"), Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let reply;
  try {
    reply = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Error("Styx does not answer; look at your connection and try again.");
  }
  const said = reply.status === 204 ? null : await reply.json().catch(() => ({}));
  if (reply.ok) return said;
  throw new Error(said.detail ?? `Styx answered ${reply.status}; try again.`);
}

/** The proof over a payload: this session's key, or a passkey where one is due. */
export async function proof(payload, passkey) {
  const text = typeof payload === "string" ? payload : canonical(payload);
  return (passkey ? null : await bySession(session(), text)) ?? byPasskey(text);
}

/** Run what a form asks for, once, and show what went wrong beside it. */
export function handle(form, act) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wrong = form.querySelector(".wrong") ?? form.parentElement.querySelector(".wrong");
    const buttons = [...form.querySelectorAll("button")];
    if (wrong) wrong.hidden = true;
    buttons.forEach((b) => { b.disabled = true; });
    try {
      await act(form, event.submitter);
    } catch (error) {
      const text = error.name === "NotAllowedError" ? "The passkey was not used; nothing was done." : error.message;
      if (wrong) { wrong.textContent = text; wrong.hidden = false; } else { say(text); }
    } finally {
      buttons.forEach((b) => { b.disabled = false; });
    }
  });
}

let quiet;
export function say(text) {
  const place = document.getElementById("say");
  place.textContent = text;
  clearTimeout(quiet);
  quiet = setTimeout(() => { place.textContent = ""; }, 6000);
}

/** An element with a text, which stays a text. */
export function element(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** A table that scrolls by itself, named for those who can't see it. */
export function rows(heads, found, label) {
  const made = element("table"), around = element("div");
  const line = (cells, name) => {
    const row = element("tr");
    row.append(...cells.map((cell) => element(name, cell)));
    return row;
  };
  made.append(line(heads, "th"), ...found.map((cells) => line(cells, "td")));
  around.className = "scroll";
  around.tabIndex = 0;
  around.setAttribute("role", "group");
  around.setAttribute("aria-label", label);
  around.append(made);
  return around;
}

/** A line's words, with quotes kept together. */
export const words = (line) => [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((m) => m[1] ?? m[2] ?? m[3]);

const types = window.trustedTypes?.createPolicy("styx", { createHTML: (text) => text }) ?? { createHTML: (t) => t };

/** The elements of one of our own fragments. */
export async function fragment(path) {
  const reply = await fetch(path, { headers: { Accept: "text/html" } });
  if (reply.redirected && new URL(reply.url).pathname === "/signin") location.assign(reply.url);
  if (!reply.ok) throw new Error(`Styx answered ${reply.status}`);
  return new DOMParser().parseFromString(types.createHTML(await reply.text()), "text/html");
}

const rest = () => new Promise((done) => setTimeout(done, 800));

/** Look at once whenever the broker says that something changed, and then rest a moment: many
 *  changes cost one look. A lost connection leaves no gap. */
export function live(look) {
  let looking = false, again = false;
  const run = async () => {
    again = true;
    if (looking) return;
    looking = true;
    while (again) {
      again = false;
      await look().catch(() => { /* the next word comes */ });
      await rest();
    }
    looking = false;
  };
  new EventSource("/v1/changes").addEventListener("changed", run);
  return run;
}

const leaving = document.querySelector("form[data-signout]");
if (leaving) handle(leaving, async () => {
  await ask("POST", "/v1/signout");
  await forgetKeys();
  location.assign("/signin");
});
