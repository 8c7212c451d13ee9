// The shell: which view is shown, its keys, who is signed in, and whether something has changed elsewhere.

import { call, explain, follow, signIn, signOut } from "./api.js";
import { complain, toast, undo } from "./changes.js";
import { button, failure, waiting } from "./components.js";
import { h, icon } from "./dom.js";
import { sayNumber } from "./format.js";
import { renderSignIn } from "./sign-in.js";

const VIEWS = [
  { name: "ask", label: "Ask", key: "a" },
  { name: "today", label: "Today", key: "t" },
  { name: "facts", label: "Facts", key: "f" },
  { name: "settle", label: "To settle", key: "s" },
  { name: "activity", label: "Activity", key: "c" },
  { name: "graph", label: "Graph", key: "g" },
  { name: "insights", label: "Insights", key: "i" },
  { name: "keep", label: "Keep", key: "k" },
];
const HIDDEN = new Set(["memory"]);
const EVERY = 1500;

const main = document.querySelector("#main");
const state = { session: null, view: null, module: null, root: null, run: 0, position: null, isLost: false, isStale: false };

// --- Where one is ---

/** Read the address: `#/memory/ID?q=standup` is the view "memory" with `id` and `q`. */
function readAddress() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  const parameters = Object.fromEntries(new URLSearchParams(query));
  if (rest.length) parameters.id = decodeURIComponent(rest.join("/"));
  const isKnown = HIDDEN.has(name) || VIEWS.some((view) => view.name === name);
  return { name: isKnown ? name : "ask", parameters };
}

function drawNavigation() {
  const links = VIEWS.map(({ name, label, key }) =>
    h("a", { href: `#/${name}`, data: { view: name }, title: `${label} (g ${key})` }, icon(name), h("span", null, label)));
  const more = h("button", { type: "button", class: "nav-more", "aria-expanded": "false", onclick: () => openMore() }, icon("more"), h("span", null, "More"));
  const nav = document.querySelector("#nav");
  nav.replaceChildren(...links, more);
  nav.addEventListener("click", (event) => event.target.closest("a") && openMore(false));
}

function openMore(isOpen) {
  const more = document.querySelector(".nav-more");
  const now = isOpen ?? more.getAttribute("aria-expanded") !== "true";
  more.setAttribute("aria-expanded", String(now));
  document.body.classList.toggle("more", now);
}

function markNavigation(name) {
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// --- Showing a view ---

/** Show the view of the address. A renewal keeps the place and the focus; a view that is at work is let be. */
async function show({ isRenewal = false } = {}) {
  const run = ++state.run;
  const { name, parameters } = readAddress();
  const isMove = !isRenewal && state.view !== null;
  markNavigation(name);
  const root = h("div", { class: `view view-${name}`, data: { address: location.hash } });
  const wait = isRenewal ? null : setTimeout(() => run === state.run && main.replaceChildren(waiting(5)), 150);
  let title = "Infinite Memory";
  main.setAttribute("aria-busy", "true");
  try {
    const module = await import(`./views/${name}.js`);
    title = module.title;
    await module.render(root, { ...parameters, session: state.session });
    if (run === state.run) Object.assign(state, { view: name, module });
  } catch (error) {
    // A renewal that fails leaves what is there; the search for changes says that the server is away.
    if (isRenewal || error.status === 401) return;
    root.append(failure(error, () => show()));
    state.view = name;
  } finally {
    clearTimeout(wait);
    if (run === state.run) main.removeAttribute("aria-busy");
  }
  if (run !== state.run) return;
  // Somebody may have begun to write while this was read.
  if (isRenewal && isAtWork()) {
    await renew();
    return;
  }
  document.title = `${title} · Infinite Memory`;
  const place = isRenewal ? { top: scrollY, focus: findFocus(), open: listOpen() } : null;
  state.root = root;
  main.replaceChildren(root);
  if (place) {
    for (const each of root.querySelectorAll("details")) each.open ||= place.open.has(each.firstElementChild.textContent);
    scrollTo({ top: place.top, behavior: "instant" });
    place.focus && root.querySelectorAll(place.focus.selector)[place.focus.at]?.focus({ preventScroll: true });
  } else {
    scrollTo({ top: 0, behavior: "instant" });
    const first = root.querySelector("[data-first]") ?? (isMove ? root.querySelector("h1") : null);
    first?.focus({ preventScroll: true });
  }
  if (state.isStale) await renew();
}

/** The headings of what somebody has unfolded. */
const listOpen = () => new Set([...(state.root?.querySelectorAll("details[open]") ?? [])].map((each) => each.firstElementChild.textContent));

/** Where the focus is, so that it can be found again in a view that was drawn anew. */
function findFocus() {
  const element = document.activeElement;
  if (!state.root?.contains(element)) return null;
  const selector = element.id ? `#${CSS.escape(element.id)}` : element.tagName.toLowerCase();
  return { selector, at: [...state.root.querySelectorAll(selector)].indexOf(element) };
}

const isAtWork = () => Boolean(state.root?.querySelector("[data-busy]") || document.querySelector("dialog[open]"));

/**
 * Draw anew after a change. A view may do it itself by `renew`, which answers false to be drawn anew all the same; one in
 * which somebody writes is not disturbed.
 */
async function renew() {
  countLater();
  // What is being drawn may have been read before the change: it is drawn anew afterwards.
  state.isStale = main.hasAttribute("aria-busy");
  if (state.isStale || !state.view || !state.root?.isConnected) return;
  if (isAtWork()) {
    if (!document.querySelector(".toast.stale")) {
      toast("Something was changed elsewhere.", { actions: [{ label: document.querySelector("dialog[open]") ? "Show it" : "Show it (drops what you write)", run: () => show() }], stay: 30_000 }).classList.add("stale");
    }
    return;
  }
  const isRenewed = await state.module?.renew?.(state.root, { ...readAddress().parameters, session: state.session });
  if (!state.module?.renew || isRenewed === false) await show({ isRenewal: true });
}

// --- What other programs change ---

function setLost(isLost, text = "") {
  state.isLost = isLost;
  document.querySelector("#notice").replaceChildren(...(isLost ? [h("p", null, icon("clock"), text)] : []));
  document.body.classList.toggle("lost", isLost);
}

async function watch() {
  try {
    if (state.session && !document.hidden) {
      const position = await call("position");
      const isNew = state.position !== null && position !== state.position;
      const wasLost = state.isLost;
      state.position = position;
      if (wasLost) setLost(false);
      if (isNew || wasLost) await renew();
    }
  } catch (error) {
    if (error.kind === "Unreachable") setLost(true, error.message);
  } finally {
    setTimeout(watch, EVERY);
  }
}

// --- How much there is to settle ---

const COUNT_EVERY = 30_000;
let counting = null;

/** Count it some time after something has changed; its view says by itself what it found. */
function countLater(wait = COUNT_EVERY) {
  counting ??= setTimeout(() => {
    counting = null;
    if (!state.session || document.hidden || state.view === "settle") return;
    // A server that is away is said elsewhere; the number comes with the next change.
    import("./views/settle.js").then(({ countAll }) => countAll(state.session)).catch(() => {});
  }, wait);
}

/** The number at the view, quietly, and never a nought. */
addEventListener("counted", ({ detail: number }) => {
  const link = document.querySelector('#nav a[data-view="settle"]');
  link.querySelector(".number")?.remove();
  if (number) link.append(h("span", { class: "number" }, sayNumber(number), h("span", { class: "visually-hidden" }, " open")));
});

// --- What goes on at the server ---

const WORK = {
  import: ["The import", "is done"], verify: ["The check of every record", "has ended"], "backups.create": ["The backup", "is made"],
  "backups.verify": ["The check of the backup", "has ended: every record was read"], "backups.restore": ["The restore", "is done"],
};
const going = new Map();

addEventListener("work", ({ detail: work }) => {
  going.set(work.id, work);
  if (work.state !== "running") going.delete(work.id);
  document.querySelector("#work").replaceChildren(...[...going.values()].map(({ method, about, phase, done, total }) => h("p", null,
    h("span", null, `${WORK[method][0]} ${about && `of ${about} `}goes on${phase && `: ${phase}`} `, h("b", null, done > 0 && (total ? `${sayNumber(done)} of ${sayNumber(total)}` : sayNumber(done)))),
    h("progress", { max: total || null, value: total ? done : null, "aria-label": WORK[method][0] }))));
});

/** Go on with what was begun before this page was loaded: say its end, which nothing else on the page waits for. */
async function resume() {
  for (const work of (await call("work")).filter(({ state }) => state === "running")) {
    follow(work).then(({ value, entry }) => {
      dispatchEvent(new CustomEvent("memory-changed"));
      const isBad = value.sound === false;
      toast(isBad ? "Damage was found: check every record again, in Keep." : `${WORK[work.method].join(" ")}.`, { isError: isBad, actions: entry ? [{ label: "Undo", run: () => undo(entry) }] : [] });
    }, complain);
  }
}

// --- Who is signed in ---

function drawWho() {
  const { session } = state;
  const isBound = !session.scopes.includes("*");
  const limits = [session.read_only && "may only read", isBound && `sees only ${session.scopes.join(", ")}`].filter(Boolean);
  document.querySelector("#who").replaceChildren(
    h("p", { class: "who-name" }, session.name ? [icon("lock"), session.name] : "Your memory"),
    h("p", { class: "who-limits" }, limits.join(", ")),
    h("p", { class: "row" }, button("Shortcuts", showKeys, { kind: "bare", symbol: "keys" }),
      (session.name || session.rights.includes("owner")) && button("Sign out", leave, { kind: "bare" })));
}

async function leave() {
  await signOut().catch(complain);
  askToSignIn("You are signed out. Close this window, or sign in again.");
}

function askToSignIn(sentence) {
  state.session = null;
  ++state.run;
  state.view = null;
  document.querySelector("#who").replaceChildren();
  main.removeAttribute("aria-busy");
  document.body.classList.add("outside");
  document.title = "Sign in · Infinite Memory";
  main.replaceChildren(renderSignIn(sentence, start));
  main.querySelector("input")?.focus();
}

async function start() {
  let refused;
  const code = /^#code=(.+)$/.exec(location.hash)?.[1];
  if (code) {
    history.replaceState(null, "", "#/today");
    try {
      await signIn({ code: decodeURIComponent(code) });
    } catch (error) {
      // A reload uses a code again, and the session that it began may be good.
      refused = explain(error);
    }
  }
  try {
    state.session = await call("session");
  } catch (error) {
    if (error.status === 401 || error.status === 403) askToSignIn(refused);
    else {
      setLost(error.kind === "Unreachable", error.message);
      main.replaceChildren(failure(error, start));
    }
    return;
  }
  document.body.classList.remove("outside");
  setLost(false);
  drawWho();
  resume().catch(complain);
  await show();
  countLater(3000);
}

// --- Keys ---

const KEYS = [
  ["/", "Ask"],
  ["g, then a letter", VIEWS.map(({ key, label }) => `${key} ${label}`).join(", ")],
  ["Arrows", "walk through a list"],
  ["Enter", "open what has the focus"],
  ["?", "show these keys"],
  ["Escape", "close, or leave a field"],
];

function showKeys() {
  const dialog = h("dialog", { class: "dialog", "aria-label": "Shortcut keys", onclose: () => dialog.remove() }, h("h2", null, "Shortcut keys"),
    h("dl", { class: "keys" }, KEYS.map(([key, words]) => [h("dt", null, h("kbd", null, key)), h("dd", null, words)])),
    h("div", { class: "row end" }, button("Close", () => dialog.close())));
  document.body.append(dialog);
  dialog.showModal();
}

let isGoing = false;
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    openMore(false);
    if (/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) event.target.blur();
    return;
  }
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || !state.session || document.querySelector("dialog[open]")) return;
  const goal = isGoing && VIEWS.find((view) => view.key === event.key);
  isGoing = event.key === "g" && !isGoing;
  if (goal) location.hash = `#/${goal.name}`;
  else if (event.key === "?") showKeys();
  else if (event.key === "/") {
    const box = document.querySelector("#question");
    if (box) box.focus();
    else location.hash = "#/ask";
  } else return;
  event.preventDefault();
}

document.addEventListener("keydown", onKey);
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
addEventListener("hashchange", () => (/^#code=/.test(location.hash) ? start() : state.session && show()));
addEventListener("memory-changed", renew);
addEventListener("signed-out", ({ detail }) => state.session && askToSignIn(explain(detail)));
addEventListener("error", ({ error }) => error && complain(error));
addEventListener("unhandledrejection", ({ reason }) => reason?.name !== "AbortError" && reason?.status !== 401 && complain(reason));
document.addEventListener("visibilitychange", () => !document.hidden && state.session && call("position").then((position) => {
  if (position !== state.position && state.position !== null) renew();
  state.position = position;
}, () => {}));
drawNavigation();
start().then(watch);
