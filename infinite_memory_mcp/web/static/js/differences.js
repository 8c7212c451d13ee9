// What changed between two texts, word by word.

import { h } from "./dom.js";

const MOST = 900;
const isSame = (one, other) => one.trim() === other.trim();

/** Return `[["same" | "gone" | "new", text], ...]`; texts of very many words are one change. */
export function compareWords(before, after) {
  const one = before.match(/\s*\S+/g) ?? [];
  const other = after.match(/\s*\S+/g) ?? [];
  if (one.length > MOST || other.length > MOST) return before === after ? [["same", before]] : [["gone", before], ["new", after]];
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

const say = (value) => (value === null || value === "" || value?.length === 0 ? "nothing" : Array.isArray(value) ? value.join(", ") : String(value));

/** The other fields that changed, as sentences such as "status: current, now replaced". */
export const listChanges = (before, after) =>
  Object.entries(FIELDS).filter(([field]) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .map(([field, words]) => `${words}: ${say(before[field])}, then ${say(after[field])}`);
