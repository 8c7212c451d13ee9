// The parts that every view is made of.

import { explain } from "./api.js";
import { h, icon } from "./dom.js";
import { daysFromToday, sayDay, sayMoment, sayScope, sayWhole, sayWord, shorten } from "./format.js";

/** The head of a view: its title, a sentence, and what stands at the right. */
export const head = (title, sentence, ...aside) =>
  h("header", { class: "head" },
    h("div", null, h("h1", { tabindex: "-1" }, title), sentence && h("p", { class: "lead" }, sentence)),
    aside.length > 0 && h("div", { class: "aside" }, aside));

/** A part of a view with a heading of its own, and `aside` beside the heading. */
export function section(title, { aside, className = "" } = {}, ...children) {
  return h("section", { class: `part ${className}` }, h("div", { class: "part-head" }, h("h2", null, title), aside), children);
}

/** What stands where there is nothing: a calm sentence, and perhaps what to do. */
export const empty = (title, sentence, ...actions) =>
  h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), sentence && h("p", null, sentence), actions.length > 0 && h("div", { class: "row" }, actions));

/** What stands where something failed: why, and a way to try again. */
export const failure = (error, retry) =>
  h("div", { class: "empty failure", role: "alert" }, h("p", { class: "empty-title" }, "This did not work"), h("p", null, explain(error)),
    retry && button("Try again", retry));

/** Grey lines where a text will be. */
export const waiting = (lines = 3) =>
  h("div", { class: "waiting", role: "status", "aria-label": "Loading" }, Array.from({ length: lines }, () => h("span")));

/** A button with a text; `kind` is "", "primary", "quiet" or "danger". */
export const button = (label, run, { kind = "", symbol, ...attributes } = {}) =>
  h("button", { type: "button", class: kind, onclick: run, ...attributes }, symbol && icon(symbol), label);

/** A moment, in the viewer's words, with the whole of it as its title. */
export const moment = (value, say = sayMoment) => h("time", { datetime: value, title: sayWhole(value) }, say(value));

/** A small label. */
export const tag = (text, { kind = "", title } = {}) => h("span", { class: `tag ${kind}`, title }, text);

/** The address of a memory in this page. */
export const memoryLink = (id) => `#/memory/${encodeURIComponent(id)}`;

/** How well a memory fits a question, as five strokes. */
export function relevance(score) {
  const strokes = Math.max(1, Math.min(5, Math.ceil(score * 5)));
  const words = score >= 0.6 ? "a sure answer" : score >= 0.15 ? "may answer" : "only near";
  const label = `Relevance ${score.toFixed(2)}: ${words}`;
  return h("span", { class: "relevance", role: "img", "aria-label": label, title: label },
    Array.from({ length: 5 }, (_, at) => h("i", { class: at < strokes ? "on" : null })));
}

/** Whether nobody said it or stored it on purpose, nor accepted it since. */
const isBroughtIn = ({ context, origin, sources = [] }) => origin !== "user" && (origin === "import" || (origin === "tool" && !sources.length) || context?.brought_in === true);

/** The marks of a memory: what is not plainly a thing that its owner said and that holds. */
export function marks(memory) {
  const isOver = memory.valid_to && new Date(memory.valid_to) <= new Date();
  return [
    memory.important && tag("important", { kind: "accent" }),
    memory.status === "superseded" && tag("replaced", { kind: "warn", title: "A later memory says otherwise" }),
    memory.status === "current" && isOver && tag(`no longer, since ${sayDay(memory.valid_to)}`, { kind: "warn" }),
    memory.waits && tag("commands a model, waits in the inbox", { kind: "warn", title: "No conversation is told it unasked, until you take it in To settle" }),
    ["archived", "forgotten"].includes(memory.status) && tag(memory.status, { kind: "warn" }),
    isBroughtIn(memory) && tag("brought in", { title: "It came in unattended or by an import; nobody said it here" }),
    memory.origin === "dream" && tag("by the dreamer", { title: "The dreamer wrote it from other memories" }),
    memory.context?.inferred === "session" && !memory.important && tag("said in a session", { title: "It was read out of a session; nobody stored it on purpose" }),
    memory.attachments?.length > 0 && tag(memory.attachments.length === 1 ? "an attachment" : `${memory.attachments.length} attachments`),
  ];
}

/** The quiet line under a text: when, who, where, what. */
export const meta = (memory, ...more) =>
  h("p", { class: "meta" },
    memory.happened_at && moment(memory.happened_at),
    memory.speaker && h("span", null, memory.speaker),
    h("span", { title: memory.scope }, sayScope(memory.scope)),
    memory.kind !== "note" && h("span", null, sayWord(memory.kind)),
    (memory.tags ?? []).slice(0, 6).map((each) => h("span", { class: "hash" }, `#${each}`)),
    marks(memory), more);

/**
 * A memory as a card: its text leads to it. `extra` stands under the line of its date, `aside` at the right;
 * `text` replaces its text, and `length` is how much of it is shown.
 */
export function card(memory, { text, extra, aside, score, length = 420 } = {}) {
  const words = text ?? shorten(memory.text, length);
  const line = meta(memory);
  if (score !== undefined) line.prepend(relevance(score));
  return h("article", { class: "card", data: { id: memory.id } },
    h("div", { class: "card-body" },
      memory.title && h("p", { class: "card-title" }, memory.title),
      h("p", { class: "words" }, h("a", { href: memoryLink(memory.id), dir: "auto" }, words || "(empty)")),
      line, extra),
    aside && h("div", { class: "card-aside" }, aside));
}

/** A switch among a few choices, `[value, label]` each; `choose` gets the value. */
export function choices(label, options, chosen, choose) {
  return h("div", { class: "choices", role: "group", "aria-label": label },
    options.map(([value, words]) => h("button", { type: "button", "aria-pressed": String(value === chosen), onclick: () => choose(value) }, words)));
}

/** Ask something in a dialog, and return true for `yes`. `body` are elements or texts. */
export const ask = (title, body, { yes = "Yes", no = "Cancel", kind = "primary" } = {}) => new Promise((resolve) => {
  const dialog = h("dialog", { class: "dialog", "aria-label": title, onclose: () => { dialog.remove(); resolve(dialog.returnValue === "yes"); } },
    h("h2", null, title), body,
    h("div", { class: "row end" }, button(no, () => dialog.close("no")), button(yes, () => dialog.close("yes"), { kind })));
  document.body.append(dialog);
  dialog.showModal();
});

/** Let the arrows, Home and End walk through what `selector` finds in a list. */
export function walkable(list, selector = "a, button") {
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!step || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const all = [...list.querySelectorAll(selector)];
    const at = all.findIndex((each) => each.contains(document.activeElement));
    const next = all[Math.max(0, Math.min(all.length - 1, at + step))];
    if (!next || next === document.activeElement) return;
    next.focus();
    event.preventDefault();
  });
  return list;
}

/**
 * A long list of which the page holds only what is near the window. `more()` answers the next items and null after
 * the last one; `draw(item)` makes the element of one. Far items become a blank of their height.
 */
export function endlessList(draw, more, { label, page = 20 } = {}) {
  const list = walkable(h("div", { class: "cards", role: "feed", "aria-label": label, "aria-busy": "false" }), ".words a");
  const end = h("div", { class: "list-end" }, waiting(2));
  const root = h("div", null, list, end);
  const pages = new Map();
  let isReading = false;

  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) show(target, isIntersecting);
  }, { rootMargin: "1200px" });
  const ending = new IntersectionObserver(([entry]) => entry.isIntersecting && read(), { rootMargin: "800px" });

  function show(block, isNear) {
    if (isNear === (block.childElementCount > 0) || block.contains(document.activeElement)) return;
    if (isNear) block.replaceChildren(...pages.get(block).map(draw));
    else block.style.setProperty("min-height", `${block.offsetHeight}px`);
    if (isNear) block.style.removeProperty("min-height");
    else block.replaceChildren();
  }

  async function read() {
    if (isReading) return;
    isReading = true;
    let hasFailed = false;
    list.setAttribute("aria-busy", "true");
    try {
      const items = await more();
      if (!items?.length) {
        ending.disconnect();
        end.remove();
      }
      for (let at = 0; at < (items?.length ?? 0); at += page) {
        const block = h("div", { class: "cards block" });
        pages.set(block, items.slice(at, at + page));
        block.append(...pages.get(block).map(draw));
        list.append(block);
        seen.observe(block);
      }
    } catch (error) {
      hasFailed = true;
      ending.disconnect();
      end.replaceChildren(failure(error, () => { end.replaceChildren(waiting(2)); ending.observe(end); }));
    }
    list.setAttribute("aria-busy", "false");
    isReading = false;
    // What is read may not fill the window: then there is no new crossing to wait for. What failed waits for a person.
    if (end.isConnected && !hasFailed) { ending.unobserve(end); ending.observe(end); }
  }

  ending.observe(end);
  return root;
}

/** Group items by the words of a day: `[["Today", [...]], ...]`, in their order. */
export function byDay(items, read = (item) => item.at) {
  const groups = new Map();
  for (const item of items) {
    const name = Math.abs(daysFromToday(read(item))) > 300 ? new Date(read(item)).getFullYear().toString() : sayDay(read(item));
    groups.set(name, [...(groups.get(name) ?? []), item]);
  }
  return [...groups];
}
