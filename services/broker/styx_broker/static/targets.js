import { ask, element, handle, rows } from "./page.js";

const SCOPES = ["read", "write", "deploy", "delete"];

for (const form of document.querySelectorAll("form[data-check]")) handle(form, async () => {
  const said = await ask("POST", `/v1/targets/${form.dataset.check}/check`);
  const place = form.closest("article").querySelector(".health");
  const word = said.ok ? "works" : said.expired ? "refused by its provider" : "not known";
  place.textContent = `${word}: ${said.detail}`;
});

for (const form of document.querySelectorAll("form[data-revoke]")) handle(form, async () => {
  await ask("POST", `/v1/grants/${form.dataset.revoke}/revoke`, {});
  location.reload();
});

/** What would be said to an agent of one's own, scope by scope, when somebody opens it. */
for (const place of document.querySelectorAll("details[data-rules]")) place.addEventListener("toggle", async () => {
  if (!place.open) return;
  const { project, target } = place.dataset, said = place.querySelector(".said");
  try {
    const verdicts = await Promise.all(SCOPES.map((scope) =>
      ask("POST", `/v1/projects/${project}/policy/simulate`, { target, scopes: [scope], agent: "agent" })));
    const lines = verdicts.map((v, at) => [SCOPES[at], v.mfa ? `${v.effect}, with a passkey` : v.effect, v.because.join(", ") || "no rule", v.why]);
    said.replaceChildren(rows(["Scope", "Says", "By", "Why"], lines, `what the rules say on ${target}`));
  } catch (error) {
    said.replaceChildren(element("p", error.message));
  }
});
