// One box: what an assistant would get for a question, as one types.

import { call, callAll } from "../api.js";
import { card, empty, endlessList, failure, moment, waiting, walkable, button, memoryLink } from "../components.js";
import { chip } from "../chips.js";
import { h, icon } from "../dom.js";
import { count, midnight, sayDay, sayScope, sayWord, shorten, within } from "../format.js";
import { drawExplanation, drawMissing, unfold } from "../why.js";

export const title = "Ask";

const PAUSE = 160;
const LIMIT = 10;
const MOST_PAGES = 10;
const KINDS = ["note", "fact", "instruction", "reminder", "decision", "lesson", "message", "conclusion", "summary", "problem", "solution", "code_change", "discussion", "attachment"];
const FILTERS = ["scope", "kind", "tag", "person", "when", "as_of", "replaced"];

let running = null;

/** The days that are counted from the viewer's own, of which the clock of the server knows nothing. */
const WHEN = { today: [0, 1], yesterday: [-1, 0], "since yesterday": [-1, 2] };

function readWhen(when) {
  const [since, until] = (WHEN[when] ?? []).map((days) => midnight(new Date(), days).toISOString());
  return since ? { since, until } : { when };
}

/** The conditions of a call, from the parameters of the address. */
function readConditions({ scope, kind, tag, when, as_of: asOf, replaced }) {
  return {
    ...(scope && { scope }), ...(kind && { kinds: [kind] }), ...(tag && { tags: [tag] }), ...(when && readWhen(when)),
    ...(asOf && { as_of: /^\d{4}-\d\d-\d\d$/.test(asOf) ? new Date(`${asOf}T23:59:59`).toISOString() : asOf }),
    ...(replaced && { mode: "history" }),
  };
}

/** Whether a memory has to do with a person: they said it, or its text or tags name them. */
function isAbout(memory, person) {
  const name = person.toLowerCase();
  return [memory.speaker ?? "", memory.text, ...memory.tags].some((words) => words.toLowerCase().includes(name));
}

export async function render(root, parameters) {
  const now = Object.fromEntries(["q", ...FILTERS].map((name) => [name, parameters[name] ?? ""]));
  const answers = h("div", { class: "answers" });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Filters" });
  let timer;
  let isAsking = false;
  let isStale = false;
  const field = h("input", {
    id: "question", type: "search", value: now.q, data: matchMedia("(pointer: coarse)").matches ? {} : { first: "" }, autocomplete: "off", spellcheck: "false", enterkeyhint: "search", dir: "auto",
    placeholder: "Ask your memory", "aria-label": "Ask your memory", "aria-controls": "answers",
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => { now.q = field.value.trim(); update(); }, PAUSE);
    },
    onkeydown: (event) => {
      if (event.key === "ArrowDown") { answers.querySelector(".words a")?.focus(); event.preventDefault(); }
      if (event.key === "Enter") openFirst();
    },
  });
  answers.id = "answers";

  /** Open the best answer to what the box says. Before it is there, ask; what is only near is nobody's choice. */
  function openFirst() {
    const words = field.value.trim();
    if (words !== now.q) {
      clearTimeout(timer);
      now.q = words;
      update();
    } else if (words && !isAsking) [...answers.querySelectorAll(".words a")].find((link) => !link.closest(".near"))?.click();
  }

  function choose(name, value) {
    now[name] = value ?? "";
    drawChips();
    update();
    chips.querySelectorAll(".chip > button:first-child")[FILTERS.indexOf(name)]?.focus();
  }

  function drawChips() {
    const make = (name, label, more) => chip({ label, value: now[name], choose: (value) => choose(name, value), ...more });
    const within = now.scope ? { scope: now.scope } : {};
    chips.replaceChildren(
      button("Filter", () => chips.classList.toggle("open"), { kind: "chips-more" }),
      make("scope", "Scope", { hint: "Name of a scope", say: sayScope, suggest: async () => sortCounts(await callAll("scopes.count_memories")) }),
      make("kind", "Kind", { hint: "Kind", say: sayWord, suggest: () => KINDS.map((kind) => [kind]) }),
      make("tag", "Tag", { hint: "Name of a tag", suggest: async () => sortCounts(await callAll("scopes.count_tags", within)) }),
      make("person", "Person", { hint: "A name", isFree: true, suggest: listPeople }),
      make("when", "When", { hint: "last week, in March, since May 2", isFree: true, suggest: () => ["today", "yesterday", "this week", "last week", "last month"].map((words) => [words]) }),
      make("as_of", "As it was on", { hint: "A day", type: "date", isFree: true, say: (day) => sayDay(`${day}T12:00`) }),
      h("div", { class: now.replaced ? "chip on" : "chip" },
        h("button", { type: "button", "aria-pressed": String(Boolean(now.replaced)), onclick: () => choose("replaced", now.replaced ? null : "yes") }, "Replaced ones too")));
  }

  async function update({ isRenewal = false } = {}) {
    // A renewal takes away no question that is being asked; it comes after it.
    isStale = isRenewal && isAsking;
    if (isStale) return;
    const filled = Object.entries(now).filter(([, value]) => value);
    // Whoever has gone on to another view meanwhile stays there.
    if (!isRenewal && root.isConnected) history.replaceState(null, "", filled.length ? `#/ask?${new URLSearchParams(filled)}` : "#/ask");
    running?.abort();
    const own = running = new AbortController();
    isAsking = true;
    const slow = setTimeout(() => own === running && !isRenewal && answers.replaceChildren(waiting(4)), 300);
    try {
      const drawn = now.q ? await answer(now, own.signal) : drawLatest(now);
      if (own !== running) return;
      // A long list that somebody has walked down is not taken from under them.
      if (isRenewal && !now.q && scrollY > 600) return;
      answers.replaceChildren(...drawn);
    } catch (error) {
      if (error.name !== "AbortError" && own === running) answers.replaceChildren(failure(error, () => update()));
    } finally {
      clearTimeout(slow);
      if (own === running) isAsking = false;
      if (isStale && !isAsking) update({ isRenewal: true });
    }
  }

  drawChips();
  root.append(
    h("h1", { class: "quiet-title", tabindex: "-1" }, "What do you want to know?"),
    h("div", { class: "ask-box", role: "search" }, icon("ask"), field, h("kbd", { "aria-hidden": "true" }, "/")),
    chips, walkable(answers, ".words a, .answers-foot button"));
  root.update = update;
  // The box is there at once; the answers follow.
  update();
}

/** Ask the same again where something has changed, and leave the box alone. */
export const renew = (root) => root.update?.({ isRenewal: true });

const sortCounts = (counts) => Object.entries(counts).sort(([, one], [, other]) => other - one);

async function listPeople() {
  const { memories } = await call("browse", { limit: 200 });
  const people = new Map();
  for (const { speaker } of memories) if (speaker) people.set(speaker, (people.get(speaker) ?? 0) + 1);
  return [...people].sort(([, one], [, other]) => other - one);
}

const isFiltered = (now) => FILTERS.some((name) => now[name]);

const drawNothing = () => empty("Nothing is stored yet", "What you tell a connected assistant is found here. The command infinite-memory connect connects one, and infinite-memory remember stores a first sentence.");

/** What there is without a question: the newest memories that meet the filters. */
function drawLatest(now) {
  let after = null;
  let isOver = false;
  let isFirst = true;
  const place = h("div");
  const more = async () => {
    let memories = [];
    while (!isOver && !memories.length) {
      const page = await call("browse", { limit: isFirst ? 20 : 60, ...(after && { after }), ...readConditions(now) });
      isFirst = false;
      memories = now.person ? page.memories.filter((memory) => isAbout(memory, now.person)) : page.memories;
      after = page.next;
      isOver = !after;
    }
    if (!memories.length && !place.querySelector(".card")) place.replaceChildren(isFiltered(now) ? empty("Nothing is stored of that", "Take a filter away.") : drawNothing());
    return memories;
  };
  place.append(h("div", { class: "answers-head" }, h("h2", null, "Newest first")), endlessList((memory) => card(memory), more, { label: "Newest memories" }));
  return [place];
}

/**
 * What the search answers from `offset` on, as `shown`. The search knows no persons: it is asked on until there are enough
 * answers of the one that was chosen.
 */
async function find(now, conditions, { offset = 0, signal } = {}) {
  const limit = now.person ? 50 : LIMIT;
  const shown = [];
  let first;
  for (let next = offset, left = now.person ? MOST_PAGES : 1; left && next !== null && shown.length < LIMIT; left -= 1) {
    const page = await call("search", { query: now.q, cut: "asked", limit, offset: next, ...conditions }, { signal });
    shown.push(...page.hits.filter((hit) => !now.person || isAbout(hit, now.person)));
    first = { ...(first ?? page), next: page.next };
    next = page.next;
  }
  return { ...first, shown };
}

async function answer(now, signal) {
  const conditions = readConditions(now);
  const hits = await find(now, conditions, { signal });
  const { shown } = hits;
  const why = once(() => call("search", { query: now.q, cut: "wide", limit: now.person ? 50 : 20, explain: true, ...conditions }));
  const draw = (hit) => drawHit(hit, now, why);
  const drawn = [];
  const sure = hits.likely && shown.length > 0;
  if (sure) {
    drawn.push(h("div", { class: "answers-head" }, h("h2", null, count(shown.length, "answer")), say(hits) ?? h("span", { class: "enter-hint" }, "Enter opens the first")));
    if (contradict(shown)) drawn.push(h("p", { class: "hint" }, "Some of these contradict each other. ", h("a", { href: "#/settle" }, "Settle it")));
    drawn.push(h("div", { class: "cards" }, shown.map(draw)));
  } else {
    const near = (now.person ? [] : [...hits.hits, ...hits.nearest]);
    if (!near.length && !isFiltered(now) && !(await call("browse", { limit: 1 }, { signal })).memories.length) return [drawNothing()];
    drawn.push(empty("No memory answers this", say(hits) ?? (near.length ? "These are only near, and may be about something else." : "Try other words, or fewer filters.")));
    if (near.length) drawn.push(h("h2", null, "Nearest"), h("div", { class: "cards near" }, near.map(draw)));
  }
  if (hits.archived.length) drawn.push(h("h2", null, "In the archive"), h("div", { class: "cards near" }, hits.archived.map(draw)));
  drawn.push(drawFoot(now, hits, conditions, draw));
  return drawn;
}

/** Whether two of the hits are facts of the same key that begin at the same time. */
const contradict = (hits) => {
  const begins = hits.filter(({ key, status }) => key && status === "current").map(({ scope, key, valid_from: from, happened_at: told }) => JSON.stringify([scope, key, from ?? told]));
  return new Set(begins).size < begins.length;
};

/** What the search says of itself, in a sentence, if anything. */
function say(hits) {
  const elsewhere = Object.entries(hits.elsewhere ?? {});
  const sentences = [
    hits.newest_memories && "Nothing fits better than the newest memories.",
    hits.empty_time && "Nothing is of that time; these are of others.",
    hits.as_of && `As it was on ${sayDay(hits.as_of)}.`,
    elsewhere.length && `${elsewhere.map(([name, number]) => `${sayScope(name)} (${number})`).join(", ")} may answer too.`,
    hits.pending && `${count(hits.pending, "memory", "memories")} can be found by words alone until the model has read them.`,
    hits.note,
  ].filter(Boolean);
  return sentences.length ? h("span", null, sentences.join(" ")) : null;
}

function drawHit(hit, now, why) {
  const { toggle, place } = unfold("Why?", async () => {
    const { hits } = await why();
    const found = hits.find(({ id }) => id === hit.id);
    return found ? drawExplanation(found.explanation, found.score) : h("p", { class: "why" }, "It is too far down to be compared in full.");
  });
  const lines = [
    ...hit.supersedes.map(({ id, text, ended_at: ended }) => h("p", { class: "under" }, "Before: ", h("a", { href: memoryLink(id) }, h("del", null, shorten(text, 110))), ", until ", moment(ended, within(sayDay)))),
    ...hit.told_later.map(({ id, text, happened_at: told }) => h("p", { class: "under" }, "Told later, ", moment(told, within(sayDay)), ": ", h("a", { href: memoryLink(id) }, shorten(text, 90)))),
    hit.twins.length > 0 && h("p", { class: "under" }, `Told ${count(hit.twins.length + 1, "time")}.`),
    hit.answer && h("p", { class: "under" }, "Answered: ", h("a", { href: memoryLink(hit.answer.id) }, shorten(hit.answer.text, 110))),
  ];
  return card(hit, { score: hit.score, text: drawText(hit), extra: [lines, place], aside: toggle });
}

/** The text, or the part of a long one that answers, with that part marked. */
function drawText({ text, highlight }) {
  if (!highlight) return shorten(text, 600);
  const { start, end } = highlight;
  const from = Math.max(0, start - 90);
  return [from > 0 && "…", text.slice(from, start), h("mark", null, shorten(text.slice(start, end), 500)), shorten(text.slice(end, end + 120), 120), end + 120 < text.length && "…"];
}

function drawFoot(now, hits, conditions, draw) {
  const place = h("div");
  const wide = hits.is_cut && hits.more > 0 && button("Show what is further away", async () => {
    wide.disabled = true;
    const all = await call("search", { query: now.q, cut: "wide", limit: 40, ...conditions });
    const known = new Set([...hits.hits, ...hits.nearest].map(({ id }) => id));
    place.append(h("h2", null, "Further away"), h("div", { class: "cards near" }, all.hits.filter(({ id }) => !known.has(id)).map(draw)));
  }, { kind: "quiet" });
  const further = hits.next && button("More answers", async () => {
    const page = await find(now, conditions, { offset: hits.next });
    place.append(h("div", { class: "cards" }, page.shown.map(draw)));
    hits.next = page.next;
    if (!page.next) further.remove();
  }, { kind: "quiet" });
  const { toggle, place: form } = unfold("I miss one", () => drawMissing(now.q, conditions), { kind: "quiet" });
  return h("div", { class: "answers-foot" }, place, h("div", { class: "row" }, further, wide, toggle), form);
}

function once(run) {
  let promise;
  return () => (promise ??= run());
}
