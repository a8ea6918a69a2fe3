import { line, more, visible, what, when } from "./entries.js";
import { ask, handle, live } from "./page.js";

const body = document.getElementById("timeline");
const earlier = document.querySelector("form[data-more]");
const LIMIT = 50;
let oldest = null, newest = -1;

async function entries(before) {
  const query = new URLSearchParams({ limit: LIMIT, project_id: body.dataset.project, task_id: body.dataset.task });
  if (before !== null) query.set("before", before);
  return (await ask("GET", `/audit/entries?${query}`)).entries;
}

const by = (entry) => (entry.actor === body.dataset.task ? "the agent" : visible(entry.actor));

function row({ entry }) {
  const words = what(entry).replace(/^\w+\./, "").replaceAll("_", " ");
  const time = document.createElement("time");
  time.textContent = when(entry);
  return line([time, words, by(entry), visible(entry.target), more(entry)]);
}

async function back() {
  const found = await entries(oldest);
  body.append(...found.map(row));
  oldest = found.at(-1)?.seq ?? oldest;
  newest = Math.max(newest, found[0]?.seq ?? -1);
  earlier.hidden = found.length < LIMIT;
}

/** What was added since; more than one page of it begins the table anew. */
async function forth() {
  const found = (await entries(null)).filter(({ seq }) => seq > newest);
  if (found.length === LIMIT) { body.replaceChildren(); oldest = null; return back(); }
  body.prepend(...found.map(row));
  newest = found[0]?.seq ?? newest;
}

handle(earlier, back);
back().catch((error) => {
  const wrong = document.querySelector("main > .wrong");
  wrong.textContent = error.message;
  wrong.hidden = false;
});
if (body.dataset.live === "true") live(forth);
