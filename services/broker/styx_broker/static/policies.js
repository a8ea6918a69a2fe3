// The policies page: a draft beside the rules in force, tried before it is put.

import { diff, hunks } from "./diff.js";
import { ask, element, handle, proof, rows, say, words } from "./page.js";
import { digest, hex, nonce } from "./signing.js";

const path = (project, what = "") => `/v1/projects/${project}/policy${what}`;
const MOST_LINES = 1500;

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
  const found = said.changed.map((each) => [each.created_at.slice(0, 16).replace("T", " "),
    `${each.agent} of ${each.person}`, each.target, each.command.join(" ") || each.scopes.join(", "),
    `${each.was} → ${each.would_be}`, each.because.join(", ")]);
  const heads = ["When", "Who", "Target", "What", "Becomes", "By"];
  form.querySelector(".replayed").replaceChildren(element("p", text),
    ...(found.length ? [rows(heads, found, "requests that would have been decided differently")] : []));
}

async function suggest(form, project) {
  const said = await ask("GET", path(project, "/suggestions?days=30"));
  const none = `None of ${said.requests} requests in 30 days was approved so often that a rule would help.`;
  form.querySelector(".suggested").replaceChildren(...(said.rules.length ? said.rules.map((rule) => {
    const made = element("section");
    made.className = "suggestion";
    const add = element("button", "Add to the draft");
    add.type = "button";
    add.addEventListener("click", () => {
      const text = form.elements.toml;
      text.value = `${text.value.trimEnd()}\n\n${rule.toml}`.trimStart();
      add.disabled = true;
      compare(form);
      say(`${rule.id} is in the draft; it holds once you put the draft.`);
    });
    const code = element("pre", rule.toml);
    code.tabIndex = 0;
    made.append(element("p", rule.reason), code, ...(form.elements.toml.readOnly ? [] : [add]));
    return made;
  }) : [element("p", none)]));
}

/** Shows what the draft changes. */
function compare(form) {
  const { value, defaultValue } = form.elements.toml;
  const place = form.querySelector(".differs");
  place.hidden = value === defaultValue;
  if (place.hidden) return;
  const long = value.split("\n").length > MOST_LINES || defaultValue.split("\n").length > MOST_LINES;
  const lines = long ? [[" ", "too long to compare here; `styx policy diff` compares any length"]] : hunks(diff(defaultValue, value));
  place.querySelector("pre").replaceChildren(...lines.map((line) => {
    const made = element(line?.[0] === "+" ? "ins" : line?.[0] === "-" ? "del" : "span", line ? line.join(" ") : "…");
    return made;
  }));
}

const acts = { put, replay, suggest };
for (const form of document.querySelectorAll("form[data-policy]")) {
  handle(form, (_, button) => acts[button.value](form, form.dataset.policy));
  form.elements.toml.addEventListener("input", () => compare(form));
  form.querySelector("[name=file]")?.addEventListener("change", async ({ target }) => {
    const [file] = target.files;
    if (!file) return;
    form.elements.toml.value = await file.text();
    compare(form);
    say(`${file.name} is the draft; nothing is put yet.`);
  });
}

for (const form of document.querySelectorAll("form[data-simulate]")) handle(form, async () => {
  const project = form.dataset.simulate;
  const draft = document.querySelector(`form[data-policy="${project}"]`).elements.toml.value;
  const { target, command, agent } = form.elements;
  const said = await ask("POST", path(project, "/simulate"),
    { toml: draft, target: target.value, command: words(command.value), agent: agent.value });
  const by = said.because.length ? ` (${said.because.join(", ")})` : "";
  const outweighed = said.matched.filter((id) => !said.because.includes(id));
  form.querySelector(".verdict").replaceChildren(
    element("strong", `${said.effect}${by}`), `: ${said.why}${said.mfa ? "; with a passkey" : ""}. `,
    outweighed.length ? `Also matching, and outweighed: ${outweighed.join(", ")}.` : "");
});
