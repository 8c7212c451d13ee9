// How the work on repositories went, in numbers and small charts.

import { call, callAll } from "../api.js";
import { choices, empty, head, memoryLink, section } from "../components.js";
import { h, svg } from "../dom.js";
import { count, sayDay, sayNumber, sayScope, sayWord, shorten } from "../format.js";

export const title = "Insights";

const COLOURS = 8;
const TIMES = [["", "All of it"], ["last week", "Last week"], ["last month", "Last month"], ["this year", "This year"]];
const MOST = 8;
const HEIGHT = 150;
const MOMENTS = { start: "at the start", prompt: "at a prompt", failure: "after a failed command", file: "before a change of a file" };

const sayShare = (share) => `${Math.round(share * 100)} %`;

function sayMinutes(minutes) {
  const [hours, rest] = [Math.floor(Math.round(minutes) / 60), Math.round(minutes) % 60];
  return [hours && `${sayNumber(hours)} h`, (rest || !hours) && `${rest} min`].filter(Boolean).join(" ");
}

export async function render(root, { repository = "", timeframe = "", session }) {
  const [insights, counts] = await Promise.all([
    call("projects.insights", { ...(repository && { repository }), ...(timeframe && { timeframe }) }),
    session.methods.includes("scopes.count_memories") ? callAll("scopes.count_memories") : {}]);
  const go = (changes) => {
    const filled = Object.entries({ repository, timeframe, ...changes }).filter(([, value]) => value);
    location.hash = `#/insights?${new URLSearchParams(filled)}`;
  };
  const names = Object.keys(counts).filter((name) => name.startsWith("repo/")).map((name) => name.slice("repo/".length)).sort();
  const project = names.length > 1 && h("select", { "aria-label": "Project", onchange: (event) => go({ repository: event.target.value }) },
    h("option", { value: "" }, "Every project"), names.map((name) => h("option", { value: name, selected: name === repository }, name)));
  root.append(head("Insights", "How the work on your projects went, from what assistants noted of it.", project, choices("Time", TIMES, timeframe, (value) => go({ timeframe: value }))));
  if (!insights.chunks) {
    root.append(empty("Nothing is stored of work in that time", "When assistants work on a repository, its problems, solutions and decisions are counted here."), drawShown(insights.shown));
    return;
  }
  root.append(drawTiles(insights), h("div", { class: "charts" }, PARTS.map((part) => part(insights))));
}

function drawTiles({ chunks, sessions, success, minutes, timed, recalls, shown, more }) {
  const spent = Object.values(minutes).reduce((sum, each) => sum + each, 0);
  const tiles = [
    [sayNumber(chunks), more ? "newest pieces of work" : "pieces of work"], [sayNumber(sessions), "sessions"],
    success !== null && [sayShare(success), "of what ended succeeded"],
    spent > 0 && [sayMinutes(spent), `known for ${sayNumber(timed)} of ${sayNumber(chunks)}`],
    recalls.chunks > 0 && [sayNumber(recalls.chunks), "came up again later"],
    shown.memories > 0 && [sayShare(shown.used / shown.memories), "of what was shown unasked was used"],
  ].filter(Boolean);
  return h("dl", { class: "tiles" }, tiles.map(([number, words]) => h("div", null, h("dt", null, words), h("dd", null, number))));
}

const PARTS = [
  ({ periods, step }) => periods.length > 1 && part("Activity", `Pieces of work by ${step}`, columns(periods.map(({ begin, kinds }) => [begin, kinds])), "wide"),
  ({ kinds }) => part("Kinds", null, bars(Object.entries(kinds).map(([name, number]) => [sayWord(name), number]))),
  ({ outcomes }) => part("Outcomes", null, bars(Object.entries(outcomes).map(([name, number]) => [sayWord(name), number]))),
  ({ minutes }) => part("Time by project", "As far as it was noted", bars(Object.entries(minutes).map(([scope, number]) => [sayScope(scope), number]), sayMinutes)),
  ({ files }) => part("Hard files", "By failed and complex work, and by time", drawSpots(files)),
  ({ components }) => part("Hard components", null, drawSpots(components)),
  ({ problems }) => part("Problems that came again", null, drawProblems(problems), "wide"),
  ({ solved_again: solved }) => part("Solved again", null, drawSolved(solved), "wide"),
  ({ shown }) => drawShown(shown),
];

/** A part of the page, or nothing where `content` is nothing. */
const part = (name, note, content, className = "") => content && section(name, { className }, note && h("p", { class: "hint" }, note), content);

function drawShown({ sessions, times, memories, tokens, used }) {
  if (!sessions) return "";
  const moments = Object.entries(times).map(([name, number]) => `${sayNumber(number)} ${MOMENTS[name] ?? sayWord(name)}`).join(", ");
  return section("Shown without asking", { className: "wide" }, h("p", null,
    `${count(memories, "memory", "memories")} in ${count(sessions, "session")} (${moments}), in ${sayNumber(tokens)} tokens. The assistant used ${sayNumber(used)} of them.`));
}

/** Lying bars, `[name, number]` each, which are a list to a screen reader. */
function bars(rows, say = sayNumber) {
  const shown = rows.slice(0, 2 * MOST);
  if (!shown.length) return null;
  const most = Math.max(...shown.map(([, number]) => number)) || 1;
  return h("ul", { class: "bars" }, shown.map(([name, number]) => h("li", null, h("span", { class: "bar-name" }, name),
    h("span", { class: "bar-track", "aria-hidden": "true" }, h("i", { style: { width: `${Math.max(1, (100 * number) / most)}%` } })), h("span", { class: "bar-number" }, say(number)))));
}

/** Standing bars over time, each of its kinds, with a table of the same numbers. */
function columns(periods) {
  const names = [...new Set(periods.flatMap(([, kinds]) => Object.keys(kinds)))];
  const total = (kinds) => Object.values(kinds).reduce((sum, number) => sum + number, 0);
  const most = Math.max(...periods.map(([, kinds]) => total(kinds))) || 1;
  const width = 100 / periods.length;
  const drawn = periods.map(([begin, kinds], at) => {
    let top = HEIGHT;
    const parts = names.filter((name) => kinds[name]).map((name) => {
      const height = (kinds[name] * HEIGHT) / most;
      top -= height;
      return svg("rect", { class: `kind-${names.indexOf(name) % COLOURS}`, x: at * width + width * 0.12, y: top, width: width * 0.76, height });
    });
    return svg("g", null, svg("title", null, `${begin}: ${Object.entries(kinds).map(([name, number]) => `${number} ${sayWord(name)}`).join(", ") || "nothing"}`), svg("rect", { class: "hit", x: at * width, y: 0, width, height: HEIGHT }), parts);
  });
  return h("figure", { class: "columns" },
    h("div", { class: "legend", "aria-hidden": "true" }, names.map((name, at) => h("span", null, h("i", { class: `kind-${at % COLOURS}` }), sayWord(name)))),
    svg("svg", { viewBox: `0 0 100 ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `Pieces of work from ${periods[0][0]} to ${periods.at(-1)[0]}, at most ${most}` }, drawn),
    h("div", { class: "axis", "aria-hidden": "true" }, h("span", null, sayDay(periods[0][0])), h("span", null, `at most ${sayNumber(most)}`), h("span", null, sayDay(periods.at(-1)[0]))),
    h("details", null, h("summary", null, "The numbers"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers by time" }, h("table", { class: "numbers" },
      h("thead", null, h("tr", null, ["From", ...names.map(sayWord)].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, periods.map(([begin, kinds]) => h("tr", null, h("th", { scope: "row" }, begin), names.map((name) => h("td", null, kinds[name] ? sayNumber(kinds[name]) : "–")))))))));
}

const drawSpots = (spots) => spots.length > 0 && h("ul", { class: "plain rows" }, spots.slice(0, MOST).map((spot) => h("li", null,
  h("p", { title: spot.name }, spot.name.length > 60 ? `…${spot.name.slice(-59)}` : spot.name),
  h("p", { class: "meta" }, spot.failed > 0 && h("span", null, `${spot.failed} failed`), spot.complex > 0 && h("span", null, `${spot.complex} complex`), h("span", null, sayMinutes(spot.minutes)), h("span", null, sayScope(spot.scope))))));

const drawProblems = (problems) => problems.length > 0 && h("ul", { class: "plain rows" }, problems.slice(0, MOST).map(({ name, count: number, trend, examples, fix }) => h("li", null,
  h("p", null, examples.length ? h("a", { href: memoryLink(examples[0].id) }, shorten(name, 110)) : shorten(name, 110)),
  h("p", { class: "meta" }, h("span", null, count(number, "time")), h("span", null, trend), fix ? h("a", { href: memoryLink(fix.id) }, `Last fix: ${shorten(fix.summary, 80)}`) : h("span", null, "not solved yet")))));

const drawSolved = (solved) => solved.length > 0 && h("ul", { class: "plain rows" }, solved.slice(0, MOST).map((each) => h("li", null,
  h("p", null, h("a", { href: memoryLink(each.id) }, shorten(each.summary, 110))),
  h("p", { class: "meta" }, `${sayMinutes(each.first_minutes)} the first time, later ${sayMinutes(each.later_median)}`))));
