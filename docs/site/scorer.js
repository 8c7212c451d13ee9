/* Whoever searches wants the guide before the decision behind it, and before the changelog. */
var Scorer = {
  score: ([page, , , , score]) => (/^docs\/(decisions|changelog)/.test(page) ? score / 4 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
