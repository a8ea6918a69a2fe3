import { command, line, visible, what, when } from "./entries.js";
import { ask, handle } from "./page.js";

const body = document.getElementById("entries");
const more = document.querySelector("form[data-more]");
const search = document.querySelector("form[data-search]");
const LIMIT = 50;
search.elements.text.value = new URLSearchParams(location.search).get("text") ?? "";
let oldest = null;

async function load(fresh) {
  const query = new URLSearchParams({ limit: LIMIT });
  if (search.elements.text.value) query.set("text", search.elements.text.value);
  if (search.elements.project) query.set("project_id", search.elements.project.value);
  if (!fresh && oldest !== null) query.set("before", oldest);
  const { entries } = await ask("GET", `/audit/entries?${query}`);
  const rows = entries.map(row);
  if (fresh) body.replaceChildren(...rows); else body.append(...rows);
  oldest = entries.at(-1)?.seq ?? oldest;
  more.hidden = entries.length < LIMIT;
  document.getElementById("found").textContent = body.children.length ? "" : "Nothing like that is in the log.";
}

function row({ seq, entry }) {
  const open = document.createElement("button");
  open.className = "quiet";
  open.textContent = seq;
  open.setAttribute("aria-label", `entry ${seq} whole`);
  open.addEventListener("click", () => show(seq));
  return line([open, when(entry), what(entry), visible(entry.actor), visible(entry.target), command(entry)]);
}

async function show(seq) {
  const place = document.getElementById("entry");
  const whole = await ask("GET", `/audit/entries/${seq}`);
  place.querySelector("h2").textContent = `Entry ${seq}`;
  place.querySelector("code").textContent = visible(JSON.stringify(whole, null, 2).replaceAll("\n", "\u0001")).replaceAll("⟨U+0001⟩", "\n");
  place.hidden = false;
  place.querySelector("h2").focus();
}

handle(search, () => load(true));
handle(more, () => load(false));
load(true).catch((error) => {
  const wrong = search.querySelector(".wrong");
  wrong.textContent = error.message;
  wrong.hidden = false;
});
