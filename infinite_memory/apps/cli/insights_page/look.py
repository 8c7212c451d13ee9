"""The script that draws the charts of the page, in light and dark."""

from __future__ import annotations

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
