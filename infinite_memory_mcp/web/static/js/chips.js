// The filters of a question, as chips that open a small list with a field.

import { h, icon } from "./dom.js";
import { sayNumber } from "./format.js";

const SHOWN = 60;

/**
 * A chip for one filter. `suggest()` answers `[[value, number of memories], ...]`, `say(value)` shows a value,
 * `choose(value)` gets what was chosen, or null. `type` "date" asks for a day, `hint` says what may be typed.
 */
export function chip({ label, value, suggest = () => [], say = String, choose, hint = "", type = "text", isFree = false }) {
  let menu = null;
  const toggle = h("button", { type: "button", "aria-expanded": "false", "aria-haspopup": "dialog", onclick: () => (menu ? close() : open()) },
    value ? `${label}: ${say(value)}` : label, icon("down"));
  const clear = value && h("button", { type: "button", class: "bare", "aria-label": `Remove the filter ${label}`, onclick: () => choose(null) }, icon("close"));
  const root = h("div", { class: value ? "chip on" : "chip", onkeydown: onKey, onfocusout: (event) => menu && !root.contains(event.relatedTarget) && event.relatedTarget && close() }, toggle, clear);

  const leave = (event) => !root.contains(event.target) && close();

  function close() {
    menu?.remove();
    menu = null;
    toggle.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", leave);
  }

  async function open() {
    const field = h("input", { type, "aria-label": hint || label, placeholder: hint || label, oninput: draw, spellcheck: "false" });
    const list = h("ul", { "aria-label": `Values of ${label}` });
    menu = h("div", { class: "chip-menu", role: "dialog", "aria-label": label }, field, list);
    root.append(menu);
    toggle.setAttribute("aria-expanded", "true");
    document.addEventListener("pointerdown", leave);
    field.focus();
    let values = [];

    function draw() {
      const typed = field.value.trim();
      const fitting = values.filter(([each]) => say(each).toLowerCase().includes(typed.toLowerCase())).slice(0, SHOWN);
      const rows = fitting.map(([each, number]) => option(each, say(each), number));
      if (isFree && typed && !fitting.some(([each]) => each === typed)) rows.unshift(option(typed, type === "date" ? "Choose this day" : typed));
      list.replaceChildren(...(rows.length ? rows : [h("li", { class: "hint" }, values.length || typed ? "Nothing of that name" : "")]));
    }

    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      list.querySelector("button")?.click();
    });
    try {
      values = await suggest();
    } finally {
      if (menu) draw();
    }
  }

  const option = (each, words, number) => h("li", null,
    h("button", { type: "button", onclick: () => { close(); choose(each); } }, h("span", null, words), number !== undefined && h("span", { class: "soft" }, sayNumber(number))));

  function onKey(event) {
    if (!menu) return;
    if (event.key === "Escape") {
      close();
      toggle.focus();
      event.stopPropagation();
    }
    const all = [...menu.querySelectorAll("input, li button")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    all[Math.max(0, Math.min(all.length - 1, all.indexOf(document.activeElement) + step))]?.focus();
  }

  return root;
}
