// What keeps a memory safe and in order: health, backups, what comes in and goes out, upkeep, scopes and keys.

import { call, callAll, importFile } from "../api.js";
import { change, complain, toast, undo } from "../changes.js";
import { ask, button, choices, empty, failure, head, memoryLink, moment, section, tag, waiting } from "../components.js";
import { fill, h } from "../dom.js";
import { count, sayAgo, sayMoment, sayNumber, sayScope, saySize, sayWord, shorten, within } from "../format.js";

export const title = "Keep";

const SHOWN = 60;
const PATIENCE = 300;

/** The parts: their name in the address, their label, the method that they need, and what draws them. */
const PARTS = [
  ["health", "Health", "health", drawHealth],
  ["backups", "Backups", "backups.list", drawBackups],
  ["import", "Import and export", "import", drawImport],
  ["upkeep", "Upkeep and dreams", "dreams.diary", drawUpkeep],
  ["scopes", "Scopes", "scopes", drawScopes],
  ["keys", "Keys", "keys.list", drawKeys],
];

export async function render(root, { part, session }) {
  const may = (method) => session.methods.includes(method);
  const offered = PARTS.filter(([, , method]) => may(method));
  const [name, , , draw] = offered.find(([each]) => each === part) ?? offered[0];
  const place = h("div", null, waiting(4));
  root.append(head("Keep", "What keeps your memory safe and in order."),
    choices("Part", offered.map(([each, label]) => [each, label]), name, (each) => { location.hash = `#/keep?part=${each}`; }), place);
  const end = draw(may).then((parts) => { place.replaceChildren(); fill(place, null, [parts]); }, (error) => place.replaceChildren(failure(error)));
  await Promise.race([end, new Promise((resolve) => { setTimeout(resolve, PATIENCE); })]);
}

/** A line of a list: what it is, a quiet line below, and its buttons. */
const line = (words, below, ...buttons) => h("li", { class: "line-row" }, h("div", null, h("p", null, words), h("p", { class: "meta" }, below)), h("div", { class: "row" }, buttons.filter(Boolean)));

const lines = (rows) => h("ul", { class: "plain rows" }, rows);

/** A button that waits for what it starts, and says why it did not work. */
function working(label, run, options) {
  const made = button(label, async () => {
    made.disabled = true;
    try {
      await run();
    } catch (error) {
      complain(error);
    } finally {
      made.disabled = false;
    }
  }, options);
  return made;
}

// --- Health ---

async function drawHealth(may) {
  const health = await call("health");
  const isGood = health.findings.every(({ state }) => state === "ok");
  const order = [...health.findings].sort((one, other) => (one.state === "ok") - (other.state === "ok"));
  return [
    h("dl", { class: "tiles" }, [[sayNumber(health.memories), "memories"], [saySize(health.size_bytes), "on the disk"], [saySize(health.free_bytes ?? 0), "free"],
      [health.last_backup ? sayAgo(health.last_backup) : "never", "last backup"]].map(([value, words]) => h("div", null, h("dt", null, words), h("dd", null, value)))),
    section(isGood ? "All is well" : "Look at this", { aside: may("verify") && working("Check every record", verify, { kind: "bare" }) },
      lines(order.map(({ about, state, sentence }) => line([state !== "ok" && [tag(sayWord(state), { kind: "warn" }), " "], sayTimes(sentence)], sayWord(about)))))];
}

/** A sentence with its moments in the words of whoever looks. */
const sayTimes = (sentence) => sentence.replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)/g, (found) => sayMoment(found));

async function verify() {
  const { sound, counts, findings } = await call("verify");
  const total = count(Object.values(counts).reduce((sum, number) => sum + number, 0), "record");
  if (sound) toast(`${total} checked: all are as they were written.`);
  else await ask("Damage was found", lines(findings.slice(0, 20).map((each) => line(each.sentence ?? JSON.stringify(each), ""))), { yes: "Close", no: "To backups" });
}

// --- Backups ---

async function drawBackups(may) {
  const backups = await call("backups.list");
  const make = may("backups.create") && working("Make a backup", () => change("backups.create", {}, ({ name }) => `Made ${name}.`, { final: true }), { kind: "primary" });
  if (!backups.length) return empty("No backup yet", "A backup is one file in the home folder that holds all of it. A server makes one each day.", make || "");
  return section("Backups", { aside: make }, lines(backups.map((backup) => line(
    [moment(backup.created_at), backup.encrypted && [" ", tag("encrypted")], !backup.whole && [" ", tag("not whole", { kind: "warn" })]],
    [h("span", null, count(backup.counts.memories ?? 0, "memory", "memories")), h("span", null, saySize(backup.size_bytes)), h("span", { class: "reason" }, backup.name)],
    may("backups.verify") && working("Check", () => check(backup), { kind: "bare" }),
    may("backups.restore") && working("Restore", () => restore(backup), { kind: "bare" }),
    may("backups.delete") && working("Delete", () => remove(backup), { kind: "bare" })))));
}

/** The passphrase of an encrypted backup, as an argument; null if nobody gives one. */
async function askPassphrase({ encrypted }) {
  if (!encrypted) return {};
  const field = h("input", { type: "password", autocomplete: "off", "aria-label": "Passphrase" });
  return await ask("The passphrase of this backup", field, { yes: "Read it" }) ? { passphrase: field.value } : null;
}

async function check(backup) {
  const given = await askPassphrase(backup);
  if (!given) return;
  const { counts, whole } = await call("backups.verify", { file: backup.name, ...given });
  toast(`Every record was read: ${count(counts.memories, "memory", "memories")}, ${count(counts.entries, "entry", "entries")} of the journal.${whole ? "" : " It is not whole."}`);
}

/** Say what the restore would do, in each of its two ways, then do it in one. */
async function restore(backup) {
  const given = await askPassphrase(backup);
  if (!given) return;
  const file = backup.name;
  const plans = { merge: await call("backups.restore", { file, mode: "merge", dry_run: true, ...given }) };
  const mode = h("select", { "aria-label": "How" }, h("option", { value: "merge" }, "Add what is missing here"), h("option", { value: "overwrite" }, "Put it in the place of everything"));
  const place = h("div", { "aria-live": "polite" });
  const say = async () => {
    const way = mode.value;
    place.replaceChildren(waiting(2));
    try {
      plans[way] ??= await call("backups.restore", { file, mode: way, dry_run: true, ...given });
      if (way === mode.value) place.replaceChildren(...drawPlan(plans[way]));
    } catch (error) {
      place.replaceChildren(failure(error));
    }
  };
  mode.addEventListener("change", say);
  say();
  const sure = await ask("Restore this backup?", [
    h("p", null, "It was made ", moment(backup.created_at, within(sayMoment)), `, and every record was read: ${count(plans.merge.counts.memories ?? 0, "memory", "memories")}.`), h("p", null, mode), place], { yes: "Restore" });
  if (!sure) return;
  await change("backups.restore", { file: backup.name, mode: mode.value, ...given }, (done) => (mode.value === "merge"
    ? `${count(done.added, "memory", "memories")} added, ${sayNumber(done.changed)} changed, ${sayNumber(done.unchanged)} as they were.`
    : `Restored. What was here before is in ${done.safety_backup?.split("/").at(-1) ?? "no backup: it was empty"}.`), { final: mode.value === "overwrite" });
}

const OUTCOMES = [["added", "added"], ["changed", "changed"], ["removed", "removed"], ["unchanged", "as they are"]];
const sayOutcomes = (numbers, outcomes = OUTCOMES) => outcomes.filter(([name]) => numbers[name]).map(([name, words]) => `${sayNumber(numbers[name])} ${words}`).join(", ");

/** The numbers of a dry run, as a whole and of the scopes in which something would change. */
function drawPlan(plan) {
  const scopes = Object.entries(plan.scopes).map(([name, numbers]) => [name, sayOutcomes(numbers, OUTCOMES.slice(0, 3))]).filter(([, words]) => words);
  return [
    h("p", null, h("b", null, scopes.length ? `Memories: ${sayOutcomes(plan)}.` : "It would change no memory.")),
    h("ul", { class: "bullets" }, scopes.slice(0, SHOWN).map(([name, words]) => h("li", null, `${sayScope(name)}: ${words}`)), scopes.length > SHOWN && h("li", null, `and ${count(scopes.length - SHOWN, "more scope")}`)),
    h("p", { class: "hint" }, plan.mode === "merge" ? "Of two states of a memory the newer counts. You can undo it." : "What there is now is kept as a backup first, and then replaced. Access keys stay as they are."),
  ];
}

async function remove(backup) {
  if (await ask("Delete this backup?", h("p", null, `${backup.name} is removed from the disk. There is no undo for this.`), { yes: "Delete", kind: "danger" })) {
    await change("backups.delete", { name: backup.name }, "Deleted.", { final: true });
  }
}

// --- Import and export ---

async function drawImport() {
  const result = h("div", { "aria-live": "polite" });
  const scope = h("input", { id: "import-scope", placeholder: "as the file says", spellcheck: "false" });
  const file = h("input", { type: "file", id: "import-file", onchange: () => file.files[0] && plan(file.files[0]) });
  const plan = (chosen) => tryImport(chosen, scope.value.trim() ? { scope: scope.value.trim() } : {}, result);
  const zone = h("label", { class: "drop", for: "import-file",
    ondragover: (event) => { event.preventDefault(); zone.classList.add("over"); },
    ondragleave: () => zone.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); zone.classList.remove("over"); if (event.dataTransfer.files[0]) plan(event.dataTransfer.files[0]); },
  }, h("b", null, "Drop a file here, or choose one"), h("span", null, "An export of Claude, ChatGPT, mem0 or another memory, JSON Lines, CSV, Markdown, text or PDF; a folder as a zip file. First you see what it would do."), file);
  return [section("Bring in", {}, zone, h("p", { class: "row" }, h("label", { for: "import-scope" }, "Into the scope"), scope), result),
    section("Take out", {}, h("p", null, "The command line writes everything into a file that any program can read:"),
      h("pre", { class: "code" }, "infinite-memory export memories.jsonl\ninfinite-memory export notes --format markdown\ninfinite-memory graph export --to graph.graphml"))];
}

async function tryImport(file, options, place) {
  place.replaceChildren(h("p", { class: "hint" }, `Reading ${file.name} …`));
  let plan;
  try {
    plan = await importFile(file, { dryRun: true, ...options });
  } catch (error) {
    place.replaceChildren(h("p", { class: "error-line", role: "alert" }, error.message));
    return;
  }
  const changes = plan.added + plan.changed;
  const parts = [[plan.added, "new"], [plan.changed, "changed"], [plan.unchanged, "here already"], [plan.still_forgotten + plan.still_erased, "forgotten here, and left out"]].filter(([number]) => number);
  const go = working(`Bring in ${count(changes, "memory", "memories")}`, async () => {
    const done = await importFile(file, { dryRun: false, ...options });
    place.replaceChildren();
    dispatchEvent(new CustomEvent("memory-changed"));
    toast(`Brought in ${count(done.added + done.changed, "memory", "memories")} of ${file.name}.`, { actions: done.entries?.length ? [{ label: "Undo", run: () => undo(done.entries[0]) }] : [] });
  }, { kind: "primary" });
  const isOther = options.newer === false;
  place.replaceChildren(fill(h("div", { class: "plan", data: { busy: "" } }), null, [
    h("p", null, h("b", null, `${count(plan.records, "memory", "memories")} in ${file.name}`), `, read as ${plan.format}: ${parts.map(([number, words]) => `${sayNumber(number)} ${words}`).join(", ") || "nothing"}.`),
    (plan.changed > 0 || isOther) && h("p", null, isOther ? "It is taken for another file than the one of its name that was brought in before. " : `It is taken for a newer version of the ${file.name} that was brought in before: what changed there is changed here. `,
      button(isOther ? "It is a newer version" : "It is another file", () => tryImport(file, { ...options, newer: isOther }, place), { kind: "bare" })),
    h("p", { class: "hint" }, Object.entries(plan.scopes).slice(0, 6).map(([name, number]) => `${name}: ${sayNumber(number)}`).join(", ")),
    plan.samples?.length > 0 && h("ul", { class: "plain rows" }, plan.samples.slice(0, 3).map((each) => h("li", { class: "words", dir: "auto" }, shorten(each.text, 140)))),
    plan.problem_count > 0 && h("details", null, h("summary", null, `${count(plan.problem_count, "record")} cannot be used`), lines(plan.problems.slice(0, 20).map((each) => line(each.what, `${each.file} ${each.where}`)))),
    h("div", { class: "row" }, changes > 0 && go, button("Not now", () => place.replaceChildren(), { kind: "bare" }))]));
}

// --- Upkeep and dreams ---

async function drawUpkeep(may) {
  const cycles = await call("dreams.diary", { limit: 20 });
  const plan = h("div", { "aria-live": "polite" });
  const run = may("upkeep.optimize") && working("See what is due", async () => {
    const { jobs } = await call("upkeep.optimize", { dry_run: true });
    const due = jobs.filter((job) => job.steps.length || job.done.length);
    plan.replaceChildren(due.length ? lines(due.map((job) => line(sayWord(job.job).replaceAll("-", " "), job.done.join(" ") || count(job.steps.length, "change")))) : h("p", { class: "hint" }, "Nothing is due."),
      due.length ? working("Do it now", async () => { await change("upkeep.optimize", {}, "The upkeep is done.", { final: true }); }, { kind: "primary" }) : "");
  }, { kind: "quiet" });
  const dream = may("dream") && working("Dream now", () => change("dream", {}, ({ steps, entry }) => (entry ? `Dreamed: ${count(steps.length, "change")}.` : "There was nothing to link.")), { kind: "bare" });
  return [run && section("Upkeep", { aside: run }, h("p", { class: "hint" }, "A server does it by itself: backups, summaries, links between what says the same, and the archive."), plan),
    section("The diary of the dreamer", { aside: dream }, cycles.length ? cycles.map((cycle) => drawCycle(cycle, may)) : h("p", { class: "hint" }, "No dream yet. While nobody works, the dreamer links what belongs together and writes summaries of topics."))];
}

const drawCycle = ({ entry, at, scope, looked_at: looked, links, topics, undone_by: undone }, may) => h("details", { class: "cycle" },
  h("summary", null, moment(at), `, ${scope}: ${count(links.length, "link")}, ${count(topics.length, "topic")} `, undone && tag("taken back", { kind: "warn" })),
  h("p", { class: "hint" }, `${looked}.`),
  lines([...topics.map((topic) => line(h("a", { href: memoryLink(topic.id) }, topic.title || "an erased topic"), `from ${count(topic.sources, "memory", "memories")}`)),
    ...links.slice(0, 30).map((link) => line([h("a", { href: memoryLink(link.source) }, shorten(link.source_heading || "erased", 70)), " and ", h("a", { href: memoryLink(link.target) }, shorten(link.target_heading || "erased", 70))], link.reason))]),
  !undone && may("undo") && button("Take the whole dream back", () => undo(entry), { kind: "bare", symbol: "undo" }));

// --- Scopes ---

async function drawScopes(may) {
  const [scopes, counts] = await Promise.all([callAll("scopes"), callAll("scopes.count_memories")]);
  const list = h("div");
  const field = h("input", { type: "search", "aria-label": "Find a scope", placeholder: "Find a scope", oninput: draw });
  function draw() {
    if (field.value) field.dataset.busy = "";
    else delete field.dataset.busy;
    const fitting = scopes.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(field.value.toLowerCase()));
    list.replaceChildren(lines(fitting.slice(0, SHOWN).map((scope) => drawScope(scope, counts[scope.name] ?? 0, may))),
      h("p", { class: "hint" }, fitting.length > SHOWN ? `and ${count(fitting.length - SHOWN, "more")}: type a part of the name.` : ""));
  }
  draw();
  return section(count(scopes.length, "scope"), { aside: scopes.length > 8 && field }, list);
}

function drawScope({ name, description, sensitivity, active, parent }, number, may) {
  const isPrivate = sensitivity === "private";
  const isWhole = name === "Global";
  const set = (changes, sentence) => () => change("scopes.update", { name, ...changes }, sentence);
  return line([h("a", { href: `#/facts?scope=${encodeURIComponent(name)}` }, name), " ", isPrivate && tag("private"), !active && tag("inactive", { kind: "warn" })],
    [h("span", null, count(number, "memory", "memories")), parent && h("span", null, `in ${parent}`), description && h("span", { class: "reason" }, shorten(description, 90))].filter(Boolean),
    may("scopes.update") && !isWhole && button(isPrivate ? "Open it" : "Make private", set({ sensitivity: isPrivate ? "normal" : "private" }, isPrivate ? `${name} is open to questions.` : `${name} is private: only who names it is answered from it.`), { kind: "bare" }),
    may("scopes.update") && !isWhole && button(active ? "Set aside" : "Use again", set({ active: !active }, active ? `${name} is set aside: its memories stay.` : `${name} is used again.`), { kind: "bare" }),
    may("scopes.delete") && !isWhole && number === 0 && button("Delete", () => change("scopes.delete", { name }, `${name} is deleted.`), { kind: "bare" }));
}

// --- Keys ---

async function drawKeys(may) {
  const keys = await call("keys.list");
  const usage = new Map((await call("keys.usage")).map((each) => [each.id, each]));
  const now = new Date();
  const state = (key) => (key.revoked_at ? "revoked" : key.expires_at && new Date(key.expires_at) <= now ? "expired" : null);
  const rows = [...keys].reverse().sort((one, other) => Boolean(state(one)) - Boolean(state(other)));
  return [section("Access keys", {}, h("p", { class: "hint" }, "A program on another machine shows a key to use this memory. What the key does not name does not exist for it."),
    rows.length > 0 && lines(rows.map((key) => line([h("b", null, key.name), " ", state(key) && tag(state(key), { kind: "warn" })],
      [h("span", null, `may ${key.rights.at(-1)}`), h("span", null, key.scopes.includes("*") ? "sees everything" : `sees ${key.scopes.join(", ")}`), usage.has(key.id) && h("span", null, describeUsage(usage.get(key.id))), h("span", null, "made ", moment(key.created_at))].filter(Boolean),
      may("keys.limit") && usage.has(key.id) && button("Limit", () => limit(usage.get(key.id)), { kind: "bare" }),
      may("keys.revoke") && !state(key) && working("Revoke", () => revoke(key), { kind: "bare" }))))),
  may("keys.create") && section("A new key", {}, drawKeyForm())];
}

function describeUsage({ kept, quota }) {
  const most = quota.max_memories ? ` of at most ${count(quota.max_memories, "memory", "memories")}` : "";
  return `keeps ${count(kept.memories, "memory", "memories")}${most}, ${saySize(kept.bytes + kept.attachment_bytes)}`;
}

const LIMITS = [["max_memories", "Memories"], ["max_bytes", "Bytes of texts"], ["max_attachment_bytes", "Bytes of files"], ["calls_a_minute", "Calls a minute"]];

async function limit({ id, name, quota }) {
  const inputs = LIMITS.map(([key, label]) => [key, label, h("input", { id: `limit-${key}`, type: "number", min: "0", value: String(quota[key]) })]);
  const fields = inputs.flatMap(([key, label, input]) => [h("label", { for: `limit-${key}` }, label), input]);
  if (await ask(`How much may “${name}” keep and ask?`, [h("p", null, "0 is any number."), h("div", { class: "fields" }, fields)], { yes: "Limit" })) {
    await change("keys.limit", { name_or_id: id, ...Object.fromEntries(inputs.map(([key, , input]) => [key, Number(input.value)])) }, `${name} is limited.`, { final: true });
  }
}

async function revoke({ id, name }) {
  if (await ask(`Revoke “${name}”?`, h("p", null, "Every program that shows it is refused at once. There is no undo: make another key instead."), { yes: "Revoke", kind: "danger" })) {
    await change("keys.revoke", { name_or_id: id }, `${name} is revoked.`, { final: true });
  }
}

function drawKeyForm() {
  const name = h("input", { id: "key-name", required: true, placeholder: "laptop" });
  const right = h("select", { id: "key-right" }, [["read", "Read"], ["write", "Read and write"], ["admin", "Everything, also keys and backups"]].map(([value, label]) => h("option", { value }, label)));
  const scopes = h("input", { id: "key-scopes", value: "*", spellcheck: "false" });
  const whose = h("select", { id: "key-whose" }, [["scopes", "For a program: it sees the scopes below"], ["shared", "For a person: a memory of their own, and the scopes below"]].map(([value, label]) => h("option", { value }, label)));
  const form = h("form", { class: "fields", oninput: () => { form.dataset.busy = ""; }, onsubmit: async (event) => {
    event.preventDefault();
    delete form.dataset.busy;
    const wanted = scopes.value.split(",").map((each) => each.trim()).filter(Boolean);
    const isPerson = whose.value === "shared";
    const seen = isPerson ? { shared: wanted.filter((each) => each !== "*") } : { scopes: wanted };
    const made = await change("keys.create", { name: name.value.trim(), rights: [right.value], ...seen }, "The key is made.", { final: true });
    if (!made?.secret) return;
    const secret = h("code", { class: "secret" }, made.secret);
    await ask(`The key “${made.key.name}”`, [h("p", null, "Copy it now: it is kept nowhere, and is not shown again."), h("p", null, secret),
      button("Copy", () => navigator.clipboard.writeText(made.secret).then(() => toast("Copied.")).catch(complain), { kind: "quiet" })], { yes: "I have it", no: "Close" });
  } }, h("label", { for: "key-name" }, "Name"), name, h("label", { for: "key-right" }, "It may"), right,
  h("label", { for: "key-whose" }, "It is"), whose, h("label", { for: "key-scopes" }, "Scopes, with commas; * is all of them"), scopes, h("div", { class: "row" }, h("button", { class: "primary" }, "Make the key")));
  return form;
}
