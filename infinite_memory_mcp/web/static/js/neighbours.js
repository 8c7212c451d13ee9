// The memories that belong to one, as a small picture that one can walk, and as a list.

import { memoryLink, meta } from "./components.js";
import { h, svg } from "./dom.js";
import { sayWord, shorten } from "./format.js";

const WIDTH = 720;
const HEIGHT = 340;
const MOST = 10;

/** Put the neighbours around the middle, the nearer the heavier. */
function place(related) {
  return related.slice(0, MOST).map((each, at, all) => {
    const angle = (at / all.length) * 2 * Math.PI - Math.PI / 2 + (all.length % 2 ? 0 : Math.PI / all.length);
    const far = 1 - 0.22 * Math.min(1, each.weight);
    return { ...each, x: WIDTH / 2 + Math.cos(angle) * 250 * far, y: HEIGHT / 2 + Math.sin(angle) * 128 * far };
  });
}

const label = ({ title, text }, length) => shorten(title || text, length);

/** The picture: the memory in the middle, and a link to each of its neighbours. */
function drawPicture(memory, related) {
  const nodes = place(related);
  return svg("svg", { class: "neighbours", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Memories that belong to this one; the list below says the same" },
    nodes.map(({ x, y, weight }) => svg("line", { x1: WIDTH / 2, y1: HEIGHT / 2, x2: x, y2: y, "stroke-width": 1 + 2.5 * weight })),
    svg("circle", { class: "middle", cx: WIDTH / 2, cy: HEIGHT / 2, r: 9 }),
    nodes.map((each) => svg("a", { href: memoryLink(each.id), "aria-label": label(each, 90) },
      svg("circle", { cx: each.x, cy: each.y, r: 6 + 4 * each.weight }),
      svg("text", { x: each.x, y: each.y + (each.y < HEIGHT / 2 ? -16 : 26), "text-anchor": each.x < 120 ? "start" : each.x > WIDTH - 120 ? "end" : "middle" }, label(each, 30)))),
    svg("title", null, label(memory, 90)));
}

/** The same as a list, with why each belongs here. */
const drawList = (related) => h("ul", { class: "lines" }, related.map((each) =>
  h("li", null, h("a", { href: memoryLink(each.id) }, label(each, 130)), meta(each, h("span", null, each.reason || sayWord(each.path.at(-1)?.relation ?? ""))))));

/** Both of them. */
export const drawNeighbours = (memory, related) => [related.length > 1 && drawPicture(memory, related), drawList(related)];
