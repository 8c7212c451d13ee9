// Elements are made by `h` and `svg` alone. Whatever a memory says becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";
const SAFE_LINK = /^(#|\/(?!\/)|blob:|data:image\/png)/;

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
  else if (name === "data") Object.assign(element.dataset, value);
  else if (name === "value" || name === "checked" || name === "indeterminate") element[name] = value;
  else if ((name === "href" || name === "src") && !SAFE_LINK.test(value)) throw new Error(`no link to ${value}`);
  else element.setAttribute(name, value === true ? "" : value);
}

/** Give an element attributes and children; null, undefined and false are no children. */
export function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) set(element, name, value);
  element.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

/** An HTML element: attributes by name, listeners as `onclick`, `data` and `style` as objects; children are elements or texts. */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** An element of SVG, the same way. */
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const PATHS = {
  ask: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13ZM20 20l-4.8-4.8",
  today: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8ZM12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  facts: "M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3ZM5 17a3 3 0 0 1 3-3h11M9 8h6",
  settle: "M12 4v16M7 20h10M5 7h14M5 7l-3 7a3 3 0 0 0 6 0ZM19 7l-3 7a3 3 0 0 0 6 0Z",
  activity: "M3 12h4l3-8 4 16 3-8h4",
  graph: "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM18 11.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM9 21.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM8.3 6l7.4 2.2M6.4 7.5l2.2 9M16.2 10.8l-5.6 6.4",
  insights: "M4 20h16M7 20v-7M12 20V5M17 20v-10",
  keep: "M3 4h18v5H3ZM5 9v11h14V9M10 13h4",
  more: "M5 11a1 1 0 1 0 0 2 1 1 0 0 0 0-2ZM12 11a1 1 0 1 0 0 2 1 1 0 0 0 0-2ZM19 11a1 1 0 1 0 0 2 1 1 0 0 0 0-2Z",
  keys: "M3 6h18v12H3ZM7 10h.01M11 10h.01M15 10h.01M8 14h8",
  check: "M5 12.5l4.5 4.5L19 7",
  close: "M6 6l12 12M18 6L6 18",
  undo: "M9 14L4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  edit: "M4 20l1-5L16 4l4 4L9 19ZM13.5 6.5l4 4",
  clock: "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18ZM12 7v5l3.5 2",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  end: "M5 4v16M5 5h12l-2 4 2 4H5",
  why: "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18ZM9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.8.4-1 .9-1 1.7M12 16.5h.01",
  down: "M6 9l6 6 6-6",
  plus: "M12 5v14M5 12h14",
  lock: "M6 11h12v9H6ZM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
};

/** A small line drawing, which a screen reader passes over; its name is one of the table above. */
export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: PATHS[name] ?? PATHS.more }));
}
