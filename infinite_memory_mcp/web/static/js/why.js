// Why a memory stands where it does in an answer, and why another does not.

import { call } from "./api.js";
import { button, card, failure, waiting } from "./components.js";
import { h } from "./dom.js";
import { shorten } from "./format.js";

// By the fields of an explanation, in the order in which they count.
const PARTS = {
  meaning: "It means something similar", words: "It has words of the question", former: "What it replaced fits too",
  conversation: "It fits best of what was told with it", around: "What was said next to it fits", sentences: "It fits a sentence of the question",
  quoted: "It has the quoted words", speaker: "The question names who said it", time: "It is of the time asked for",
  scope: "The question names its scope", important: "It is marked as important", later: "It was told later than a like one",
  summary: "It sums up others", linked: "Links lead to it", is_question: "It is a question itself", not_useful: "Somebody found it not useful for this",
};

/** The parts of a score, as bars. */
export function drawExplanation(explanation, score) {
  const parts = Object.entries(PARTS).map(([name, words]) => [words, explanation[name] ?? 0]).filter(([, value]) => Math.abs(value) >= 0.005);
  const most = Math.max(...parts.map(([, value]) => Math.abs(value)), 0.01);
  const rank = [explanation.meaning_rank && `number ${explanation.meaning_rank} by meaning`, explanation.words_rank && `number ${explanation.words_rank} by its words`].filter(Boolean);
  return h("div", { class: "why" },
    h("p", null, rank.length ? `Of all memories it is ${rank.join(" and ")}. ` : "", score !== undefined && `Its relevance is ${score.toFixed(2)} of 1; what raised or lowered its place:`),
    h("table", null, h("tbody", null, parts.map(([words, value]) => h("tr", null, h("th", { scope: "row" }, words),
      h("td", { class: "bar-cell" }, h("span", { class: value < 0 ? "bar minus" : "bar", style: { width: `${(Math.abs(value) / most) * 100}%` } })),
      h("td", null, `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`))))));
}

/** A button that opens and closes what `draw()` answers, under a card. */
export function unfold(label, draw, options = { kind: "bare", symbol: "why" }) {
  const place = h("div", { class: "above" });
  const toggle = button(label, async () => {
    const isOpen = toggle.getAttribute("aria-expanded") === "true";
    toggle.setAttribute("aria-expanded", String(!isOpen));
    place.replaceChildren();
    if (isOpen) return;
    place.append(waiting(2));
    place.replaceChildren(await Promise.resolve(draw()).catch((error) => failure(error)));
  }, { ...options, "aria-expanded": "false" });
  return { toggle, place };
}

/** A form that finds the memory that one misses, and says which step keeps it out of the answer to `question`. */
export function drawMissing(question, conditions) {
  const field = h("input", { type: "search", "aria-label": "Words of the memory that you miss", placeholder: "Words of the memory that you miss", size: 34 });
  const found = h("div");
  const { scope } = conditions;

  async function say(memory, place) {
    place.replaceChildren(waiting(1));
    const absence = await call("why_not", { query: question, memory_id: memory.id, cut: "asked", ...conditions });
    const reason = absence.step === "found" ? "It is in the answer." : `${absence.reason[0].toUpperCase()}${absence.reason.slice(1)}.`;
    place.replaceChildren(h("p", { class: "why" }, reason, absence.found_in === "history" && " With replaced ones shown, it is there."),
      absence.explanation ? drawExplanation(absence.explanation, absence.score ?? undefined) : "");
  }

  async function find(event) {
    event.preventDefault();
    if (!field.value.trim()) return;
    found.replaceChildren(waiting(2));
    try {
      const { hits } = await call("search", { query: field.value, depth: "exhaustive", limit: 5, ...(scope && { scope }) });
      found.replaceChildren(...(hits.length ? hits : []).map((hit) => {
        const place = h("div", { class: "above" });
        const run = () => say(hit, place).catch((error) => place.replaceChildren(failure(error)));
        return card(hit, { text: shorten(hit.text, 140), extra: place, aside: button("Why not this?", run) });
      }));
      if (!hits.length) found.append(h("p", { class: "hint" }, "No memory has words like these."));
    } catch (error) {
      found.replaceChildren(failure(error));
    }
  }

  return h("form", { class: "missing", onsubmit: find }, h("div", { class: "row" }, field, h("button", null, "Find it")), found);
}
