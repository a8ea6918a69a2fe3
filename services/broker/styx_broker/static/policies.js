import { ask, handle, proof } from "./page.js";
import { digest, hex, nonce } from "./signing.js";

for (const form of document.querySelectorAll("form[data-policy]")) handle(form, async () => {
  const project = form.dataset.policy;
  const said = { toml: form.elements.toml.value, nonce: nonce() };
  const payload = { styx: "policy/v1", project, sha256: hex(await digest(said.toml)), nonce: said.nonce };
  await ask("PUT", `/v1/projects/${project}/policy`, { ...said, signature: await proof(payload, true) });
  location.reload();
});
