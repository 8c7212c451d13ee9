// What only a person can decide. To have nothing here is the normal state.

import { call, PUT_OFF } from "../api.js";
import { change, toast } from "../changes.js";
import { button, card, empty, failure, head, memoryLink, moment, section, waiting } from "../components.js";
import { fill, h } from "../dom.js";
import { count, sayNumber, sayScope, sayWord, shorten } from "../format.js";

export const title = "To settle";

const MOST = 20;
const PATIENCE = 300;
const PROJECTS = 8;
const SWITCHED_OFF = "it is switched off";

/** The parts in their order: what they need to know, how they are read, and how one of them is drawn. */
const PARTS = [
  { title: "Which one holds?", hint: "These contradict each other. Choose one: it stays, the others are kept in its history.", needs: ["journal.conflicts"], load: loadConflicts, draw: drawConflict },
  { title: "Waits for a yes", hint: "It came in without you, and seems to command an assistant. Until you take it, it enters no conversation unasked.", needs: ["inbox.list"], load: () => call("inbox.list"), draw: drawWaiting },
  { title: "Is this done?", hint: "You told later that it happened.", needs: ["triggers.coming"], load: loadDone, draw: drawDone },
  { title: "Said in a session", hint: "Taken from what you said, not stored on purpose. What you keep counts fully.", needs: ["browse"], load: loadInferred, draw: drawInferred },
  { title: "May this come up by itself?", hint: "A reminder with a condition came from elsewhere, and does nothing until you allow it.", needs: ["triggers.list"], load: loadConditions, draw: drawCondition },
  { title: "Said twice", hint: "These say nearly the same. Keep one: the others stay in its history.", needs: ["graph.duplicates"], load: loadDuplicates, draw: drawConflict },
];

const choose = (session) => PARTS.filter(({ needs }) => needs.every((name) => session.methods.includes(name)));

/** Say how many things there are to settle; a part that cannot be read has none. */
function sayCount(numbers) {
  const total = numbers.filter(Number.isFinite).reduce((sum, each) => sum + each, 0);
  dispatchEvent(new CustomEvent("counted", { detail: total }));
  return total;
}

/** Count them without showing them. */
export const countAll = async (session) => sayCount(await Promise.all(choose(session).map((part) => part.load(session).then(({ length }) => length, () => 0))));

export async function render(root, { session }) {
  const mayWrite = session.methods.includes("revise");
  const parts = choose(session);
  const lead = h("span");
  const places = parts.map(() => h("div"));
  const wait = waiting(3);
  fill(root, null, [head("To settle", lead), places, wait]);
  const found = parts.map(async (part, at) => {
    try {
      const items = await part.load(session);
      if (items.length) places[at].append(drawPart(part, items, mayWrite));
      return items.length;
    } catch (error) {
      places[at].append(section(part.title, {}, failure(error)));
      return Infinity;
    }
  });
  const end = Promise.all(found).then((numbers) => {
    wait.remove();
    const total = sayCount(numbers);
    lead.textContent = total ? `${count(total, "thing")} that only you can decide, whenever you like.` : "";
    if (numbers.every((number) => number === 0)) root.append(empty("Nothing to settle", "When two facts contradict each other, or something was taken from what you said, it waits here for a word of yours."));
  });
  // What needs the model for the first time comes after the rest.
  await Promise.race([end, new Promise((resolve) => { setTimeout(resolve, PATIENCE); })]);
}

function drawPart(part, items, mayWrite) {
  const shown = items.slice(0, MOST);
  const rest = items.length - shown.length;
  return section(part.title, { className: "settle" }, h("p", { class: "hint" }, part.hint),
    h("div", { class: "cards" }, shown.map((item) => part.draw(item, mayWrite))),
    rest > 0 && h("p", { class: "hint" }, `and ${sayNumber(rest)} more after these.`));
}

/** The present revision of a memory, then a change of it; somebody else may have changed it since it was drawn. */
async function revise(id, changes, sentence) {
  const { revision } = await call("get", { memory_id: id });
  return change("revise", { memory_id: id, revision, ...changes }, sentence);
}

// --- Conflicts and duplicates ---

async function loadConflicts(session) {
  const groups = await call("journal.conflicts");
  const own = groups.map((memories) => ({ question: memories[0].key.replaceAll("/", " "), memories, key: memories[0].key }));
  if (!session.methods.includes("projects.get_decisions")) return own.filter(isDue);
  const counts = Object.entries(await call("scopes.count_memories")).filter(([name]) => name.startsWith("repo/"));
  const busiest = counts.sort(([, one], [, other]) => other - one).slice(0, PROJECTS);
  const decisions = await Promise.all(busiest.map(([name]) => call("projects.get_decisions", { repository: name.slice("repo/".length) }).catch(() => [])));
  return [...own, ...decisions.flatMap(pairDecisions)].filter(isDue);
}

/** The decisions in force that contradict each other, each pair once. */
function pairDecisions(decisions) {
  const byId = new Map(decisions.map((each) => [each.chunk.id, each]));
  const seen = new Set();
  const pairs = [];
  for (const { chunk, contradicts } of decisions) {
    const others = contradicts.filter((id) => byId.has(id) && !seen.has(id)).map((id) => byId.get(id).chunk);
    seen.add(chunk.id);
    if (others.length) pairs.push({ question: `${chunk.scope.split("/").at(-1)}: ${chunk.component ?? "which decision"}`, memories: [chunk, ...others].map((each) => ({ ...each, text: each.summary || each.content })) });
  }
  return pairs;
}

/** Groups of near duplicates, by the links that the upkeep stored. */
async function loadDuplicates() {
  return (await call("graph.duplicates", { limit: MOST })).map((memories) => ({ memories })).filter(isDue);
}

function drawConflict({ question, memories, key }, mayWrite) {
  const title = question ? `${question}?` : null;
  const pick = async (chosen) => {
    const begin = (memory) => new Date(memory.valid_from ?? memory.happened_at);
    const others = memories.filter(({ id }) => id !== chosen.id);
    // Nothing ends what began after it: that was never so.
    for (const { id } of others.filter((other) => begin(other) > begin(chosen))) await change("forget", { memory_id: id }, "The later one is forgotten.");
    const ended = others.filter((other) => begin(other) <= begin(chosen)).map(({ id }) => id);
    if (ended.length) await revise(chosen.id, { supersedes: ended }, `“${shorten(chosen.text, 60)}” holds.`);
  };
  return h("article", { class: "question", "aria-label": title ?? "These say the same" },
    title && h("h3", null, title),
    h("div", { class: "options" }, memories.map((memory) => h("div", { class: "option" },
      h("p", { class: "words", dir: "auto" }, shorten(memory.text, 240)),
      h("p", { class: "meta" }, moment(memory.happened_at), memory.speaker && h("span", null, memory.speaker), h("span", null, sayScope(memory.scope)), h("a", { href: memoryLink(memory.id) }, "Look")),
      mayWrite && button(question ? "This holds" : "Keep this one", () => pick(memory), { kind: "primary", symbol: "check", "aria-label": `${question ? "This holds" : "Keep this one"}: ${shorten(memory.text, 60)}` })))),
    mayWrite && h("div", { class: "row" }, key && button("Something else", (event) => writeAnother(event.target, memories), { kind: "bare" }),
      key && button("All of them hold", () => keepEach(memories), { kind: "bare" }),
      !question && button("Not the same", () => tellApart(memories), { kind: "bare" }),
      button("Later", () => putOff(memories), { kind: "bare", title: "For a week, in this browser, or until one of them changes" })));
}

/** Note at each two of them that they are not the same, so that they are not asked about again. */
async function tellApart(memories) {
  for (const [at, { id }] of memories.entries()) {
    for (const other of memories.slice(at + 1)) await change("graph.link", { source: other.id, target: id, reason: "not the same" }, "They stand side by side.");
  }
}

// --- What was put off ---

const WEEK = 7 * 24 * 3600_000;
const nameOf = (memories) => memories.map(({ id, revision }) => `${id}@${revision}`).sort().join(" ");

/** Until when questions were put off in this browser, by their memories; another revision is another question. */
const readPutOff = () => Object.fromEntries(Object.entries(JSON.parse(localStorage.getItem(PUT_OFF) ?? "{}")).filter(([, until]) => until > Date.now()));

const isDue = ({ memories }) => !(nameOf(memories) in readPutOff());

function putOff(memories) {
  localStorage.setItem(PUT_OFF, JSON.stringify({ ...readPutOff(), [nameOf(memories)]: Date.now() + WEEK }));
  const again = () => {
    const { [nameOf(memories)]: _, ...others } = readPutOff();
    localStorage.setItem(PUT_OFF, JSON.stringify(others));
    dispatchEvent(new CustomEvent("memory-changed"));
  };
  dispatchEvent(new CustomEvent("memory-changed"));
  toast("For later.", { actions: [{ label: "Undo", run: again }] });
}

/** Let each of them stand by itself: without its key a memory contradicts no other one of it. */
async function keepEach(memories) {
  for (const { id } of memories.slice(1)) await revise(id, { key: null }, "All of them hold now, each by itself.");
}

/** A field in the place of the button, for what holds instead of all of them. */
function writeAnother(opener, memories) {
  const [{ key, scope, kind, text }] = memories;
  const field = h("input", { "aria-label": "What holds instead", value: text, dir: "auto" });
  const store = async (event) => {
    event.preventDefault();
    if (!field.value.trim()) return;
    delete form.dataset.busy;
    const ids = memories.map(({ id }) => id);
    await change("remember", { text: field.value.trim(), key, scope, kind, supersedes: ids }, "Stored; the others are its history.");
  };
  const form = h("form", { class: "row instead", data: { busy: "" }, onsubmit: store, onkeydown: (event) => event.key === "Escape" && form.replaceWith(opener) },
    field, h("button", { class: "primary" }, "Store"), button("Cancel", () => form.replaceWith(opener), { kind: "bare" }));
  opener.replaceWith(form);
  field.select();
  field.focus();
}

// --- What came in by itself ---

function drawWaiting(memory, mayWrite) {
  return card(memory, {
    aside: mayWrite && [button("Take it", () => change("inbox.accept", { ids: [memory.id] }, "It is part of your memory now."), { kind: "quiet", symbol: "check", "aria-label": `Take it: ${shorten(memory.text, 60)}` }),
      button("No", () => change("inbox.reject", { ids: [memory.id] }, "It is forgotten."), { kind: "bare", "aria-label": `No: ${shorten(memory.text, 60)}` })],
  });
}

/** Statements that were found in sessions, and that nobody confirmed yet, the newest first. */
async function loadInferred() {
  const found = [];
  let after = null;
  for (let page = 0; page < 3 && found.length < MOST; page += 1) {
    const read = await call("browse", { kinds: ["fact"], limit: 100, ...(after && { after }) });
    found.push(...read.memories.filter((memory) => memory.context?.inferred === "session" && !memory.important));
    after = read.next;
    if (!after) break;
  }
  return found;
}

const keep = (memory) => revise(memory.id, { important: true }, `Kept: “${shorten(memory.text, 60)}”`);

function drawInferred(memory, mayWrite) {
  return card(memory, {
    aside: mayWrite && [button("Keep", () => keep(memory), { kind: "quiet", symbol: "check", "aria-label": `Keep: ${shorten(memory.text, 60)}` }),
      button("Forget", () => change("forget", { memory_id: memory.id }, "Forgotten."), { kind: "bare", "aria-label": `Forget: ${shorten(memory.text, 60)}` })],
  });
}

// --- Reminders ---

async function loadDone() {
  return (await call("triggers.coming")).days.filter((day) => day.when === "done" && day.told_by);
}

function drawDone(day, mayWrite) {
  return card(day, {
    extra: h("p", { class: "under" }, "You told: ", h("a", { href: memoryLink(day.told_by.id) }, shorten(day.told_by.text, 120))),
    aside: mayWrite && [button("Done", () => change("triggers.done", { memory_id: day.id }, "Done."), { kind: "quiet", symbol: "check" }),
      button("Still open", () => change("triggers.done", { memory_id: day.id, state: "open" }, "Still open."), { kind: "bare" })],
  });
}

async function loadConditions() {
  return (await call("triggers.list")).filter((each) => !each.enabled && each.disabled_because !== SWITCHED_OFF);
}

function drawCondition(memory, mayWrite) {
  const where = { conversation_id: memory.conversation_id, scope: memory.scope };
  return h("article", { class: "card" },
    h("div", { class: "card-body" },
      memory.name !== memory.prompt && h("p", { class: "card-title" }, sayWord(memory.name)), h("p", { class: "words", dir: "auto" }, shorten(memory.prompt, 240)),
      h("p", { class: "under" }, `Off: ${memory.disabled_because}.`),
      h("details", null, h("summary", null, "When it would come up"), h("pre", null, JSON.stringify(memory.trigger.condition, null, 1)))),
    mayWrite && h("div", { class: "card-aside" },
      button("Allow", () => change("triggers.enable", { names: [memory.name], ...where }, "It comes up by itself now."), { kind: "quiet", symbol: "check" }),
      button("Delete", () => change("triggers.delete", { name: memory.name, ...where }, "Deleted."), { kind: "bare" })));
}
