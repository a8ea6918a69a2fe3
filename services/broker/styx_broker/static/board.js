import { ask, fragment, handle, live, proof, say } from "./page.js";

const place = document.getElementById("board");
const questions = document.getElementById("questions");

function bind() {
  place.querySelectorAll("form[data-revoke]").forEach((form) => handle(form, async () => {
    await ask("POST", `/v1/grants/${form.dataset.revoke}/revoke`, {});
    say("Revoked.");
    await look();
  }));
  place.querySelectorAll("form[data-extend]").forEach((form) => handle(form, async () => {
    const { extend: grant, until } = form.dataset;
    const signature = await proof({ styx: "extend/v1", grant, until }, "mfa" in form.dataset);
    await ask("POST", `/v1/grants/${grant}/extend`, { signature });
    say("It lives as long again.");
    await look();
  }));
  left();
}

async function reply(form, button) {
  const answer = button.value || form.elements.answer.value;
  await ask("POST", `/v1/questions/${form.dataset.answer}/answer`, { answer, note: form.elements.note?.value || null });
  say("Answered.");
  await look();
}

/** Questions that came or went; what stays is left alone, since somebody may be answering it. */
function compare(fresh) {
  const ids = (section) => new Map([...section.querySelectorAll("article")].map((each) => [each.id, each]));
  const [had, has] = [ids(questions), ids(fresh)];
  had.forEach((each, id) => { if (!has.has(id)) each.remove(); });
  has.forEach((each, id) => { if (!had.has(id)) questions.append(each); });
  questions.hidden = !has.size;
  answerable();
}

function answerable() {
  questions.querySelectorAll("form[data-answer]:not([data-bound])").forEach((form) => {
    form.dataset.bound = "";
    handle(form, reply);
  });
}

/** How long each grant still lives, beside its end. */
function left() {
  place.querySelectorAll("time[data-until]").forEach((time) => {
    const minutes = Math.max(0, Math.ceil((new Date(time.dateTime) - Date.now()) / 60000));
    time.textContent = minutes > 90 ? `${Math.round(minutes / 60)} h left` : `${minutes} min left`;
  });
}

async function look() {
  const page = await fragment(place.dataset.live);
  compare(page.getElementById("questions"));
  const open = place.querySelector("details")?.open;
  place.replaceChildren(...page.getElementById("board").childNodes);
  if (open) place.querySelector("details").open = true;
  bind();
}

bind();
answerable();
setInterval(left, 30000);
live(look);
