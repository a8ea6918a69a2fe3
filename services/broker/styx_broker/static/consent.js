import { ask, handle } from "./page.js";

for (const form of document.querySelectorAll("form[data-consent]")) handle(form, async (_, button) => {
  const said = { approve: button.value === "approve", project: form.elements.project?.value || null };
  const { location: where } = await ask("POST", location.pathname + location.search, said);
  location.assign(where);
});
