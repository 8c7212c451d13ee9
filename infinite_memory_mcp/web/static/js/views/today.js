// Today: what is due, what comes, what was told since yesterday, and where one stopped.

import { call } from "../api.js";
import { change, complain } from "../changes.js";
import { button, card, empty, head, memoryLink, meta, moment, section, tag, walkable } from "../components.js";
import { fill, h } from "../dom.js";
import { count, daysFromToday, isoDay, midnight, sayAgo, sayClient, sayDay, sayMoment, sayTime, sayWord, shorten } from "../format.js";

export const title = "Today";

const AHEAD = 14 * 86_400;
const DAY = 86_400_000;
const MOST_PROJECTS = 6;
const MOST_TOLD = 5;
const PATIENCE = 300;
const WHOLE_DAY = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" });

// The parts of a briefing that this page does not show in another way, in its order.
const PARTS = { open: "Still open", holds: "Holds now", sessions: "Where you stopped", patterns: "What recurs", conversation: "Of this conversation", user: "About you" };

const attempt = (method, parameters, otherwise) => call(method, parameters).catch(() => otherwise);

export async function render(root, { session }) {
  const may = (method) => session.methods.includes(method);
  const yesterday = midnight(new Date(), -1);
  const unsettled = h("div");
  const [coming, today, briefing, told, entries, counts] = await Promise.all([
    call("triggers.coming", { within: AHEAD }),
    call("times.read", { time: isoDay(new Date()), argument: "since" }),
    attempt("briefing", { budget: 1500 }, { sections: [] }),
    attempt("browse", { since: yesterday.toISOString(), until: new Date(Date.now() + 60_000).toISOString(), limit: 60 }, { memories: [] }),
    attempt("journal.entries", { limit: 100 }, []),
    attempt("scopes.count_memories", {}, {}),
    Promise.race([loadUnsettled(unsettled), new Promise((resolve) => { setTimeout(resolve, PATIENCE); })]),
  ]);
  const projects = await readProjects(counts);
  const days = coming.days.map((day) => placeDay(day, new Date(today) - midnight(new Date())));
  const of = (...places) => days.filter(({ when }) => places.includes(when));
  const due = of("overdue", "today");
  const done = of("done");
  const ahead = of("ahead");
  const stored = told.memories.filter(({ kind }) => kind !== "reminder");

  fill(root, null, [
    head(WHOLE_DAY.format(new Date()), sumUp(due, stored)),
    due.length > 0 && section("Due", {}, h("ul", { class: "days" }, due.map((day) => drawDue(day, may)))),
    done.length > 0 && section("Probably done", {}, h("ul", { class: "days" }, done.map((day) => drawDone(day, may)))),
    ahead.length > 0 && section("Coming", {}, h("ul", { class: "days" }, ahead.slice(0, 20).map((day) => drawAhead(day, may)))),
    unsettled,
    drawTold(stored, entries),
    projects.length > 0 && section("Projects", {}, h("div", { class: "tiles" }, projects.map(drawProject))),
    briefing.sections.filter(({ part }) => PARTS[part]).map(drawPart),
    isEmpty(due, ahead, stored, briefing) && empty("A quiet day", "Nothing is due and nothing was told since yesterday. What you tell your assistant appears here.")]);
  walkable(root, ".words a, .days a, .days button, .lines a");
}

/**
 * A day where the viewer is. A whole day begins at the midnight of the store, which is `ahead` milliseconds after that of
 * the viewer, and is the same date for both; a clock that is changed in between moves it by an hour.
 */
function placeDay(day, ahead) {
  const at = day.is_timed ? day.at : midnight(new Date(new Date(day.at) - ahead + DAY / 2)).toISOString();
  const isDue = ["overdue", "today", "ahead"].includes(day.when);
  return { ...day, at, when: isDue ? ["overdue", "today", "ahead"][1 + Math.sign(daysFromToday(at))] : day.when };
}

/** Facts that contradict each other come when they are found: that goes through every fact with a key. */
async function loadUnsettled(place) {
  const conflicts = await attempt("journal.conflicts", {}, []);
  if (conflicts.length) place.append(section("Two say different things", { aside: h("a", { href: "#/settle" }, "Settle") },
    h("ul", { class: "lines" }, conflicts.slice(0, 3).map((group) => h("li", null, group.map(({ text }) => shorten(text, 70)).join(" — or — "))))));
}

const isEmpty = (...parts) => parts.every((part) => (part.sections ?? part).length === 0);

function sumUp(due, stored) {
  const overdue = due.filter(({ when }) => when === "overdue").length;
  const parts = [
    due.length > 0 && `${count(due.length, "thing is", "things are")} due${overdue ? `, ${overdue} of them overdue` : ""}`,
    stored.length > 0 && `${count(stored.length, "memory was", "memories were")} told since yesterday`,
  ].filter(Boolean);
  return parts.length ? `${parts.join("; ")}.` : "Nothing is due.";
}

const words = (day) => h("a", { href: memoryLink(day.id) }, shorten(day.title || day.text, 160));

function when(day) {
  return h("span", { class: "day" }, moment(day.at, sayDay), day.is_timed && h("span", { class: "soft" }, sayTime(day.at)));
}

function drawDue(day, may) {
  const isReminder = day.kind === "reminder";
  return h("li", { class: day.when === "overdue" ? "overdue" : null }, when(day),
    h("div", null, h("p", { class: "words" }, words(day)), meta({ ...day, happened_at: null, kind: "note" }, day.when === "overdue" && tag("overdue", { kind: "bad" }), day.recurs && tag("comes again"))),
    isReminder && h("div", { class: "row" },
      may("triggers.done") && button("Done", () => setDone(day, "done", "Done."), { symbol: "check" }),
      may("revise") && !day.recurs && button("Tomorrow", () => putOff(day, 1), { kind: "bare" }),
      may("revise") && !day.recurs && button("Next week", () => putOff(day, 7), { kind: "bare" })));
}

const setDone = (day, state, sentence) => change("triggers.done", { memory_id: day.id, state }, sentence);

/** Move a reminder to the same time of another day. */
async function putOff(day, days) {
  const to = midnight(new Date(), days);
  const at = new Date(day.at);
  if (day.is_timed) to.setHours(at.getHours(), at.getMinutes());
  try {
    // A whole day begins where the store is.
    const from = day.is_timed ? to.toISOString() : isoDay(to);
    await change("revise", { memory_id: day.id, revision: day.revision, valid_from: from }, `It comes again: ${(day.is_timed ? sayMoment : sayDay)(to)}.`);
  } catch (error) {
    complain(error);
  }
}

function drawDone(day, may) {
  return h("li", null, when(day), h("div", null, h("p", { class: "words" }, words(day)), day.told_by && h("p", { class: "under" }, "You told: ", h("a", { href: memoryLink(day.told_by.id) }, shorten(day.told_by.text, 110)))),
    may("triggers.done") && h("div", { class: "row" }, button("Yes, done", () => setDone(day, "done", "Done."), { symbol: "check" }), button("Still open", () => setDone(day, "open", "It is open again."), { kind: "bare" })));
}

const drawAhead = (day, may) => h("li", null, when(day), h("div", null, h("p", { class: "words" }, words(day)), meta({ ...day, happened_at: null })),
  day.kind === "reminder" && may("triggers.done") && h("div", { class: "row" }, button("Done", () => setDone(day, "done", "Done."), { kind: "bare", symbol: "check" })));

/** What was told since yesterday, by the client that stored it. */
function drawTold(memories, entries) {
  if (!memories.length) return null;
  const clients = new Map();
  for (const entry of entries) for (const { id, before } of entry.memories) if (before === 0) clients.set(id, entry.client);
  const groups = new Map();
  for (const memory of memories) {
    const client = clients.has(memory.id) ? sayClient(clients.get(memory.id)) : "earlier";
    groups.set(client, [...(groups.get(client) ?? []), memory]);
  }
  const aside = h("a", { href: `#/ask?when=${encodeURIComponent("since yesterday")}` }, "All of it");
  return section("Told since yesterday", { aside }, [...groups].map(([client, all]) => [
    h("h3", { class: "by" }, client === "earlier" ? "Stored earlier" : `Through ${client}`),
    h("div", { class: "cards" }, all.slice(0, MOST_TOLD).map((memory) => card(memory, { length: 200 }))),
    all.length > MOST_TOLD && h("p", { class: "hint" }, `and ${all.length - MOST_TOLD} more`)]));
}

/** The projects, by what was done last. */
async function readProjects(counts) {
  const names = Object.keys(counts).filter((name) => name.startsWith("repo/")).slice(0, 3 * MOST_PROJECTS);
  const found = await Promise.all(names.map((name) => attempt("projects.get_history", { repository: name.slice(5), limit: 1 }, { chunks: [] })));
  return names.map((name, at) => ({ name, last: found[at].chunks[0] })).filter(({ last }) => last)
    .sort((one, other) => new Date(other.last.happened_at) - new Date(one.last.happened_at)).slice(0, MOST_PROJECTS);
}

const drawProject = ({ name, last }) => h("article", { class: "tile" },
  h("h3", { title: name }, name.split("/").at(-1)),
  h("p", { class: "words" }, h("a", { href: memoryLink(last.id) }, shorten(last.summary || last.content, 130))),
  h("p", { class: "meta" }, moment(last.happened_at, sayAgo), h("span", null, sayWord(last.kind)), last.outcome && tag(sayWord(last.outcome))));

const drawPart = ({ part, items, omitted }) => section(PARTS[part], {}, h("ul", { class: "lines" }, items.map((item) =>
  h("li", null, h("p", { class: "words" }, h("a", { href: memoryLink(item.id) }, item.text)), meta({ ...item, happened_at: item.at }, item.inferred && tag("inferred"))))),
  omitted > 0 && h("p", { class: "hint" }, `and ${omitted} more`));
