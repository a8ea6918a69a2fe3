import { ask, handle, meta, proof, say } from "./page.js";
import { base64url, digest, hex, nonce } from "./signing.js";

/** A link whose code never leaves this page: only its hash is signed and sent. */
async function link(person, where, role, seconds, shown) {
  const code = "styx_inv_" + base64url(crypto.getRandomValues(new Uint8Array(32)));
  const said = { code_sha256: hex(await digest(code)), person, where, role, seconds };
  const payload = { styx: "invite/v1", code: said.code_sha256, person, where, role, seconds };
  await ask("POST", "/v1/invitations", { ...said, signature: await proof(payload, true) });
  const field = shown.querySelector("input");
  field.value = `${location.origin}/join#${code}`;
  shown.hidden = false;
  field.select();
}

for (const form of document.querySelectorAll("form[data-invite]")) handle(form, () =>
  link(null, form.elements.where.value, form.elements.role.value, 86400, form.parentElement.querySelector(".made")));

for (const form of document.querySelectorAll("form[data-own]")) handle(form, () =>
  link(meta("person"), "*", null, 900, form.parentElement.querySelector(".made")));

for (const form of document.querySelectorAll("form[data-new-key]")) handle(form, async () => {
  const { name, project, days } = form.elements;
  const may = [...form.querySelectorAll("[name=may]:checked")].map((box) => box.value);
  if (!may.length) throw new Error("Tick at least one thing that the key may do.");
  const said = { name: name.value, project: project.value, may, days: days.value ? Number(days.value) : null };
  const made = await ask("POST", "/v1/api-keys", said);
  const shown = form.parentElement.querySelector(".made"), field = shown.querySelector("input");
  field.value = made.key;
  shown.hidden = false;
  field.select();
});

for (const form of document.querySelectorAll("form[data-revoke-key]")) handle(form, async () => {
  await ask("POST", `/v1/api-keys/${form.dataset.revokeKey}/revoke`);
  location.reload();
});

for (const form of document.querySelectorAll("form[data-disconnect]")) handle(form, async () => {
  await ask("POST", `/v1/clients/${form.dataset.disconnect}/revoke`);
  location.reload();
});

for (const form of document.querySelectorAll("form[data-channel]")) handle(form, async (_, button) => {
  await ask("POST", `/v1/channels/${form.dataset.channel}/${button.value}`);
  if (button.value === "test") say("It was told.");
  else location.reload();
});

for (const form of document.querySelectorAll("form[data-dead]")) handle(form, async () => {
  await ask("POST", `/v1/dead-letters/${form.dataset.dead}/retry`);
  say("It is tried again.");
});

for (const form of document.querySelectorAll("form[data-notify]")) handle(form, async () => {
  if (!("Notification" in window)) throw new Error("This browser has no notifications.");
  if (await Notification.requestPermission() !== "granted") throw new Error("Your browser didn't allow them.");
  say("You will be told here.");
});

for (const form of document.querySelectorAll("form[data-role]")) handle(form, async () => {
  const { person, where } = form.dataset;
  const said = { where, role: form.elements.role.value || null, nonce: nonce() };
  const signature = await proof({ styx: "role/v1", person, ...said }, true);
  await ask("PUT", `/v1/people/${encodeURIComponent(person)}/role`, { ...said, signature });
  say("Changed.");
});

for (const form of document.querySelectorAll("form[data-key]")) handle(form, async () => {
  const key = form.dataset.key;
  const signature = await proof({ styx: "remove-key/v1", key }, true);
  await ask("POST", `/v1/keys/${key}/remove`, { signature });
  location.reload();
});
