import { ask, handle } from "./page.js";
import { byPasskey, canonical, newSessionKey } from "./signing.js";

/** Sign this browser in with a passkey. */
export async function signIn() {
  const { nonce } = await ask("POST", "/v1/signin/nonce");
  const key = await newSessionKey();
  const assertion = await byPasskey(canonical({ styx: "signin/v1", nonce, session_key: key.point }));
  const made = await ask("POST", "/v1/signin", { nonce, session_key: key.point, assertion });
  await key.keep(made.session);
}

const form = document.querySelector("form[data-signin]");
if (form) handle(form, async () => {
  await signIn();
  location.assign(form.dataset.next);
});
