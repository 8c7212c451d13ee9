// One memory: what it says, how it came and changed, what belongs to it, and what one can do about it.

import { ApiError, call, callPage } from "../api.js";
import { change, complain, isDoneAgain, isFinal, markUndone, takeBack, toast, undo } from "../changes.js";
import { ask, button, card, empty, marks, memoryLink, moment, section, tag } from "../components.js";
import { drawDifferences, listChanges } from "../differences.js";
import { fill, h } from "../dom.js";
import { count, isoDay, sayClient, sayDay, sayMoment, sayNumber, sayOperation, sayScope, sayWord, shortId, shorten, within } from "../format.js";
import { drawNeighbours } from "../neighbours.js";

export const title = "One memory";

/** A text of more characters is too long for a field and for a request. */
const EDITABLE = 300_000;

/** What a call answers, or `otherwise` if this key may not make it or it fails: a part must not take the page along. */
const attempt = (method, parameters, otherwise) => call(method, parameters).catch(() => otherwise);

export async function render(root, { id, session }) {
  const may = (method) => session.methods.includes(method);
  let answer;
  try {
    answer = await callPage("get", { memory_id: id });
  } catch (error) {
    if (error.kind !== "NotFound") throw error;
    const [entry] = await attempt("journal.entries", { memory_id: id, limit: 1 }, []);
    root.append(h("h1", { tabindex: "-1", class: "quiet-title" }, "This memory is gone"), empty("", "It was forgotten or erased, or this key may not see it.",
      entry && may("undo") && button("Bring it back", () => undo(entry.number, "Brought back."), { symbol: "undo" }), button("To Ask", () => { location.hash = "#/ask"; })));
    return;
  }
  const { value: memory, next } = answer;
  const [history, entries, related, usage, reads, conflicts, sources] = await Promise.all([
    attempt("journal.history", { id_or_key: id }, []),
    attempt("journal.entries", { memory_id: id, limit: 20 }, []),
    memory.status === "forgotten" ? [] : attempt("graph.related", { ids: [id], limit: 12 }, []),
    attempt("usage", { memory_id: id }, null),
    may("journal.reads") ? attempt("journal.reads", { memory_id: id, limit: 20 }, []) : [],
    memory.key && memory.status === "current" && may("journal.conflicts") ? attempt("journal.conflicts", { scope: memory.scope }, []) : [],
    Promise.all(memory.sources.slice(0, 8).map((source) => attempt("get", { memory_id: source }, null))),
  ]);
  const place = h("div", { class: "work" });
  fill(root, null, [
    h("p", { class: "crumb" }, h("a", { href: `#/ask?scope=${encodeURIComponent(memory.scope)}` }, sayScope(memory.scope)), " · ", sayWord(memory.kind), marks(memory)),
    h("h1", { class: "visually-hidden", tabindex: "-1" }, `Memory: ${shorten(memory.title || memory.text, 60)}`),
    h("article", { class: "whole" }, memory.title && h("p", { class: "card-title" }, memory.title), drawText(memory, next)),
    drawFacts(memory, usage, entries),
    drawConflict(memory, conflicts),
    h("div", { class: "row actions" }, drawActions(memory, { may, place })), place,
    drawHistory(memory, history),
    drawOrigin(memory, sources.filter(Boolean)),
    related.length > 0 && section("Belongs together", { aside: h("a", { href: `#/graph?id=${encodeURIComponent(id)}` }, "In the whole graph") }, drawNeighbours(memory, related)),
    drawReads(reads),
    drawEntries(entries, may)]);
}

/** The whole text of a memory, of which the server sends a part at a time; `say(characters)` hears how far it is. */
async function readWhole({ id, revision, cut, text }, say = () => {}) {
  if (!cut?.text) return text;
  const parts = [];
  let from = 0;
  do {
    const { value, next } = await callPage("get", { memory_id: id, whole: true, ...(from && { from }) });
    if (value.revision !== revision) throw new ApiError("Conflict", "somebody changed this memory meanwhile: open it again");
    parts.push(value.text);
    from = next;
    say(from ?? cut.text);
  } while (from);
  return parts.join("");
}

/** Hand over a text as a file. */
function save(text, name) {
  const href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/** The text; what the server has cut is read on, page by page, or saved as a file. */
function drawText(memory, next) {
  const words = h("p", { class: memory.text.length > 280 ? "words long" : "words", dir: "auto" }, memory.text || "(empty)");
  if (!next) return words;
  let from = next;
  const total = memory.cut?.text ?? 0;
  const label = () => `Read on: ${sayNumber(from)} of ${count(total, "character")} are here`;
  const more = button(label(), async () => {
    more.disabled = true;
    const page = await callPage("get", { memory_id: memory.id, from }).catch(complain);
    more.disabled = false;
    if (!page?.value) return;
    words.append(page.value.text);
    from = page.next;
    if (from) more.textContent = label();
    else more.remove();
  }, { kind: "quiet" });
  const whole = button("Save all of it as a file", async () => {
    whole.disabled = true;
    const say = (done) => { whole.textContent = `Reading, ${Math.floor((100 * done) / total)} %`; };
    await readWhole(memory, say).then((text) => save(text, `${shortId(memory.id)}.txt`), complain);
    Object.assign(whole, { disabled: false, textContent: "Save all of it as a file" });
  }, { kind: "bare" });
  return [words, h("div", { class: "row" }, more, whole)];
}

function drawFacts(memory, usage, entries) {
  const first = entries.findLast((entry) => entry.memories.some(({ id, before }) => id === memory.id && before === 0));
  const isLate = Math.abs(new Date(memory.happened_at) - new Date(memory.stored_at)) > 90_000;
  const rows = [
    ["Told", [moment(memory.happened_at), memory.speaker && ` by ${memory.speaker}`, first && `, through ${sayClient(first.client)}`]],
    isLate && [memory.revision > 1 ? "Changed" : "Stored", moment(memory.stored_at)],
    memory.valid_from && ["Holds from", moment(memory.valid_from, sayDay)],
    memory.valid_to && ["Holds until", moment(memory.valid_to)],
    memory.key && ["Key", memory.key],
    memory.tags.length > 0 && ["Tags", memory.tags.map((each) => [h("a", { href: `#/ask?tag=${encodeURIComponent(each)}` }, `#${each}`), " "])],
    usage?.count > 0 && ["Recalled", [count(usage.count, "time"), usage.last && [", last ", moment(usage.last, within(sayMoment))]]],
    ["Id", h("code", { title: memory.id }, shortId(memory.id))],
  ];
  return h("dl", { class: "facts" }, rows.filter(Boolean).map(([name, words]) => [h("dt", null, name), h("dd", null, words)]));
}

/** What other facts of the same key say otherwise, and where to settle it. */
function drawConflict({ id }, conflicts) {
  const others = conflicts.find((group) => group.some((each) => each.id === id))?.filter((each) => each.id !== id) ?? [];
  return others.length > 0 && h("p", { class: "under contradicted" }, tag("contradicted", { kind: "warn" }), " Another one says: ",
    others.map((each, at) => [at > 0 && "; ", h("a", { href: memoryLink(each.id) }, shorten(each.text, 90))]), " ", h("a", { href: "#/settle" }, "Settle it"));
}

// --- What one can do ---

/** The buttons of what one can do about a memory; a form opens in `place`, and `may(method)` says what this key may. */
export function drawActions(memory, { may, place }) {
  const isForgotten = memory.status === "forgotten";
  const open = (draw) => async () => {
    try {
      const isWhole = draw === drawEditor && memory.cut?.text <= EDITABLE;
      const shown = isWhole ? { ...memory, text: await readWhole(memory), cut: null } : memory;
      place.replaceChildren(draw(shown, () => place.replaceChildren()));
      place.querySelector("textarea, input")?.focus();
    } catch (error) {
      complain(error);
    }
  };
  const isOver = memory.valid_to && new Date(memory.valid_to) <= new Date();
  return [
    may("revise") && !isForgotten && button("Edit", open(drawEditor), { symbol: "edit", title: "Change its text or its tags" }),
    may("revise") && !isForgotten && button("Wrong", open(drawWrong), { symbol: "close", title: "It is not so: say what is right, or forget it" }),
    may("revise") && memory.status === "current" && !isOver && button("No longer", open(drawEnd), { symbol: "end", title: "It was so, and has ended" }),
    may("forget") && !isForgotten && button("Forget", () => change("forget", { memory_id: memory.id }, "Forgotten: no answer has it any more."), { symbol: "trash", title: "No answer has it any more; it can be brought back" }),
    isForgotten && may("revise") && button("Bring it back", () => change("revise", { memory_id: memory.id, revision: memory.revision, status: "current" }, "It is back."), { symbol: "undo" }),
    may("forget") && button("Forget for good", () => erase(memory), { kind: "bare danger-text", title: "Erase it; nothing brings it back" }),
    !(memory.cut?.text > EDITABLE) && button("Copy", () => readWhole(memory).then((text) => navigator.clipboard.writeText(text)).then(() => toast("Copied."), complain), { kind: "bare" }),
  ];
}

/** A form under the buttons: fields, what sends it, and a way out. `send(values)` answers null if it did not work. */
function drawForm(label, fields, buttons, close) {
  return h("form", { class: "sheet", "aria-label": label, data: { busy: "" }, onsubmit: (event) => event.preventDefault(), onkeydown: (event) => event.key === "Escape" && close() },
    fields, h("div", { class: "row" }, buttons, button("Cancel", close, { kind: "bare" })));
}

async function revise(memory, changes, sentence, close) {
  const form = document.querySelector(".sheet");
  delete form?.dataset.busy;
  const settle = async (error) => {
    const theirs = await call("get", { memory_id: memory.id });
    if (theirs.revision === memory.revision) throw error;
    form.prepend(drawBoth(theirs, changes, sentence, close));
  };
  form?.querySelector(".both")?.remove();
  const done = await change("revise", { memory_id: memory.id, revision: memory.revision, ...changes }, sentence, { settle });
  if (done) close();
  else if (form) form.dataset.busy = "";
}

/** What somebody else has stored meanwhile beside one's own, and the choice between them. */
function drawBoth(theirs, changes, sentence, close) {
  const mine = { ...theirs, ...changes };
  const side = (title, { text }, ...more) => h("div", { class: "option" }, h("h3", null, title), h("p", { class: "words", dir: "auto" }, shorten(text, 600)), more);
  const take = () => {
    close();
    dispatchEvent(new CustomEvent("memory-changed"));
  };
  return h("div", { class: "both", role: "alert" }, h("p", null, "It was changed meanwhile, elsewhere. Which one is to stay?"),
    h("div", { class: "options" },
      side("There now", theirs, h("p", { class: "meta" }, moment(theirs.stored_at), marks(theirs)), button("Take theirs", take)),
      side("Yours", mine, h("p", { class: "meta" }, listChanges(theirs, mine).join("; ")), button("Store mine over it", () => revise(theirs, changes, sentence, close), { kind: "primary" }))));
}

function drawEditor(memory, close) {
  const text = h("textarea", { id: "edit-text", value: memory.text, rows: Math.min(14, 3 + memory.text.length / 70), readonly: Boolean(memory.cut) });
  const tags = h("input", { id: "edit-tags", value: memory.tags.join(", "), size: 40 });
  // A field has other line ends than a text may have; what nobody touched is not sent.
  const before = text.value;
  const store = () => revise(memory, {
    ...(text.value !== before && { text: text.value }),
    tags: tags.value.split(",").map((each) => each.trim()).filter(Boolean),
  }, "Saved. The former text stays in the history.", close);
  text.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && store());
  return drawForm("Edit", [h("label", { for: "edit-text" }, "Text"), text,
    memory.cut && h("p", { class: "hint" }, "It is too long to be edited here. On the machine of the memory a file takes its place: ", h("code", null, `infinite-memory revise ${shortId(memory.id)} --text - < FILE`)), h("label", { for: "edit-tags" }, "Tags, with commas"), tags],
    button("Save", store, { kind: "primary", title: "Ctrl and Enter" }), close);
}

function drawWrong(memory, close) {
  const text = h("textarea", { id: "right-text", rows: Math.min(14, 3 + memory.text.length / 70), value: memory.cut ? "" : memory.text });
  const missing = h("p", { class: "error-line", role: "alert" });
  function correct() {
    const right = text.value.trim();
    if (right && right !== memory.text) return revise(memory, { text: right }, "Corrected.", close);
    missing.textContent = "It still says the same. Write here what is right.";
    return text.focus();
  }
  return drawForm("Wrong", [h("label", { for: "right-text" }, "What is right? It takes the place of this text, which stays in the history."), text, missing], [
    button("Correct it", correct, { kind: "primary" }),
    button("It was never true: forget it", async () => {
      delete text.form.dataset.busy;
      await change("forget", { memory_id: memory.id }, "Forgotten.");
    }),
  ], close);
}

function drawEnd(memory, close) {
  const today = isoDay(new Date());
  const day = h("input", { id: "end-day", type: "date", value: today });
  const text = h("textarea", { id: "now-text", rows: 2, placeholder: "May stay empty" });
  async function end() {
    const at = day.value && day.value !== today ? new Date(`${day.value}T00:00`) : new Date();
    if (!text.value.trim()) return revise(memory, { valid_to: at.toISOString() }, `It no longer holds, since ${sayDay(at)}.`, close);
    delete text.form.dataset.busy;
    const { kind, scope, tags, key } = memory;
    const stored = await change("remember", { text: text.value.trim(), kind, scope, tags, ...(key && { key }), supersedes: [memory.id], happened_at: at.toISOString() }, "Stored; it takes the place of this one.");
    if (stored?.id) location.hash = `#/memory/${encodeURIComponent(stored.id)}`;
    else text.form.dataset.busy = "";
    return null;
  }
  return drawForm("No longer", [h("label", { for: "end-day" }, "Since when does it no longer hold?"), day, h("label", { for: "now-text" }, "What holds now?"), text],
    button("End it", end, { kind: "primary" }), close);
}

/** Erase for good, once somebody has read what that takes along. */
async function erase(memory) {
  const [history, links] = await Promise.all([attempt("journal.history", { id_or_key: memory.id }, []), attempt("graph.links", { memory_id: memory.id }, [])]);
  const own = history.filter(({ id }) => id === memory.id).length || memory.revision;
  const summaries = links.filter(({ type, target }) => type === "derived_from" && target === memory.id).length;
  const lines = [
    `its text, in ${count(own, "revision")}, and what the search knows of it`,
    links.length && count(links.length, "link"),
    memory.attachments.length && count(memory.attachments.length, "attachment"),
    summaries && `the copies of its text in ${count(summaries, "summary", "summaries")}`,
  ].filter(Boolean);
  const yes = await ask("Forget this for good?", [
    h("p", { class: "words quoted" }, shorten(memory.text, 240)),
    h("p", null, "This erases:"), h("ul", { class: "bullets" }, lines.map((line) => h("li", null, line))),
    h("p", { class: "hint" }, "There is no undo for this, not even from the journal. Backups that exist still have it.")], { yes: "Erase it", kind: "danger" });
  if (!yes) return;
  const receipt = await change("forget", { memory_id: memory.id, hard: true }, ({ erased }) => `Erased for good: ${erased.map((each) => each.replace(memory.id, "").trim()).join(", ")}.`, { final: true });
  if (receipt) location.hash = "#/ask";
}

// --- How it came and changed ---

function drawHistory(memory, history) {
  if (history.length < 2) return null;
  const steps = history.map((revision, at) => {
    const before = history[at - 1];
    const others = before?.id === revision.id ? listChanges(before, revision) : [];
    const isSame = before?.text === revision.text;
    const isCut = revision.cut?.text || before?.cut?.text;
    return h("li", null,
      h("p", { class: "meta" }, drawTime(revision, memory),
        at === history.length - 1 && tag("now", { kind: "accent" })),
      !isSame && h("p", { class: "words" }, before ? drawDifferences(before.text, revision.text) : revision.text),
      isCut && h("p", { class: "under" }, isSame ? "Its beginning is the same; the texts are too long to be compared as a whole." : "Only the beginning is compared."),
      others.length > 0 && h("p", { class: "under" }, others.join("; ")));
  });
  return section("History", {}, h("ol", { class: "steps" }, steps.reverse()));
}

/** When a revision was stored; of another memory, from when until when it held. */
const drawTime = (revision, { id }) => (revision.id === id
  ? [moment(revision.revision === 1 ? revision.happened_at : revision.stored_at), revision.revision > 1 && h("span", null, `revision ${revision.revision}`)]
  : [h("span", null, moment(revision.valid_from ?? revision.happened_at, sayDay), revision.valid_to && [" until ", moment(revision.valid_to, within(sayDay))]), h("a", { href: memoryLink(revision.id) }, "the one before")]);

/** A value of the context; a list of words needs no brackets. */
function sayValue(value) {
  if (Array.isArray(value) && value.every((each) => typeof each !== "object")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function drawOrigin(memory, sources) {
  const context = Object.entries(memory.context).filter(([, value]) => value !== null && value !== "" && value?.length !== 0);
  if (!sources.length && !context.length && !memory.conversation_id) return null;
  const rows = [
    ...(memory.conversation_id ? [["conversation", memory.conversation_id]] : []),
    ...context.map(([name, value]) => [sayWord(name), sayValue(value)]),
  ];
  return section("Where it comes from", {},
    rows.length > 0 && h("dl", { class: "facts" }, rows.map(([name, value]) => [h("dt", null, name), h("dd", null, shorten(value, 300))])),
    sources.length > 0 && h("div", { class: "cards" }, sources.map((source) => card(source, { length: 220 }))));
}

function drawReads(reads) {
  if (!reads.length) return null;
  return section("Who was shown it", {}, h("ul", { class: "lines" }, reads.map((read) =>
    h("li", null, h("p", { class: "meta" }, moment(read.at), h("span", null, sayClient(read.actor.client)), h("span", null, sayWord(read.operation)))))));
}

function drawEntries(entries, may) {
  if (!entries.length) return null;
  const undone = new Map();
  markUndone(entries, undone);
  const line = (entry) => {
    const isUndone = undone.has(entry.number);
    const isAgain = isDoneAgain(entry, entries);
    const label = entry.operation === "undo" && !isAgain ? "Do it again" : "Undo";
    return h("li", { class: "row spread" },
      h("p", null, `${isAgain ? "Done again" : sayOperation(entry.operation)} `, h("span", { class: "soft" }, `by ${sayClient(entry.client)}, `, moment(entry.at, within(sayMoment))), isUndone && [" ", tag("taken back", { kind: "warn" })]),
      may("undo") && !isUndone && !isFinal(entry) && button(label, () => takeBack(entry), { kind: "bare", symbol: "undo", "aria-label": `${label}: entry ${entry.number}, ${entry.operation}` }));
  };
  return section("What was done to it", {}, h("ul", { class: "lines" }, entries.map(line)));
}
