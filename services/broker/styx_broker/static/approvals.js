import { ask, fragment, handle, live, proof, say } from "./page.js";
import { canonical, digest, hex } from "./signing.js";

const MOST_AT_ONCE = 100;

function bind() {
  const forms = { decide, alike: approveAlike };
  for (const [name, act] of Object.entries(forms)) {
    place.querySelectorAll(`form[data-${name}]:not([data-bound])`).forEach((form) => {
      form.dataset.bound = "";
      handle(form, act);
    });
  }
}

async function decide(form, button) {
  const card = form.closest("article");
  if (button.value === "offer") return offer(form, card);
  const chosen = [...form.querySelectorAll("[name=scope]:checked")].map((each) => each.value);
  if (!chosen.length) throw new Error("Choose at least one scope, or deny.");
  await send(card, button.value, chosen, form.elements.duration.value, form.elements.reason.value);
}

async function offer(form, card) {
  const shown = JSON.parse(card.dataset.decision);
  const at = form.elements.instead.selectedOptions[0];
  const scopes = [...form.querySelectorAll("[name=offered]:checked")].map((each) => each.value);
  if (!scopes.length) throw new Error("Choose what to offer.");
  const duration = form.elements["offered-duration"].value;
  const payload = { styx: "decision/v1", grant: shown.grant, verdict: "deny", target: shown.target,
    env: shown.env, scopes: shown.scopes, duration: shown.duration, command: shown.command,
    offer: { target: at.value, env: at.dataset.env, scopes, duration } };
  const weak = at.dataset.env !== "prod" || scopes.join() === "read";
  const decision = { verdict: "deny", scopes: shown.scopes, duration: shown.duration,
    reason: form.elements.reason.value || null, offer: { target: at.value, scopes, duration } };
  const path = `/v1/grants/${shown.grant}/decision`;
  try {
    await ask("POST", path, { ...decision, signature: await proof(payload, !weak) });
  } catch (error) {
    if (!weak || !error.message.includes("passkey")) throw error;
    await ask("POST", path, { ...decision, signature: await proof(payload, true) });
  }
  say("Denied, and offered.");
  await look();
}

async function send(card, verdict, chosen, duration, reason) {
  const shown = JSON.parse(card.dataset.decision);
  const approve = verdict === "approve";
  const scopes = approve ? shown.scopes.filter((s) => chosen.includes(s)) : shown.scopes;
  const until = approve ? duration : shown.duration;
  const payload = { styx: "decision/v1", grant: shown.grant, verdict, target: shown.target,
    env: shown.env, scopes, duration: until, command: shown.command };
  const signature = await proof(payload, approve && "mfa" in card.dataset);
  await ask("POST", `/v1/grants/${shown.grant}/decision`,
    { verdict, scopes, duration: until, reason: reason || null, signature });
  say(approve ? "Approved." : "Denied.");
  await look();
}

/** Approves what waits of one kind. Where a passkey is due, one touch signs the hashes of them all. */
async function approveAlike(form) {
  const kind = form.dataset.alike;
  const all = [...document.querySelectorAll("article[data-kind]")]
    .filter((card) => card.dataset.kind === kind).slice(0, MOST_AT_ONCE);
  const decisions = all.map((card) => ({ styx: "decision/v1", verdict: "approve", ...JSON.parse(card.dataset.decision) }));
  let prove = (decision) => proof(decision, false);
  if (all.some((card) => "mfa" in card.dataset)) {
    const each = await Promise.all(decisions.map(async (d) => hex(await digest(canonical(d)))));
    const signature = await proof({ styx: "batch/v1", each }, true);
    prove = () => ({ each, signature });
  }
  for (const decision of decisions) {
    const { verdict, scopes, duration } = decision;
    await ask("POST", `/v1/grants/${decision.grant}/decision`, { verdict, scopes, duration, signature: await prove(decision) });
  }
  say(`${all.length} approved.`);
  await look();
}

const place = document.getElementById("cards");
const title = document.title;

/** Bring the cards up to date, and leave alone what somebody is just working at. */
async function look() {
  const page = await fragment(place.dataset.live);
  const fresh = page.getElementById("cards") ?? page.body;
  const states = new Map([...place.querySelectorAll("article")].map((a) => [a.id, a]));
  for (const card of fresh.querySelectorAll("article")) {
    const old = states.get(card.id);
    if (old?.dataset.state === card.dataset.state) card.replaceWith(old);
  }
  const focus = document.activeElement;
  place.replaceChildren(...fresh.childNodes);
  if (focus && place.contains(focus)) focus.focus({ preventScroll: true });
  bind();
  count();
}

let waited = null;

/** Tell of new requests where the person allowed it; what they ask for is only on the page. */
function notify(waits) {
  const more = waited !== null && waits > waited;
  waited = waits;
  if (!more || !document.hidden || window.Notification?.permission !== "granted") return;
  const shown = new Notification("Styx", { body: waits === 1 ? "One request waits." : `${waits} requests wait.`, tag: "styx" });
  shown.onclick = () => { window.focus(); shown.close(); };
}

function count() {
  const waits = Number(place.querySelector("[data-count]")?.dataset.count ?? 0);
  notify(waits);
  document.title = waits ? `(${waits}) ${title}` : title;
  if (navigator.setAppBadge) (waits ? navigator.setAppBadge(waits) : navigator.clearAppBadge()).catch(() => {});
}

bind();
count();
live(look);
