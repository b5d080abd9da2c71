// The list of keys.

import { button, el } from "./dom.js";
import { areOff, KEYS, switchKeys } from "./keys.js";

export function show() {
  const dialog = el("dialog.keys", { "aria-label": "Keys" },
    el("h2", {}, "Keys"),
    el("dl", {}, KEYS.flatMap(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)])),
    el("label", {}, el("input", { type: "checkbox", checked: areOff(), onchange: (event) => switchKeys(event.target.checked) }), " single keys are off"),
    el("p", {}, button("Close", () => dialog.close())));
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}
