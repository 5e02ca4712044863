"use strict";
const COLOURS = ["#4477aa", "#ee6677", "#228833", "#bb9900", "#3399bb", "#aa3377", "#888888", "#e08214", "#7755bb", "#557755"];
const WAITING_MS = 100;

function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return Array.from(new Float32Array(bytes.buffer), (x) => (Number.isFinite(x) ? x : null));
}

const { warmup, sections } = JSON.parse(document.getElementById("data").textContent);
const charts = [];
let zooming = false;

function zoomAll(from) {
  if (zooming) return;
  zooming = true;
  const { min, max } = from.scales.x;
  for (const chart of charts) if (chart !== from) chart.setScale("x", { min, max });
  zooming = false;
}

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function shadeWarmup(chart) {
  const { left, top, width, height } = chart.bbox;
  const right = Math.min(Math.max(chart.valToPos(warmup, "x", true), left), left + width);
  chart.ctx.fillStyle = style("--warm");
  chart.ctx.fillRect(left, top, right - left, height);
}

function draw(description, place, isSmall) {
  if (description.title) {
    const heading = document.createElement("h3");
    heading.textContent = description.title;
    place.append(heading);
  }
  if (description.data.slice(1).every((text) => unpack(text).every((x) => !x))) {
    const note = document.createElement("p");
    note.className = "hint";
    note.textContent = "Nothing, at any time.";
    place.append(note);
    return;
  }
  const series = description.labels.map((label, i) => {
    const dash = label === "marked" ? [4, 3] : undefined;
    const colour = COLOURS[description.colours[i] % COLOURS.length];
    const dots = description.dots ? { paths: () => null, points: { show: true, size: 4, fill: colour } } : {};
    return { label, stroke: colour, width: 1, dash, spanGaps: true, ...dots };
  });
  const named = series.length;
  // The edges of bands follow the lines, two for each line that has one.
  const bands = description.bands.map((line, i) => {
    const colour = COLOURS[description.colours[line] % COLOURS.length];
    series.push({ show: true, width: 0, points: { show: false } }, { show: true, width: 0, points: { show: false } });
    return { series: [named + 2 * i + 2, named + 2 * i + 1], fill: colour + "33" };
  });
  const axis = () => ({ stroke: style("--text"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 } });
  const highest = (max) => (description.top ?? (max > 0 ? max : 1)) * 1.05 || 1;
  const chart = new uPlot({
    width: place.clientWidth,
    height: isSmall ? 200 : 260,
    legend: { show: !isSmall || named > 1 },
    cursor: { sync: { key: "time" } },
    scales: { x: { time: false }, y: { range: (_, min, max) => [Math.min(0, min ?? 0), highest(max)] } },
    axes: [{ ...axis(), label: "time (s)" }, { ...axis(), label: description.unit, size: 60 }],
    series: [{ label: "time (s)" }, ...series],
    bands,
    hooks: { setScale: [(chart, key) => key === "x" && zoomAll(chart)], drawClear: [shadeWarmup] },
  }, description.data.map(unpack), place);
  for (const row of [...chart.root.querySelectorAll(".u-legend .u-series")].slice(named + 1)) row.hidden = true;
  charts.push(chart);
}

const home = document.getElementById("charts");
for (const section of sections) {
  const heading = document.createElement("h2");
  heading.textContent = section.title;
  const row = document.createElement("div");
  row.className = section.charts.length > 1 ? "many" : "one";
  home.append(heading, row);
  for (const chart of section.charts) {
    const place = document.createElement("div");
    row.append(place);
    draw(chart, place, section.charts.length > 1);
  }
}

let waiting;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    for (const chart of charts) chart.setSize({ width: chart.root.parentElement.clientWidth, height: chart.height });
  }, WAITING_MS);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => location.reload());
