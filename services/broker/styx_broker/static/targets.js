import { ask, handle } from "./page.js";

for (const form of document.querySelectorAll("form[data-check]")) handle(form, async () => {
  const said = await ask("POST", `/v1/targets/${form.dataset.check}/check`);
  const place = form.closest("article").querySelector(".health");
  const word = said.ok ? "works" : said.expired ? "refused by its provider" : "not known";
  place.textContent = `${word}: ${said.detail}`;
});
