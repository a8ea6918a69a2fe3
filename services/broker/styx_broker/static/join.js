import { ask, handle } from "./page.js";
import { canonical, digest, hex, newPasskey } from "./signing.js";
import { signIn } from "./signin.js";

const form = document.querySelector("form[data-join]");
handle(form, async () => {
  const code = location.hash.slice(1);
  if (!code) throw new Error("This address has lost its code: open the whole link, with what follows the #.");
  const person = form.elements.person.value;
  const code_sha256 = hex(await digest(code));
  const payload = canonical({ styx: "enrol/v1", person, code: code_sha256 });
  const key = await newPasskey(person, form.elements.label.value, payload);
  await ask("POST", "/v1/claim", { code, person, key });
  history.replaceState(null, "", location.pathname);
  await signIn();
  location.assign("/");
});
