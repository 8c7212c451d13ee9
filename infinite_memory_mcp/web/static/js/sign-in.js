// How one comes in: by the one-time code of `infinite-memory web`, which the address brings, or by an access key.

import { explain, signIn } from "./api.js";
import { h } from "./dom.js";

/** The form; `sentence` says why one is asked, and `enter` goes on once the key is accepted. */
export function renderSignIn(sentence, enter) {
  const field = h("input", { id: "key", type: "password", autocomplete: "current-password", required: true, spellcheck: "false", "aria-describedby": "sign-in-error" });
  const error = h("p", { id: "sign-in-error", class: "error-line", role: "alert" }, sentence ?? "");
  const send = h("button", { class: "primary" }, "Sign in");

  async function submit(event) {
    event.preventDefault();
    send.disabled = true;
    try {
      await signIn({ key: field.value.trim() });
      await enter();
    } catch (reason) {
      error.textContent = explain(reason);
      field.select();
    } finally {
      send.disabled = false;
    }
  }

  return h("div", { class: "sign-in" },
    document.querySelector(".brand svg").cloneNode(true),
    h("h1", null, "Your memory"),
    h("p", { class: "lead" }, "What your assistants know of you, to read, correct and take back."),
    h("form", { onsubmit: submit },
      h("label", { for: "key" }, "Access key"), field, error, send),
    h("p", { class: "hint" }, "Is this memory on your own computer? Then run ", h("code", null, "infinite-memory web"), ": it opens this page and signs you in."));
}
