import { ask, handle, proof } from "./page.js";
import { digest, hex, nonce } from "./signing.js";

const path = (project, what = "") => `/v1/projects/${project}/policy${what}`;

async function put(form, project) {
  const said = { toml: form.elements.toml.value, nonce: nonce() };
  const payload = { styx: "policy/v1", project, sha256: hex(await digest(said.toml)), nonce: said.nonce };
  await ask("PUT", path(project), { ...said, signature: await proof(payload, true) });
  location.reload();
}

async function replay(form, project) {
  const said = await ask("POST", path(project, "/replay"), { toml: form.elements.toml.value, days: 30 });
  const { allow, ask: asked, deny } = said.more;
  const of = `of ${said.requests} requests${said.whole ? "" : " (the newest)"}`;
  const text = allow + asked + deny === 0 ? `Nothing would have been decided differently, ${of}.`
    : `Would have allowed ${allow} more, asked for ${asked} more and denied ${deny} more, ${of}:`;
  const rows = said.changed.map((each) => [each.created_at.slice(0, 16).replace("T", " "),
    `${each.agent} of ${each.person}`, each.target, each.command.join(" ") || each.scopes.join(", "),
    `${each.was} → ${each.would_be}`, each.because.join(", ")]);
  form.querySelector(".replayed").replaceChildren(
    element("p", text), ...(rows.length ? [table(["When", "Who", "Target", "What", "Becomes", "By"], rows)] : []));
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function table(heads, rows) {
  const made = document.createElement("table");
  const row = (cells, name) => {
    const line = document.createElement("tr");
    line.append(...cells.map((cell) => element(name, cell)));
    return line;
  };
  made.append(row(heads, "th"), ...rows.map((cells) => row(cells, "td")));
  const around = document.createElement("div");
  around.className = "scroll";
  around.tabIndex = 0;
  around.setAttribute("role", "group");
  around.setAttribute("aria-label", "requests that would have been decided differently");
  around.append(made);
  return around;
}

for (const form of document.querySelectorAll("form[data-policy]")) handle(form, (_, button) =>
  (button.value === "put" ? put : replay)(form, form.dataset.policy));

/** A line's words, with quotes kept together. */
const words = (line) => [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((m) => m[1] ?? m[2] ?? m[3]);

for (const form of document.querySelectorAll("form[data-simulate]")) handle(form, async () => {
  const project = form.dataset.simulate;
  const draft = document.querySelector(`form[data-policy="${project}"]`).elements.toml.value;
  const { target, command, agent } = form.elements;
  const said = await ask("POST", path(project, "/simulate"),
    { toml: draft, target: target.value, command: words(command.value), agent: agent.value });
  const by = said.because.length ? ` (${said.because.join(", ")})` : "";
  form.querySelector(".verdict").textContent = `${said.effect}${by}: ${said.why}${said.mfa ? "; with a passkey" : ""}`;
});
