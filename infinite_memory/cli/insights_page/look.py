"""How the page looks in light and dark, and the script that draws its charts."""

from __future__ import annotations

__all__ = ["DRAWING", "STYLE"]

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --card: #f6f7f9; --ink: #1c2026;
  --soft: #59636e; --line: #d8dde3; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --card: #1d2126; --ink: #e6e9ed; --soft: #9aa5b1; --line: #343a42; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 16px 64px; max-width: 1080px; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 1.1rem; margin: 0 0 4px; }
p { margin: 0 0 8px; }
.soft { color: var(--soft); font-size: .9rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px;
  margin: 20px 0; padding: 0; list-style: none; }
.tiles li, section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.tiles li { padding: 10px 14px; }
.tiles b { display: block; font-size: 1.5rem; line-height: 1.3; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr));
  gap: 16px; margin-top: 16px; }
section { padding: 14px 16px; min-width: 0; }
section.wide { grid-column: 1 / -1; }
.chart { width: 100%; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: 4px 12px 4px 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; overflow-wrap: normal; }
td { min-width: 4.5rem; }
td:first-child, td:last-child { min-width: 10rem; }
details { margin-top: 8px; font-size: .9rem; }
summary { cursor: pointer; color: var(--soft); }
@media print { details, summary { display: none; } section { break-inside: avoid; } }
"""

DRAWING = """
"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const copy = (value) => JSON.parse(JSON.stringify(value));
  const axis = (given) => ({
    gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line"),
    automargin: true, ...given,
    title: { ...given.title, font: { size: 12, color: colour("--soft") } },
  });
  const draw = () => {
    const ink = colour("--ink");
    for (const [id, chart] of Object.entries(charts)) {
      const layout = copy(chart.layout);
      Object.assign(layout, {
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false,
        font: { color: ink, size: 13, family: getComputedStyle(document.body).fontFamily },
        hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--line"),
          font: { color: ink }, align: "left" },
        xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis),
      });
      const width = document.getElementById(id).clientWidth;
      if (layout.xaxis.type === "category") {
        layout.xaxis.nticks = Math.max(2, Math.floor(width / 130));
        // On a phone the entries of the legend stand one below the other.
        if (width < 520) layout.height += 20 * chart.data.length;
      }
      Plotly.react(id, copy(chart.data), layout, { displayModeBar: false });
    }
  };
  let waiting = 0;
  const redraw = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(draw);
  };
  draw();
  dark.addEventListener("change", redraw);
  window.addEventListener("resize", redraw);
})();
"""
