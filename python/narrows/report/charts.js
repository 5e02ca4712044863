"use strict";
const COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#888888", "#000000", "#e08214", "#542788"];

function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return Array.from(new Float32Array(bytes.buffer), (x) => (Number.isFinite(x) ? x : null));
}

const home = document.getElementById("charts");
const charts = [];
let zooming = false;

function zoomAll(from) {
  if (zooming) return;
  zooming = true;
  const { min, max } = from.scales.x;
  for (const chart of charts) if (chart !== from) chart.setScale("x", { min, max });
  zooming = false;
}

function draw(description) {
  const heading = document.createElement("h2");
  heading.textContent = `${description.title} (${description.unit})`;
  home.append(heading);
  const series = description.labels.map((label, i) => ({ label, stroke: COLOURS[i % COLOURS.length], width: 1 }));
  const options = {
    width: Math.min(1080, document.body.clientWidth - 32),
    height: 260,
    cursor: { sync: { key: "time" } },
    scales: { x: { time: false }, y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.05 : 1] } },
    axes: [{ label: "time (s)" }, { label: description.unit, size: 70 }],
    series: [{ label: "time (s)" }, ...series],
    hooks: { setScale: [(chart, key) => key === "x" && zoomAll(chart)] },
  };
  charts.push(new uPlot(options, description.data.map(unpack), home));
}

JSON.parse(document.getElementById("data").textContent).forEach(draw);
