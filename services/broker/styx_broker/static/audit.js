import { ask, handle } from "./page.js";

const body = document.getElementById("entries");
const more = document.querySelector("form[data-more]");
const search = document.querySelector("form[data-search]");
const LIMIT = 50;
let oldest = null;

async function load(fresh) {
  const query = new URLSearchParams({ limit: LIMIT });
  if (search.elements.text.value) query.set("text", search.elements.text.value);
  if (!fresh && oldest !== null) query.set("before", oldest);
  const { entries } = await ask("GET", `/audit/entries?${query}`);
  const rows = entries.map(row);
  if (fresh) body.replaceChildren(...rows); else body.append(...rows);
  oldest = entries.at(-1)?.seq ?? oldest;
  more.hidden = entries.length < LIMIT;
  document.getElementById("found").textContent = body.children.length ? "" : "Nothing like that is in the log.";
}

/** Control and direction letters made visible, as everywhere in Styx. */
const visible = (text) => String(text ?? "").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
  (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

function row({ seq, entry }) {
  const line = document.createElement("tr");
  const open = document.createElement("button");
  open.className = "quiet";
  open.textContent = seq;
  open.setAttribute("aria-label", `entry ${seq} whole`);
  open.addEventListener("click", () => show(seq));
  const what = visible(entry.kind ?? entry.event ?? "").replace(/^styx\.v1\.evt\./, "");
  const cells = [open, visible(entry.at).slice(0, 19).replace("T", " "), what,
    visible(entry.actor), visible(entry.target), visible((entry.command ?? []).join(" "))];
  line.append(...cells.map((cell) => {
    const made = document.createElement("td");
    made.append(cell);
    return made;
  }));
  return line;
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
