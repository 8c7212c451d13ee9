"""The script that draws the picture in light and dark, and places its labels."""

from __future__ import annotations

DRAWING = """
"use strict";
(() => {
  const { traces, labels, memories } = JSON.parse(document.getElementById("picture").textContent);
  const chart = document.getElementById("graph"), told = document.getElementById("told");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const mouse = window.matchMedia("(pointer: fine)");
  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const copy = (value) => JSON.parse(JSON.stringify(value));
  // plotly reads tags, entities and formulas.
  const escape = (text) => text.replace(/[&<>$]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const pen = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.body).fontFamily;
  const FONT = 12, GAP = 3;
  // A telephone is high and not wide: the picture lies on its side there, with smaller marks.
  const isNarrow = () => chart.clientWidth < 520;
  const turn = (thing) => isNarrow() ? { ...thing, x: thing.y, y: thing.x } : thing;
  const scale = (size) => isNarrow() ? 0.75 * size : size;
  const cut = (text, most) => {
    const signs = [...text];
    return signs.length <= most ? text : `${signs.slice(0, most - 1).join("").trimEnd()}…`;
  };
  const wrap = (text, most) => {
    pen.font = `13px ${family}`;
    const lines = [""];
    for (const part of text.match(/[^\\s\\u2e80-\\uffff]{1,30}\\s?|\\s|[^]/gu) || []) {
      const longer = lines[lines.length - 1] + part;
      if (pen.measureText(longer.trimEnd()).width > most) lines.push(part);
      else lines[lines.length - 1] = longer;
    }
    return lines.map((line) => line.trimEnd());
  };
  const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom
    && b.top < a.bottom;

  // A label stands beside its mark where it covers no other mark and no other label, or not at all.
  const place = () => {
    const { xaxis, yaxis, _size: size } = chart._fullLayout;
    const frame = { left: 0, top: 0, right: size.w, bottom: size.h };
    pen.font = `${FONT}px ${family}`;
    const marks = labels.map(turn).map((label) => {
      const x = xaxis.l2p(label.x), y = yaxis.l2p(label.y), half = scale(label.size) / 2;
      return { x, y, half, left: x - half, right: x + half, top: y - half, bottom: y + half };
    });
    const taken = marks.slice(), notes = [];
    labels.forEach((label, number) => {
      const mark = marks[number];
      if (mark.x < 0 || mark.y < 0 || mark.x > frame.right || mark.y > frame.bottom) return;
      for (const most of isNarrow() ? [22, 12] : [36, 22, 12]) {
        const text = cut(label.text, most);
        const wide = pen.measureText(text).width, high = FONT * 1.3;
        const boxes = [
          [mark.right + GAP, mark.y - high / 2], [mark.left - GAP - wide, mark.y - high / 2],
          [mark.x - wide / 2, mark.bottom + GAP], [mark.x - wide / 2, mark.top - GAP - high],
        ].map(([left, top]) => ({ left, top, right: left + wide, bottom: top + high }));
        const free = boxes.find((box) => box.left >= 0 && box.top >= 0 && box.right <= frame.right
          && box.bottom <= frame.bottom
          && !taken.some((other) => other !== mark && meets(box, other)));
        if (!free) continue;
        taken.push(free);
        notes.push({ text: escape(text), showarrow: false, xref: "x", yref: "y",
          x: xaxis.p2l((free.left + free.right) / 2), y: yaxis.p2l((free.top + free.bottom) / 2),
          borderpad: 0, bgcolor: colour("--label"), captureevents: false,
          font: { size: FONT, color: colour("--ink") } });
        return;
      }
    });
    return notes;
  };

  let placing = false;
  const annotate = () => {
    placing = true;
    Plotly.relayout(chart, { annotations: place() }).then(() => { placing = false; });
  };
  const headings = (trace) => trace.meta === "middles" ? 2 : 1;
  // Beside a mark on a telephone there is no room: what it says stands below the picture.
  const tell = (event) => {
    const { data, customdata } = event.points[0];
    if (!isNarrow() || !customdata) return;
    told.replaceChildren(...customdata.map((row, number) => {
      const line = document.createElement(number < headings(data) ? "b" : "span");
      line.textContent = row;
      return line;
    }));
  };
  const tint = (trace) => {
    if (trace.meta === "stored") trace.line.color = colour("--link");
    if (trace.meta === "computed") trace.line.color = colour("--relation");
    if (trace.customdata) {
      const heads = headings(trace);
      trace.hoverinfo = isNarrow() ? "none" : "text";
      trace.hovertext = trace.customdata.map((rows) => rows.map((row, number) => {
        const shown = wrap(row, 320).map(escape).join("<br>");
        return number < heads ? `<b>${shown}</b>` : shown;
      }).join("<br>"));
    }
    if (trace.meta === "memories") {
      trace.marker.size = trace.marker.size.map(scale);
      trace.marker.line.color = trace.marker.line.width.map((width) =>
        colour(width > 1 ? "--ink" : "--card"));
    }
    return turn(trace);
  };
  const draw = () => {
    const ink = colour("--ink");
    const high = Math.min(900, Math.max(300, 170 + 62 * Math.sqrt(memories)));
    const axis = () => ({
      visible: false, range: [-0.06, 1.06], fixedrange: !mouse.matches,
    });
    const layout = {
      width: chart.clientWidth, height: Math.round(isNarrow() ? 1.15 * high : high),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 8, r: 8, t: 8, b: 8 }, dragmode: mouse.matches ? "pan" : false,
      hovermode: "closest", xaxis: axis(), yaxis: axis(), annotations: [],
      font: { color: ink, size: 13, family }, showlegend: true,
      legend: { orientation: "h", x: 0, xanchor: "left", y: -0.01, yanchor: "top",
        itemsizing: "constant", itemclick: false, itemdoubleclick: false },
      hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--line"),
        font: { color: ink, size: 13, family }, align: "left", namelength: -1 },
    };
    Plotly.react(chart, copy(traces).map(tint), layout, {
      displaylogo: false, displayModeBar: mouse.matches,
      modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d"]],
    }).then(annotate);
  };
  let waiting = 0;
  const redraw = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(draw);
  };
  draw();
  chart.on("plotly_hover", tell);
  chart.on("plotly_click", tell);
  chart.on("plotly_relayout", () => { if (!placing) annotate(); });
  dark.addEventListener("change", redraw);
  window.addEventListener("resize", redraw);
})();
"""
