// The memories as a picture: what belongs together stands together. Each mark leads on.

import { call, callAll } from "../api.js";
import { chip } from "../chips.js";
import { button, empty, head, memoryLink, meta, section } from "../components.js";
import { fill, h, svg } from "../dom.js";
import { count, sayNumber, sayScope, sayWord, shorten } from "../format.js";

export const title = "Graph";

const COLOURS = 8;
const WIDE = { width: 1000, height: 640, letter: 7.4, line: 16 };
const NARROW = { width: 560, height: 640, letter: 10.6, line: 22 };
const MOST = 140;
const SMALL = 2000;
const STARTS = 16;
const ROUNDS = 220;
const LABELS = 26;
const LISTED = 60;
/** All relations but that of time: what was told in the same hour rarely belongs together. */
const TYPES = ["semantic", "temporal", "context", "intent", "supersedes", "derived_from", "near_duplicate_of", "conversation", "project", "topic", "location", "meaning"];

export async function render(root, { id = "", scope = "" }) {
  const counts = await callAll("scopes.count_memories");
  const total = scope ? counts[scope] ?? 0 : Object.values(counts).reduce((sum, number) => sum + number, 0);
  const read = await readGraph(id, scope, total);
  // What nothing joins says nothing in a picture, and neither does what says the same.
  const edges = read.edges.filter(({ type }) => type !== "near_duplicate_of");
  const joined = new Set(edges.flatMap(({ source, target }) => [source, target]));
  const graph = { edges, nodes: read.nodes.filter((node) => joined.has(node.id) || node.id === id) };
  const rows = Object.entries(counts).filter(([, number]) => number).sort(([, one], [, other]) => other - one);
  const choose = rows.length > 1 && chip({ label: "Scope", value: scope, hint: "Name of a scope", say: sayScope, suggest: () => rows,
    choose: (name) => { location.hash = name ? `#/graph?scope=${encodeURIComponent(name)}` : "#/graph"; } });
  const middle = graph.nodes.find((node) => node.id === id);
  fill(root, null, [
    head("Graph", sayWhat(graph, middle, total), id && h("a", { href: "#/graph" }, "The whole"), choose),
    graph.nodes.length > 1 ? [drawPicture(graph, middle), drawLegend(graph)] : empty("Nothing to draw yet", "As soon as two memories belong together, they stand here with what joins them."),
    middle && section("In the middle", {}, h("p", { class: "words", dir: "auto" }, h("a", { href: memoryLink(id) }, shorten(middle.text, 400))), meta({ tags: [], ...middle, ...(middle.tags && { tags: middle.tags.split(", ") }) })),
    graph.edges.length > 0 && drawList(graph, middle)]);
}

/** What belongs to one memory; or all of a small store; or of a large one what belongs to the newest. */
async function readGraph(id, scope, total) {
  if (id) return call("graph.export", { ids: [id], types: TYPES, depth: 2, limit: 60 });
  if (total <= SMALL) {
    const whole = await call("graph.export", { limit: MOST, ...(scope && { scope }), statuses: ["current"] });
    if (whole.edges.filter(({ type }) => type !== "near_duplicate_of").length >= STARTS) return whole;
  }
  const { memories } = await call("browse", { limit: STARTS, ...(scope && { scope }) });
  return memories.length ? call("graph.export", { ids: memories.map((memory) => memory.id), types: TYPES, depth: 2, limit: MOST }) : { nodes: [], edges: [] };
}

function sayWhat({ nodes, edges }, middle, total) {
  if (middle) return `${count(nodes.length - 1, "memory belongs", "memories belong")} to this one. Choose one to walk on.`;
  return nodes.length > 1 ? `${sayNumber(nodes.length)} of ${count(total, "memory", "memories")}, in ${count(edges.length, "pair")} that belong together. Choose one to walk on.` : null;
}

// --- Where they stand ---

/** Places for the nodes: what is joined pulls, all push apart; equal graphs look alike, and nothing moves afterwards. */
function place(nodes, edges, middle, size) {
  const at = new Map(nodes.map((node, index) => [node.id, index]));
  // The golden angle spreads the beginning evenly, without chance.
  const points = nodes.map((node, index) => {
    const far = node === middle ? 0 : 30 + 26 * Math.sqrt(index);
    return { x: far * Math.cos(index * 2.39996), y: far * Math.sin(index * 2.39996) };
  });
  const lines = edges.filter(({ source, target }) => source !== target).map(({ source, target, weight }) => [at.get(source), at.get(target), weight]).filter(([one, other]) => one !== undefined && other !== undefined);
  const neighbours = nodes.map(() => new Set());
  for (const [one, other] of lines) { neighbours[one].add(other); neighbours[other].add(one); }
  const ideal = Math.sqrt((size.width * size.height) / nodes.length) * 0.62;
  for (let round = 0; round < ROUNDS; round += 1) {
    const step = ideal * 0.6 * (1 - round / ROUNDS);
    const moves = points.map(({ x, y }) => ({ x: -x * 0.035, y: -y * 0.06 }));
    for (let one = 0; one < points.length; one += 1) {
      for (let other = one + 1; other < points.length; other += 1) {
        const [dx, dy] = [points[one].x - points[other].x || 0.01 * (one - other), points[one].y - points[other].y || 0.01];
        const square = Math.max(dx * dx + dy * dy, 1);
        const push = Math.min(ideal * ideal / square, 4);
        moves[one].x += dx * push * 0.5; moves[one].y += dy * push * 0.5;
        moves[other].x -= dx * push * 0.5; moves[other].y -= dy * push * 0.5;
      }
    }
    for (const [one, other, weight] of lines) {
      const [dx, dy] = [points[other].x - points[one].x, points[other].y - points[one].y];
      const pull = Math.max(0, Math.hypot(dx, dy) / ideal - 0.45) * 0.16 * (0.4 + weight) / Math.max(1, Math.min(neighbours[one].size, neighbours[other].size) / 3);
      moves[one].x += dx * pull; moves[one].y += dy * pull;
      moves[other].x -= dx * pull; moves[other].y -= dy * pull;
    }
    points.forEach((point, index) => {
      if (nodes[index] === middle) return;
      const far = Math.hypot(moves[index].x, moves[index].y) || 1;
      point.x += (moves[index].x / far) * Math.min(far, step);
      point.y += (moves[index].y / far) * Math.min(far, step);
    });
  }
  return fit(points, neighbours, nodes, size, nodes.indexOf(middle));
}

/** Stretch the places so that they fill the picture, with room for the labels at its sides; `centre` stays in the middle. */
function fit(points, neighbours, nodes, { width, height }, centre) {
  const range = (name) => {
    const all = points.map((point) => point[name]);
    const middle = all[centre];
    const far = Math.max(...all.map((each) => Math.abs(each - middle)));
    return centre < 0 ? [Math.min(...all), Math.max(...all)] : [middle - far, middle + far];
  };
  const [[left, right], [top, bottom]] = [range("x"), range("y")];
  const scale = (value, low, high, from, to) => (high - low < 1 ? (from + to) / 2 : from + ((value - low) / (high - low)) * (to - from));
  return nodes.map((node, index) => ({ ...node, degree: neighbours[index].size, x: scale(points[index].x, left, right, 70, width - 70), y: scale(points[index].y, top, bottom, 30, height - 40) }));
}

/** Where the label of a node stands: its words, and its middle, moved so that it stays in the picture. */
function makeLabel(node, { width, letter }) {
  const words = shorten(node.label ?? node.text, LABELS);
  const half = (words.length * letter) / 2;
  return { words, half, x: Math.max(half, Math.min(width - half, node.x)) };
}

/** The labels that have room, those of the best joined first. */
function chooseLabels(nodes, middle, size) {
  const taken = [];
  const order = [...nodes].sort((one, other) => (other.id === middle?.id) - (one.id === middle?.id) || other.degree - one.degree);
  const chosen = new Set();
  for (const node of order) {
    const { half, x } = makeLabel(node, size);
    const box = [x - half, node.y + 9, x + half, node.y + 13 + size.line];
    const isFree = taken.every(([left, top, right, bottom]) => box[2] < left || box[0] > right || box[3] < top || box[1] > bottom)
      && nodes.every((other) => other === node || other.x < box[0] || other.x > box[2] || other.y < box[1] || other.y > box[3]);
    if (!isFree) continue;
    taken.push(box);
    chosen.add(node.id);
  }
  return chosen;
}

// --- The picture ---

function drawPicture({ nodes, edges }, middle) {
  const size = matchMedia("(max-width: 820px)").matches ? NARROW : WIDE;
  const placed = place(nodes, edges, middle, size);
  const byId = new Map(placed.map((node) => [node.id, node]));
  const labelled = chooseLabels(placed, middle, size);
  const kinds = listKinds(nodes);
  const view = { x: 0, y: 0, width: size.width, height: size.height };
  const lines = edges.filter(({ source, target }) => byId.has(source) && byId.has(target)).map((edge) => {
    const [one, other] = [byId.get(edge.source), byId.get(edge.target)];
    return svg("line", { class: edge.stored ? "stored" : "", x1: one.x, y1: one.y, x2: other.x, y2: other.y, "stroke-width": 0.6 + 1.8 * edge.weight },
      svg("title", null, edge.reason || sayWord(edge.type)));
  });
  const marks = placed.map((node) => {
    const words = shorten(node.label ?? node.text, 90);
    const label = makeLabel(node, size);
    return svg("a", { href: `#/graph?id=${encodeURIComponent(node.id)}`, class: node.id === middle?.id ? "middle" : "", "aria-label": `${words}, ${count(node.degree, "neighbour")}` },
      svg("title", null, words), svg("circle", { class: `kind-${kinds.indexOf(node.kind) % COLOURS}`, cx: node.x, cy: node.y, r: 4.5 + Math.min(7, 1.6 * Math.sqrt(node.degree)) }),
      labelled.has(node.id) && svg("text", { x: label.x, y: node.y + 10 + size.line, "text-anchor": "middle" }, label.words));
  });
  const picture = svg("svg", { class: "graph", role: "group", "aria-label": "The picture; the list below says the same" }, svg("g", { class: "lines" }, lines), marks);
  const show = () => picture.setAttribute("viewBox", [view.x, view.y, view.width, view.height].join(" "));
  const zoom = (factor, x = view.x + view.width / 2, y = view.y + view.height / 2) => {
    const width = Math.max(size.width / 8, Math.min(size.width, view.width * factor));
    const ratio = width / view.width;
    Object.assign(view, { x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio, width, height: view.height * ratio });
    move(0, 0);
  };
  const move = (dx, dy) => {
    view.x = Math.max(0, Math.min(size.width - view.width, view.x + dx));
    view.y = Math.max(0, Math.min(size.height - view.height, view.y + dy));
    show();
  };
  listenTo(picture, view, zoom, move);
  show();
  return h("div", { class: "graph-frame" }, picture,
    h("div", { class: "graph-zoom" }, button("", () => zoom(0.7), { symbol: "plus", "aria-label": "Nearer" }), button("–", () => zoom(1 / 0.7), { "aria-label": "Farther" })));
}

/** Drag to move, turn the wheel with Ctrl to zoom. A drag is no click. */
function listenTo(picture, view, zoom, move) {
  let last = null;
  let isDragged = false;
  const scale = () => view.width / picture.clientWidth;
  picture.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = picture.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.15 : 0.87, view.x + (event.clientX - box.left) * scale(), view.y + (event.clientY - box.top) * scale());
  }, { passive: false });
  picture.addEventListener("pointerdown", (event) => { last = event; isDragged = false; });
  addEventListener("pointerup", () => { last = null; });
  picture.addEventListener("pointermove", (event) => {
    if (!last || (!isDragged && Math.hypot(event.clientX - last.clientX, event.clientY - last.clientY) < 4)) return;
    isDragged = true;
    move((last.clientX - event.clientX) * scale(), (last.clientY - event.clientY) * scale());
    last = event;
  });
  picture.addEventListener("click", (event) => isDragged && event.preventDefault(), true);
  picture.addEventListener("dragstart", (event) => event.preventDefault());
}

const listKinds = (nodes) => [...new Set(nodes.map(({ kind }) => kind))];

const drawLegend = ({ nodes }) => h("p", { class: "legend" }, listKinds(nodes).map((kind, at) => h("span", null, h("i", { class: `kind-${at % COLOURS}` }), sayWord(kind))),
  h("span", null, h("i", { class: "line stored" }), "linked"), h("span", null, h("i", { class: "line" }), "near by meaning, or told together"));

/** The same as a list, the strongest pairs first; around a memory, each of its neighbours. */
function drawList({ nodes, edges }, middle) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const walk = (node) => h("a", { href: `#/graph?id=${encodeURIComponent(node.id)}`, dir: "auto" }, shorten(node.label ?? node.text, 90));
  const pairs = edges.filter(({ source, target }) => byId.has(source) && byId.has(target) && (!middle || [source, target].includes(middle.id))).sort((one, other) => other.weight - one.weight)
    .filter(({ source, target }, at, all) => all.findIndex((edge) => [edge.source, edge.target].sort().join() === [source, target].sort().join()) === at);
  const rows = pairs.slice(0, LISTED).map(({ source, target, reason, type }) => h("li", null,
    middle ? walk(byId.get(source === middle.id ? target : source)) : [walk(byId.get(source)), h("span", { class: "soft" }, " and "), walk(byId.get(target))],
    h("p", { class: "meta" }, reason || sayWord(type))));
  return section(middle ? "What belongs to it" : "What belongs together", {}, h("details", { open: Boolean(middle) }, h("summary", null, "As a list"), h("ul", { class: "plain rows" }, rows)),
    pairs.length > LISTED && h("p", { class: "hint" }, `and ${count(pairs.length - LISTED, "more pair")}.`));
}
