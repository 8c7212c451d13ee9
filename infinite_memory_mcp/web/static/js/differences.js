// What changed between two texts, word by word.

import { h } from "./dom.js";
import { sayMoment } from "./format.js";

const MOST = 1600;
const isSame = (one, other) => one.trim() === other.trim();

/** Return `[["same" | "gone" | "new", text], ...]`; where very many words differ, they are one change. */
export function compareWords(before, after) {
  const one = before.match(/\s*\S+/g) ?? [];
  const other = after.match(/\s*\S+/g) ?? [];
  // What both begin and end with needs no comparison of each word with each.
  const least = Math.min(one.length, other.length);
  let first = 0;
  while (first < least && isSame(one[first], other[first])) first++;
  let last = 0;
  while (last < least - first && isSame(one.at(-1 - last), other.at(-1 - last))) last++;
  const middle = (words) => words.slice(first, words.length - last);
  const ends = (kind, words) => (words.length ? [[kind, words.join("")]] : []);
  return [...ends("same", other.slice(0, first)), ...compareMiddle(middle(one), middle(other), ends), ...ends("same", last ? other.slice(-last) : [])];
}

function compareMiddle(one, other, ends) {
  if (one.length > MOST || other.length > MOST) return [...ends("gone", one), ...ends("new", other)];
  // The longest common subsequence, from its end.
  const longest = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      longest[i][j] = isSame(one[i], other[j]) ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const parts = [];
  const add = (kind, text) => (parts.at(-1)?.[0] === kind ? (parts.at(-1)[1] += text) : parts.push([kind, text]));
  let i = 0;
  let j = 0;
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && isSame(one[i], other[j])) { add("same", other[j]); i++; j++; }
    else if (j >= other.length || (i < one.length && longest[i + 1][j] >= longest[i][j + 1])) add("gone", one[i++]);
    else add("new", other[j++]);
  }
  return parts;
}

const TAGS = { same: "span", gone: "del", new: "ins" };

/** The differences as elements. */
export const drawDifferences = (before, after) => compareWords(before, after).map(([kind, text]) => [/^\s*/.exec(text)[0], h(TAGS[kind], null, text.trimStart())]);

const FIELDS = { status: "status", scope: "scope", kind: "kind", title: "title", tags: "tags", key: "key", valid_from: "holds from", valid_to: "holds until", happened_at: "told", important: "important", speaker: "by" };

const MOMENTS = new Set(["valid_from", "valid_to", "happened_at"]);
const STATUSES = { current: "brought back", superseded: "replaced by a later one", forgotten: "forgotten", archived: "put into the archive", held: "waits for a yes" };

function say(field, value) {
  if (value === null || value === undefined || value === "" || value.length === 0) return "nothing";
  if (MOMENTS.has(field)) return sayMoment(value);
  return Array.isArray(value) ? value.join(", ") : String(value);
}

function sayChange(field, words, before, after) {
  if (field !== "status") return `${words}: ${say(field, before)}, then ${say(field, after)}`;
  return before === "held" && after === "current" ? "taken" : STATUSES[after] ?? `${words}: ${after}`;
}

/** The other fields that changed, as words such as "forgotten" or "scope: Home, then Work". */
export const listChanges = (before, after) =>
  Object.entries(FIELDS).filter(([field]) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .map(([field, words]) => sayChange(field, words, before[field], after[field]));
