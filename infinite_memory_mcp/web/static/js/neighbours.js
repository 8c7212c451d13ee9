// The memories that belong to one, as a small picture that one can walk, and as a list.

import { memoryLink, meta } from "./components.js";
import { h, svg } from "./dom.js";
import { sayDay, sayWord, shorten } from "./format.js";

const WIDTH = 720;
const ROW = 56;
const MOST = 8;
const REACH = 96;

// By the relation of the last step; what is not here is a stored link.
const GUESSED = { meaning: "means something similar", time: "of the same time", conversation: "of the same conversation", project: "of the same project", topic: "of the same topic", location: "of the same place" };
const LINKED = { semantic: "belongs to it", temporal: "follows", context: "of the same context", intent: "has the same aim", derived_from: "made from", supersedes: "replaces", near_duplicate_of: "says nearly the same" };

const relationOf = ({ path }) => path.at(-1)?.relation ?? "meaning";
const sayRelation = (each) => GUESSED[relationOf(each)] ?? LINKED[relationOf(each)] ?? sayWord(relationOf(each));
const label = ({ title, text }, length) => shorten(title || text, length);

/** The memory in the middle, and a link to each of its neighbours, at the right and at the left in turn. */
function drawPicture(memory, related) {
  const shown = related.slice(0, MOST);
  const height = Math.ceil(shown.length / 2) * ROW + 20;
  const middle = { x: WIDTH / 2, y: height / 2 };
  const nodes = shown.map((each, at) => {
    const side = at % 2 ? -1 : 1;
    const rows = at % 2 ? Math.floor(shown.length / 2) : Math.ceil(shown.length / 2);
    const x = middle.x + side * REACH;
    const y = middle.y + (Math.floor(at / 2) - (rows - 1) / 2) * ROW;
    const text = { x: x + side * 16, "text-anchor": side > 0 ? "start" : "end" };
    return svg("a", { href: memoryLink(each.id), class: GUESSED[relationOf(each)] ? "guess" : null, "aria-label": `${label(each, 90)}: ${sayRelation(each)}` },
      svg("rect", { x: side > 0 ? x - 12 : 0, y: y - 22, width: WIDTH / 2 - REACH + 12, height: 44, fill: "transparent" }),
      svg("path", { d: `M${middle.x} ${middle.y}C${middle.x + side * 50} ${middle.y} ${x - side * 50} ${y} ${x} ${y}`, "stroke-width": 0.8 + 2.4 * each.weight }),
      svg("circle", { cx: x, cy: y, r: 4 + 4 * each.weight }),
      svg("text", { ...text, y: y - 1 }, label(each, 32)),
      svg("text", { ...text, y: y + 15, class: "soft" }, GUESSED[relationOf(each)] ? sayDay(each.happened_at) : sayRelation(each)));
  });
  return svg("svg", { class: "neighbours", viewBox: `0 0 ${WIDTH} ${height}`, role: "group", "aria-label": `What belongs to: ${label(memory, 90)}. The list below says the same.` },
    nodes, svg("circle", { class: "middle", cx: middle.x, cy: middle.y, r: 9 }));
}

/** The same as a list, with why each belongs here. */
const drawList = (related) => h("ul", { class: "lines" }, related.map((each) =>
  h("li", null, h("p", { class: "words" }, h("a", { href: memoryLink(each.id) }, label(each, 130))), meta(each, h("span", null, sayRelation(each), each.reason && `: ${each.reason}`)))));

/** Both of them; where there is no room for a picture, the list is open. */
export function drawNeighbours(memory, related) {
  const isNarrow = matchMedia("(max-width: 820px)").matches;
  return [drawPicture(memory, related),
    h("details", { open: isNarrow }, h("summary", null, isNarrow ? "With why" : "As a list, with why (dotted lines are alike or of the same time, full ones are links)"), drawList(related))];
}
