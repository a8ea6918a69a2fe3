import { ask, handle, proof } from "./page.js";
import { nonce } from "./signing.js";

for (const form of document.querySelectorAll("form[data-connect]")) handle(form, async () => {
  const { project, id, provider, method } = form.dataset;
  const about = { name: form.elements.name.value, provider, env: form.elements.env.value, nonce: nonce() };
  const config = {};
  for (const field of form.querySelectorAll("[data-field]")) if (field.value) config[field.name] = field.value;
  const signature = await proof({ styx: "target/v1", project, target: id, ...about }, true);
  await ask("POST", "/v1/targets", { id, project, method, config, box: null, ...about, signature });
  location.assign("/targets");
});
