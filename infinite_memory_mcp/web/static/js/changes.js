// Every change says what it did, and how to take it back.

import { call, callPage, explain } from "./api.js";
import { ask } from "./components.js";
import { h, icon } from "./dom.js";
import { count } from "./format.js";

const STAY = 9000;

/** What no undo reverses. */
const FINAL = new Set(["erase", "mask", "begin", "create key", "limit key", "revoke key"]);

/** Say something for a while at the foot of the page. `actions` is a list of `{label, run}`. */
export function toast(text, { actions = [], isError = false, stay = STAY } = {}) {
  const close = () => note.remove();
  const note = h("div", { class: isError ? "toast error" : "toast", role: isError ? "alert" : null },
    h("p", null, text),
    actions.map(({ label, run }) => h("button", { class: "quiet", onclick: () => { close(); run(); } }, label)),
    h("button", { class: "bare", "aria-label": "Close this note", onclick: close }, icon("close")));
  const list = document.querySelector("#toasts");
  list.append(note);
  while (list.children.length > 3) list.firstChild.remove();
  let timer;
  const wait = () => { timer = setTimeout(close, isError ? stay * 2 : stay); };
  // Whoever reads or reaches for a button has time for it.
  for (const enter of ["pointerenter", "focusin"]) note.addEventListener(enter, () => clearTimeout(timer));
  for (const leave of ["pointerleave", "focusout"]) note.addEventListener(leave, wait);
  wait();
  return note;
}

/** Say why something did not work. */
export const complain = (error) => toast(explain(error), { isError: true });

const isChanged = () => dispatchEvent(new CustomEvent("memory-changed"));

/** Take back an entry of the journal, and offer to do it again. */
export async function undo(entry, sentence = "Taken back.") {
  try {
    const undone = await call("undo", { entry });
    isChanged();
    toast(sentence, { actions: [{ label: "Do it again", run: () => undo(undone.entry, "Done again.") }] });
    return undone;
  } catch (error) {
    complain(error);
    return null;
  }
}

/**
 * Note in `undone` which entries are taken back; `entries` are the newest first. An undo that was itself taken back takes
 * back nothing.
 */
export function markUndone(entries, undone) {
  for (const { number, undoes } of entries) if (undoes && !undone.has(number)) undone.set(undoes, number);
}

/** Whether an entry did again what another one had taken back. */
export const isDoneAgain = ({ undoes }, entries) => entries.some(({ number, operation }) => number === undoes && operation === "undo");

export const isFinal = ({ operation }) => FINAL.has(operation);

/** Undo an entry; of one that changed several memories, say first what that does. */
export async function takeBack(entry) {
  if (entry.memories.length < 2) return undo(entry.number, "Taken back.");
  try {
    const plan = await call("undo", { entry: entry.number, dry_run: true });
    const sure = await ask("Take this back?", [h("p", null, sayPlan(plan)),
      plan.skipped.length > 0 && h("p", { class: "hint" }, `${count(plan.skipped.length, "later change")} on top of it stay.`)], { yes: "Take it back" });
    return sure && undo(entry.number, "Taken back.");
  } catch (error) {
    return complain(error);
  }
}

function sayPlan({ changes, memories }) {
  const forgotten = changes.filter(({ after }) => after?.status === "forgotten").length;
  const others = memories.length - forgotten;
  return [forgotten && `${count(forgotten, "memory", "memories")} will be forgotten`, others && `${count(others, "memory", "memories")} will be as before`].filter(Boolean).join(", ").concat(". You can do it again afterwards.");
}

/**
 * Run a method that changes something, and say `sentence` with Undo; it may be a function of the value. `final` is for
 * what has no undo; `settle` is called in place of the word that somebody else changed it first. Returns the value, or null
 * after an error, which was said.
 */
export async function change(method, parameters, sentence, { final = false, settle } = {}) {
  try {
    const { value, entry } = await callPage(method, parameters);
    isChanged();
    const words = typeof sentence === "function" ? sentence(value) : sentence;
    toast(words, { actions: entry && !final ? [{ label: "Undo", run: () => undo(entry) }] : [] });
    return value ?? {};
  } catch (error) {
    if (settle && error.kind === "Conflict") await settle(error).catch(complain);
    else complain(error);
    return null;
  }
}
