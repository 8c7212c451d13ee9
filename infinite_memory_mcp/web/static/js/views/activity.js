// What each program did with the memory, day by day, and how to take it back.

import { call } from "../api.js";
import { change, complain, isDoneAgain, isFinal, markUndone, takeBack, undo } from "../changes.js";
import { ask, button, byDay, choices, empty, endlessList, head, memoryLink, moment, tag } from "../components.js";
import { fill, h } from "../dom.js";
import { count, isoDay, midnight, sayClient, sayDay, sayNumber, sayScope, sayTime, sayWord, shorten } from "../format.js";

export const title = "Activity";

const PAGE = 40;
const DAYS = 7;
const SHOWN_TEXTS = 12;
const FAR = 600;
const SESSIONS = 100;

/** What an operation did, as the words after its client; "{}" is how many memories. */
const VERBS = {
  remember: "stored {}", revise: "changed {}", share: "shared {}", forget: "forgot {}", erase: "erased {} for good", link: "linked {}", scope: "changed the scope", profile: "changed the profile", undo: "took back a change",
  merge: "brought back {} from a backup", import: "brought in {}", upkeep: "tidied up", dream: "linked what belongs together", trigger: "allowed a condition", mask: "masked secrets", begin: "began the journal",
  "create key": "made an access key", "limit key": "limited an access key", "revoke key": "ended an access key",
};
const READS = { search: "was shown by a search", get: "read", browse: "listed", briefing: "was told at its start" };

const VIEWS = [["stored", "Stored", drawStored, "journal.entries"], ["shown", "Shown", drawShown, "projects.insights"], ["sessions", "Sessions", drawSessions, "conversations.list"]];
const texts = new Map();

export async function render(root, { show = "stored", client = "", session }) {
  texts.clear();
  const views = VIEWS.filter(([, , , method]) => session.methods.includes(method));
  const [, , draw] = views.find(([name]) => name === show) ?? views[0];
  const go = (parameters) => { location.hash = `#/activity?${new URLSearchParams(parameters)}`; };
  root.append(head("Activity", "What each program stored, was shown, and how to take it back.",
    choices("What to see", views.map(([name, label]) => [name, label]), show, (name) => go({ show: name }))));
  await draw(root, { session, client, choose: (name) => go({ show, ...(name && { client: name }) }) });
}

/** Far down in a list nothing is taken from under whoever reads; at its top it is drawn anew. */
export const renew = () => (scrollY > FAR ? null : false);

// --- What was stored ---

async function drawStored(root, { session, client, choose }) {
  const state = { before: null, day: null, undone: new Map(), clients: new Map(), isOver: false };
  const filter = h("div", { class: "subjects", role: "group", "aria-label": "Program" });

  const drawFilter = () => filter.replaceChildren(...(state.clients.size > 1 || client
    ? [["", "Every program"], ...[...new Set([...state.clients.keys(), ...(client ? [client] : [])])].map((name) => [name, sayClient(name)])].map(([name, label]) =>
      h("div", { class: name === client ? "chip on" : "chip" }, button(label, () => choose(name), { "aria-pressed": String(name === client) })))
    : []));

  async function more() {
    const found = [];
    while (!state.isOver && !found.length) {
      const entries = await call("journal.entries", { limit: PAGE, ...(state.before && { before: state.before }) });
      state.isOver = !entries.length;
      markUndone(entries, state.undone);
      for (const entry of entries) {
        state.before = entry.number;
        state.clients.set(entry.client, true);
        if (client && entry.client !== client) continue;
        const day = sayDay(entry.at);
        found.push({ ...entry, day: day === state.day ? null : day, isUndone: state.undone.has(entry.number), isAgain: isDoneAgain(entry, entries) });
        state.day = day;
      }
    }
    drawFilter();
    return found;
  }

  const first = await more();
  let given = first;
  const list = endlessList((entry) => drawEntry(entry, session), async () => {
    const items = given ?? await more();
    given = null;
    return items;
  }, { label: "Changes, the newest first" });
  root.append(filter, first.length ? list : empty("Nothing was stored yet", "When an assistant stores something, it is listed here with the program that did it."));
}

/** What an entry did, as one sentence with the beginning of the text. */
function drawEntry(entry, session) {
  const ids = entry.memories.map(({ id }) => id);
  const words = h("span", { class: "entry-text", dir: "auto" });
  const number = ids.length ? count(ids.length, "memory", "memories") : count(entry.links, "pair");
  const did = (entry.isAgain ? "did it again" : VERBS[entry.operation] ?? sayWord(entry.operation)).replace("{}", ids.length === 1 ? "" : number);
  if (ids.length) showText(words, ids[0]);
  const mayUndo = session.methods.includes("undo") && !isFinal(entry) && !entry.isUndone;
  return h("article", null, entry.day && h("h2", { class: "day" }, entry.day), h("div", { class: "entry" }, moment(entry.at, sayTime),
    h("div", { class: "entry-body" },
      h("p", null, h("b", null, sayClient(entry.client)), ` ${did} ${entry.scopes.slice(0, 3).join(", ")}`, entry.isUndone && tag("taken back", { kind: "warn" })),
      ids.length > 0 && h("p", { class: "words" }, words), entry.reason && h("p", { class: "hint" }, shorten(entry.reason, 110)), ids.length > 1 && unfold(ids)),
    mayUndo && button(entry.operation === "undo" && !entry.isAgain ? "Do it again" : "Undo", async ({ currentTarget: own }) => await takeBack(entry) && own.replaceWith(tag("taken back", { kind: "warn" })), { kind: "bare", symbol: "undo", "aria-label": `Undo entry ${entry.number}` })));
}

/** Put the text of a memory into `place` as a link, when it is there. */
async function showText(place, id) {
  if (!texts.has(id)) texts.set(id, call("get", { memory_id: id }).catch(() => null));
  const memory = await texts.get(id);
  place.append(memory ? h("a", { href: memoryLink(id) }, shorten(memory.text, 140)) : h("span", { class: "soft" }, "of which the text is erased"));
}

const unfold = (ids) => h("details", { ontoggle: (event) => {
  const list = event.target.querySelector("ul");
  if (!event.target.open || list.childElementCount) return;
  for (const id of ids.slice(0, SHOWN_TEXTS)) {
    const item = h("li");
    list.append(item);
    showText(item, id);
  }
  if (ids.length > SHOWN_TEXTS) list.append(h("li", { class: "soft" }, `and ${count(ids.length - SHOWN_TEXTS, "more")}`));
} }, h("summary", null, "Which"), h("ul", { class: "plain" }));

// --- What was shown ---

async function drawShown(root, { session, client, choose }) {
  const days = Array.from({ length: DAYS }, (_, back) => midnight(new Date(), -back));
  const found = await Promise.all(days.map((day) => call("projects.insights", { timeframe: isoDay(day) }).then(({ shown }) => shown)));
  const rows = found.map((shown, at) => h("tr", null, h("th", { scope: "row" }, sayDay(days[at])),
    [shown.sessions, shown.memories, shown.used, shown.tokens].map((number) => h("td", null, number ? sayNumber(number) : "–"))));
  if (found.every(({ sessions }) => !sessions)) root.append(empty("Nothing was shown unasked in the last week", "What a connected assistant is told at its start and at a prompt is counted here, with how much of it was used."));
  else root.append(h("p", { class: "lead" }, "What assistants were shown without asking, at their start and at a prompt, and how much of it they used."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Shown by day" }, h("table", { class: "numbers" },
      h("thead", null, h("tr", null, ["Day", "Sessions", "Memories", "Used", "Tokens"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", null, rows))));
  if (!session.methods.includes("journal.reads")) return;
  const reads = await call("journal.reads", { limit: 100, ...(client && { client }) });
  if (!reads.length) {
    root.append(empty("What they asked for is not recorded", "Set audit.reads = true in the configuration, and each read is listed here: who was shown what, and when."));
    return;
  }
  const names = [...new Set(reads.map(({ actor }) => actor.client))];
  fill(root, null, [h("h2", { class: "day" }, "What they asked for"),
    (names.length > 1 || client) && h("div", { class: "subjects" }, [["", "Every program"], ...names.map((name) => [name, sayClient(name)])].map(([name, label]) =>
      h("div", { class: name === client ? "chip on" : "chip" }, button(label, () => choose(name), { "aria-pressed": String(name === client) })))),
    byDay(reads).map(([day, some]) => [h("h2", { class: "day" }, day), some.map(drawRead)])]);
}

function drawRead(read) {
  const ids = read.memories;
  return h("article", { class: "entry" }, moment(read.at, sayTime), h("div", { class: "entry-body" },
    h("p", null, h("b", null, sayClient(read.actor.client)), ` ${READS[read.operation] ?? sayWord(read.operation)}: ${count(ids.length, "memory", "memories")}`),
    ids.length > 0 && unfold(ids)));
}

// --- Sessions ---

async function drawSessions(root, { session }) {
  const conversations = (await call("conversations.list", { limit: SESSIONS })).filter(({ messages }) => messages > 0);
  if (!conversations.length) {
    root.append(empty("No session was taken in yet", "What is said to connected assistants is listed here by session, and can be taken back as a whole."));
    return;
  }
  const mayUndo = session.methods.includes("conversations.undo");
  let day = null;
  fill(root, null, [h("div", { class: "cards" }, conversations.map((each) => {
    const isNew = sayDay(each.last) !== day;
    day = sayDay(each.last);
    return [isNew && h("h2", { class: "day" }, day), h("article", { class: "entry" }, moment(each.last, sayTime),
      h("div", { class: "entry-body" }, h("p", { class: "words", dir: "auto" }, shorten(each.heading || each.id, 160)),
        h("p", { class: "meta" }, h("span", null, count(each.messages, "message")), h("span", null, sayScope(each.scope)))),
      mayUndo && button("Take back", () => takeBackSession(each), { kind: "bare", symbol: "undo", "aria-label": `Take back the session ${shorten(each.heading || each.id, 40)}` }))];
  })), conversations.length === SESSIONS && h("p", { class: "hint" }, "These are the newest hundred.")]);
}

async function takeBackSession({ id }) {
  try {
    const plan = await call("conversations.undo", { session: id, dry_run: true });
    const work = plan.memories.length - plan.messages - plan.statements;
    const parts = [[plan.messages, "message"], [plan.statements, "statement"], [work, "piece of work", "pieces of work"]].filter(([number]) => number).map(([number, ...words]) => count(number, ...words));
    const sure = await ask("Take this session back?", [h("p", null, `${parts.join(", ")} will be forgotten, in one change that you can undo. What was stored on purpose meanwhile stays.`)], { yes: "Take it back" });
    if (sure) await change("conversations.undo", { session: id }, ({ memories }) => `Forgot what the session left: ${count(memories.length, "memory", "memories")}.`);
  } catch (error) {
    complain(error);
  }
}
