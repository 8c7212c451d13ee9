// What holds, by subject: about the user, about people and things, about projects.

import { call, callAll } from "../api.js";
import { change } from "../changes.js";
import { button, card, choices, empty, endlessList, head, section } from "../components.js";
import { fill, h } from "../dom.js";
import { count, sayNumber, sayScope, sayWord } from "../format.js";
import { drawActions } from "./memory.js";

export const title = "Facts";

const KINDS = ["fact", "instruction", "conclusion", "decision"];
const READ = 200;
const GROUP = 5;
const SUBJECTS = 40;
const PROFILE = "profile";
const SECTIONS = { name: "Name", preferences: "Preferences", facts: "Facts", contacts: "Contacts", notes: "Notes" };

export async function render(root, { subject = "", scope = "", tag = "", session }) {
  const may = (method) => session.methods.includes(method);
  if (tag || scope || subject) return drawSubject(root, { subject, scope, tag, may });
  const [profile, page, tags, scopes] = await Promise.all([
    // A key of some scopes has no profile: it belongs to the scope of everybody.
    may("profile.get") ? call("profile.get").catch(() => null) : null,
    call("browse", { kinds: KINDS, mode: "strict", limit: READ }),
    callAll("scopes.count_tags"), callAll("scopes.count_memories")]);
  const groups = groupBySubject(page.memories);
  const hasProfile = profile && Object.keys(profile.profile).length > 0;
  fill(root, null, [
    head("Facts", "What holds now, by whom or what it is about.", drawSearch()),
    hasProfile && section("About you", {}, drawProfile(profile, may)),
    h("div", { class: "groups" }, groups.map(({ name, link, memories }) => section(name, {
      aside: memories.length > GROUP && h("a", { href: link }, `All ${sayNumber(memories.length)}`),
    }, h("div", { class: "cards" }, memories.slice(0, GROUP).map((memory) => drawFact(memory, may)))))),
    !hasProfile && !groups.length && empty("No facts yet", "Tell an assistant something lasting about yourself, your people or your work, and it stands here."),
    drawSubjects("Projects and other scopes", scopes, "scope", sayScope),
    drawSubjects("Tags", Object.fromEntries(Object.entries(tags).filter(([name]) => !name.startsWith(PROFILE))), "tag", (name) => `#${name}`)]);
  return undefined;
}

/** A field for a subject: what is known of it is asked for as an assistant would. */
function drawSearch() {
  const field = h("input", { type: "search", "aria-label": "About whom or what", placeholder: "About whom or what?", dir: "auto" });
  return h("form", { role: "search", onsubmit: (event) => {
    event.preventDefault();
    if (field.value.trim()) location.hash = `#/facts?subject=${encodeURIComponent(field.value.trim())}`;
  } }, field);
}

/** Facts by their subject: the beginning of the key or the first tag, if it has several; else the scope. Subjects come first, then the larger. */
function groupBySubject(memories) {
  const own = memories.filter(({ key }) => !key?.startsWith(`${PROFILE}:`));
  const subjects = new Map();
  for (const memory of own) {
    const subject = memory.key?.includes("/") ? { subject: memory.key.split("/")[0] } : memory.tags.length ? { tag: memory.tags[0] } : { scope: memory.scope };
    memory.link = new URLSearchParams(subject).toString();
    subjects.set(memory.link, (subjects.get(memory.link) ?? 0) + 1);
  }
  const groups = new Map();
  for (const memory of own) {
    const link = subjects.get(memory.link) > 1 ? memory.link : new URLSearchParams({ scope: memory.scope }).toString();
    if (!groups.has(link)) groups.set(link, []);
    groups.get(link).push(memory);
  }
  return [...groups].map(([link, some]) => ({ link: `#/facts?${link}`, isScope: link.startsWith("scope"), name: sayName(link), memories: some }))
    .sort((one, other) => one.isScope - other.isScope || other.memories.length - one.memories.length);
}

const capitalise = (words) => words[0].toUpperCase() + words.slice(1);

/** The name of a subject, from its address: "tag=people" is "People". */
function sayName(link) {
  const [[, name]] = new URLSearchParams(link);
  return name === "Global" ? "Everything else" : name.startsWith("repo/") ? sayScope(name) : capitalise(name);
}

/** A fact as a card, under which its buttons open. */
function drawFact(memory, may) {
  const place = h("div", { class: "work" });
  const more = h("div", { class: "fact-actions", hidden: true });
  const opener = may("revise") && button("Change", () => {
    const isOpen = more.hidden;
    for (const other of document.querySelectorAll(".fact-actions")) other.hidden = true;
    more.hidden = !isOpen;
    opener.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen || more.childElementCount) return;
    more.append(h("div", { class: "row" }, drawActions(memory, { may, place })), place);
  }, { kind: "bare", symbol: "edit", "aria-expanded": "false", "aria-label": `Change: ${memory.text.slice(0, 60)}` });
  const title = memory.text.startsWith(memory.title ?? "") ? null : memory.title;
  return card({ ...memory, title }, { extra: more, aside: opener || null });
}

// --- The profile ---

/** The values of a profile, `[path, value]` each; a list is one value. */
const listValues = (value, path = []) => (value !== null && typeof value === "object" && !Array.isArray(value)
  ? Object.entries(value).flatMap(([name, each]) => listValues(each, [...path, name])) : [[path, value]]);

const saySimple = (value) => (Array.isArray(value) ? value.map(saySimple).join("; ") : String(value));

function drawProfile({ profile }, may) {
  return h("dl", { class: "profile" }, listValues(profile).map(([path, value]) => {
    const [part, ...rest] = path;
    const name = [SECTIONS[part] ?? sayWord(part), ...rest.map(sayWord)].join(", ");
    const place = h("dd", { dir: "auto" }, h("span", { class: "words" }, saySimple(value)),
      may("profile.update") && button("Edit", () => editValue(place, name, path, value), { kind: "bare", symbol: "edit", "aria-label": `Edit: ${name}` }));
    return [h("dt", null, name), place];
  }));
}

/** The change that sets a value of a profile: `{contacts: {Mia: "..."}}`; null removes it. */
const nest = (path, value) => path.reduceRight((inner, name) => ({ [name]: inner }), value);

function editValue(place, name, path, value) {
  const before = [...place.childNodes];
  const isList = Array.isArray(value);
  const field = isList ? h("textarea", { value: value.map(saySimple).join("\n"), "aria-label": `${name}, one to a line` }) : h("input", { value: saySimple(value), "aria-label": name });
  const close = () => place.replaceChildren(...before);
  async function save(wanted, sentence) {
    delete form.dataset.busy;
    if (await change("profile.update", { changes: nest(path, wanted) }, sentence)) close();
    else form.dataset.busy = "";
  }
  const form = h("form", { class: "row instead", data: { busy: "" }, onkeydown: (event) => event.key === "Escape" && close(), onsubmit: (event) => {
    event.preventDefault();
    const lines = field.value.split("\n").map((line) => line.trim()).filter(Boolean);
    if (lines.length) save(isList ? lines : lines.join(" "), `${name} is stored.`);
  } }, field, h("button", { class: "primary" }, "Store"), button("Remove", () => save(null, `${name} is removed.`)), button("Cancel", close, { kind: "bare" }));
  place.replaceChildren(form);
  field.focus();
}

// --- One subject ---

const drawSubjects = (name, counts, parameter, say) => {
  const rows = Object.entries(counts).filter(([, number]) => number > 0).sort(([, one], [, other]) => other - one);
  return rows.length > 0 && section(name, {}, h("ul", { class: "subjects" }, rows.slice(0, SUBJECTS).map(([each, number]) =>
    h("li", { class: "chip" }, h("a", { class: "subject", href: `#/facts?${parameter}=${encodeURIComponent(each)}` }, say(each), h("span", { class: "soft" }, sayNumber(number)))))),
  rows.length > SUBJECTS && h("p", { class: "hint" }, `and ${count(rows.length - SUBJECTS, "more")}: search them by Ask.`));
};

async function drawSubject(root, { subject, scope, tag, may }) {
  const name = subject || (tag ? `#${tag}` : sayScope(scope));
  const back = h("a", { href: "#/facts" }, "All subjects");
  if (!subject) {
    const conditions = { mode: "strict", ...(scope ? { scope, inherited: "none" } : { tags: [tag] }) };
    let kinds = KINDS;
    const list = h("div");
    const draw = async () => {
      let after = null;
      let isOver = false;
      const more = async () => {
        if (isOver) return null;
        const page = await call("browse", { limit: 40, ...(kinds && { kinds }), ...conditions, ...(after && { after }) });
        after = page.next;
        isOver = !after;
        return page.memories;
      };
      let first = await more();
      const next = async () => {
        const items = first ?? await more();
        first = null;
        return items;
      };
      list.replaceChildren(h("div", { class: "row" }, choices("Kinds", [[KINDS, "Facts"], [null, "All memories"]], kinds, (value) => { kinds = value; draw(); })),
        first.length ? endlessList((memory) => drawFact(memory, may), next, { label: name }) : empty("No facts here", "There may be other memories: choose All memories."));
    };
    await draw();
    fill(root, null, [head(name, null, back), list]);
    return;
  }
  const { highlights, summaries, more, only_near: isNear } = await call("what_do_i_know", { topic: subject, budget: 3000 });
  // Each is read once it is near the window.
  const unread = highlights.map(({ id }) => id);
  const next = async () => (await Promise.all(unread.splice(0, 20).map((id) => call("get", { memory_id: id }).catch(() => null)))).filter(Boolean);
  fill(root, null, [
    head(name, unread.length && !isNear ? `${count(unread.length + more, "memory", "memories")} about it.` : null, back),
    summaries.length > 0 && section("In short", {}, summaries.map((each) => h("p", { class: "words", dir: "auto" }, each.text))),
    unread.length > 0 && section(isNear ? "Only near" : "What is known", {}, endlessList((memory) => drawFact(memory, may), next, { label: subject })),
    !highlights.length && empty("Nothing is known about it", "Try another word, or ask.", button("To Ask", () => { location.hash = `#/ask?q=${encodeURIComponent(subject)}`; }))]);
}
