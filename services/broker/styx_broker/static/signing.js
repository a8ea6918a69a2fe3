// What a person signs, made from what the page showed them: the same canonical JSON that `grants`
// makes from its own rows (styx_core.signing). A passkey signs its SHA-256; what needs no passkey is
// signed by the key that this browser made at sign-in, which can't be taken out of it.

const encoder = new TextEncoder();

export const canonical = (value) => JSON.stringify(sorted(value)).replace(
  /[\u0080-\uffff]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((k) => [k, sorted(value[k])]));
}

export const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
export const digest = (text) => crypto.subtle.digest("SHA-256", encoder.encode(text));
export const hex = (bytes) => [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, "0")).join("");
export const nonce = () => base64url(crypto.getRandomValues(new Uint8Array(16)));

/** A passkey's signature over a payload. */
export async function byPasskey(payload) {
  const made = await navigator.credentials.get({ publicKey: {
    challenge: await digest(payload), rpId: location.hostname, userVerification: "required" } });
  return {
    credential_id: base64url(made.rawId),
    client_data: base64url(made.response.clientDataJSON),
    authenticator_data: base64url(made.response.authenticatorData),
    signature: base64url(made.response.signature),
  };
}

/** A new passkey for a person, made with a payload. */
export async function newPasskey(person, label, payload) {
  const made = await navigator.credentials.create({ publicKey: {
    rp: { id: location.hostname, name: "Styx" },
    // A handle of its own: one with the person's name would replace their passkey of another Styx on
    // the same host, for authenticators keep one passkey a handle.
    user: { id: crypto.getRandomValues(new Uint8Array(32)), name: person, displayName: person },
    challenge: await digest(payload),
    pubKeyCredParams: [{ type: "public-key", alg: -8 }, { type: "public-key", alg: -7 },
      { type: "public-key", alg: -257 }],
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    attestation: "none" } });
  return { label, client_data: base64url(made.response.clientDataJSON),
    attestation_object: base64url(made.response.attestationObject) };
}

const EC = { name: "ECDSA", namedCurve: "P-256" };

/** A key for a new session: its public point in base64, and a way to keep it. */
export async function newSessionKey() {
  const pair = await crypto.subtle.generateKey(EC, false, ["sign", "verify"]);
  const point = base64(await crypto.subtle.exportKey("raw", pair.publicKey));
  return { point, keep: (session) => store("put", pair.privateKey, session) };
}

/** The session's signature over a payload; null where this browser lost its key. */
export async function bySession(session, payload) {
  const key = await store("get", session);
  if (!key) return null;
  const made = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, encoder.encode(payload));
  return { session, signature: base64url(made) };
}

export const forgetKeys = () => store("clear");

function store(what, ...values) {
  return new Promise((done, failed) => {
    const opening = indexedDB.open("styx", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
    opening.onerror = () => failed(opening.error);
    opening.onsuccess = () => {
      const asked = opening.result.transaction("keys", "readwrite").objectStore("keys")[what](...values);
      asked.onsuccess = () => done(asked.result);
      asked.onerror = () => failed(asked.error);
    };
  });
}
