// The editor of a scorecard: drag the points of a shape or a bin, see what changes, save the edits as JSON.
"use strict";
const card = JSON.parse(document.getElementById("card").textContent);
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg", WIDTH = 720, HEIGHT = 360, LEFT = 60, RIGHT = 20, TOP = 16, FOOT = 32;

// Edits: of single knots, levels and missing cells first, then of ranges, in the order in which they were made.
const edits = card.columns.map(() => ({ at: new Map(), missing: null, ranges: [], reason: "" }));
let column = 0, byBins = false;

function lineValue(c, values, x) {
  const k = c.knots;
  if (k.length < 2) return values[0];
  let a = 0, b = k.length - 1;
  while (b - a > 1) { const m = (a + b) >> 1; if (k[m] <= x) a = m; else b = m; }
  let t = (x - k[a]) / (k[a + 1] - k[a]);
  t = c.steps[a] ? (t < 0.5 ? 0 : 1) : Math.min(Math.max(t, 0), 1);
  return values[a] + t * (values[a + 1] - values[a]);
}

function editedValues(j) {
  const values = card.columns[j].values.slice();
  edits[j].at.forEach((value, k) => { values[k] = value; });
  return values;
}

function contribution(j, values, x) {
  const c = card.columns[j], own = edits[j];
  if (x === null) return own.missing === null ? c.missing : own.missing;
  if (c.levels) return values[x];
  let v = lineValue(c, values, x);
  for (const r of own.ranges) if ((r.low === null || x >= r.low) && (r.high === null || x < r.high)) v = r.value;
  return v;
}

const isEdited = (j) => edits[j].at.size > 0 || edits[j].missing !== null || edits[j].ranges.length > 0;

// What the evaluation rows say

function scores() {
  const out = card.rows.scores.slice();
  card.columns.forEach((c, j) => {
    if (!isEdited(j)) return;
    const values = editedValues(j), cells = card.rows.cells[j], old = card.rows.contributions[j];
    for (let i = 0; i < out.length; i++) out[i] += contribution(j, values, cells[i]) - old[i];
  });
  return out;
}

function auc(scores, labels) {
  const order = [...scores.keys()].sort((a, b) => scores[a] - scores[b]);
  let below = 0, pairs = 0, positives = 0;
  for (let i = 0; i < order.length;) {
    let j = i, pos = 0, neg = 0;
    while (j < order.length && scores[order[j]] === scores[order[i]]) { if (labels[order[j]]) pos++; else neg++; j++; }
    pairs += pos * (below + neg / 2); below += neg; positives += pos; i = j;
  }
  return pairs / (positives * below);
}

function stability(before, after) {
  // The population stability index of the scores after the edits, in tenths of the scores before them.
  const sorted = before.slice().sort((a, b) => a - b), n = sorted.length;
  const edges = [...Array(9).keys()].map((k) => sorted[Math.floor((k + 1) * n / 10)]);
  const shares = (s) => {
    const count = Array(10).fill(0.5);
    for (const x of s) { let k = 0; while (k < 9 && x >= edges[k]) k++; count[k]++; }
    return count.map((c) => c / (s.length + 5));
  };
  const p = shares(before), q = shares(after);
  return p.reduce((sum, each, k) => sum + (q[k] - each) * Math.log(q[k] / each), 0);
}

function rates(scores, labels) {
  let called = 0, right = 0, positives = 0;
  scores.forEach((s, i) => { if (s >= 0) { called++; right += labels[i]; } positives += labels[i]; });
  return { called: called / scores.length, precision: called ? right / called : NaN, recall: right / positives };
}

function measure() {
  if (!card.rows) return;
  const after = scores(), labels = card.rows.labels, before = card.rows.scores;
  const a = auc(before, labels), b = auc(after, labels), r = rates(before, labels), s = rates(after, labels);
  const percent = (x) => (100 * x).toFixed(1) + " %";
  const line = (name, old, now) => `<tr><th scope="row">${name}</th><td>${old}</td><td>${now}</td></tr>`;
  $("measures").innerHTML = line("AUC", a.toFixed(6), `<output id="auc">${b.toFixed(6)}</output>`)
    + line("Stability (PSI of the scores)", "0.0000", `<output id="psi">${stability(before, after).toFixed(4)}</output>`)
    + line("Rows above the threshold", percent(r.called), percent(s.called))
    + line("Positives among them", percent(r.precision), percent(s.precision))
    + line("Share of the positives", percent(r.recall), percent(s.recall));
}

// The picture of a column: its knots, levels or bins side by side, so that heavy tails have room

function handles() {
  const c = card.columns[column], values = editedValues(column);
  const out = [];
  if (byBins) {
    c.bins.forEach((bin, k) => out.push({ text: bin.text, bin: k, value: contribution(column, values, bin.center),
      old: bin.value, rate: bin.rate, rows: bin.rows }));
  } else {
    values.forEach((value, k) => out.push({ text: c.texts[k], knot: k, value, old: c.values[k],
      rate: c.rates[k], rows: c.rows[k] }));
  }
  out.push({ text: "missing", missing: true, value: contribution(column, values, null), old: c.missing,
    rate: c.missingRate, rows: c.missingRows });
  return out;
}

const node = (name, attributes, text) => {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
};

let axis = [0, 1];
const across = (k, n) => LEFT + (k + 0.5) * (WIDTH - LEFT - RIGHT) / n;
const up = (v) => HEIGHT - FOOT - (v - axis[0]) / (axis[1] - axis[0]) * (HEIGHT - FOOT - TOP);
const down = (y) => axis[0] + (HEIGHT - FOOT - y) / (HEIGHT - FOOT - TOP) * (axis[1] - axis[0]);

function rescale() {
  const all = handles().flatMap((h) => [h.value, h.old, 0]);
  const low = Math.min(...all), high = Math.max(...all), room = 0.25 * (high - low) || 1;
  axis = [low - room, high + room];
}

// A round step, 1, 2 or 5 times a power of ten, of which about five fit into a range.
function tickStep(range) {
  const power = 10 ** Math.floor(Math.log10(range / 5)), rest = range / 5 / power;
  return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

function draw() {
  const svg = $("picture"), all = handles(), n = all.length, wide = (WIDTH - LEFT - RIGHT) / n;
  svg.replaceChildren();
  const most = Math.max(...all.map((h) => h.rate || 0), 1e-9), c = card.columns[column];
  all.forEach((h, k) => {
    const height = 0.35 * (HEIGHT - FOOT - TOP) * (h.rate || 0) / most;
    svg.append(node("rect", { class: "band", x: across(k, n) - wide * 0.4, y: HEIGHT - FOOT - height,
      width: wide * 0.8, height }));
  });
  svg.append(node("path", { class: "chance", d: `M${LEFT} ${up(0)}H${WIDTH - RIGHT}` }));
  const tick = tickStep(axis[1] - axis[0]);
  for (let k = Math.ceil(axis[0] / tick); k * tick <= axis[1]; k++) {
    const text = (k * tick).toFixed(Math.max(0, -Math.floor(Math.log10(tick))));
    svg.append(node("text", { class: "tick", x: LEFT - 6, y: up(k * tick) + 4, "text-anchor": "end" }, text));
  }
  const every = Math.ceil(n / 9);
  all.forEach((h, k) => {
    if (k % every && k !== n - 1) return;
    if (k !== n - 1 && n - 1 - k < every) return;
    const text = h.text.length > 11 ? h.text.slice(0, 10) + "…" : h.text;
    svg.append(node("text", { class: "tick", x: across(k, n), y: HEIGHT - FOOT + 16, "text-anchor": "middle" }, text));
  });
  const path = (field) => all.slice(0, -1).map((h, k) => (k ? "L" : "M") + across(k, n) + " " + up(h[field])).join("");
  if (!c.levels && !byBins) {
    svg.append(node("path", { class: "line faint rival", d: path("old") }));
    svg.append(node("path", { class: "line ours", d: path("value") }));
  }
  all.forEach((h, k) => {
    svg.append(node("circle", { class: "dot rival", cx: across(k, n), cy: up(h.old), r: 2.5 }));
    if (byBins) svg.append(node("path", { class: "line ours",
      d: `M${across(k, n) - wide * 0.45} ${up(h.value)}h${wide * 0.9}` }));
    const dot = node("circle", { class: "dot ours handle", cx: across(k, n), cy: up(h.value), r: 7, tabindex: 0,
      "data-handle": k, style: "cursor: ns-resize" });
    const points = (card.factor * h.value).toFixed(0);
    dot.append(node("title", {}, `${h.text}: ${h.value.toFixed(4)}, ${points} points; ${h.rows} rows, `
      + `${h.rate === null ? "–" : (100 * h.rate).toFixed(1) + " %"} positive`));
    svg.append(dot);
  });
}

// Dragging

function move(k, value) {
  const h = handles()[k], own = edits[column];
  if (h.missing) own.missing = value;
  else if (byBins) {
    const bin = card.columns[column].bins[h.bin];
    if (bin.levels) bin.levels.forEach((level) => own.at.set(level, value));
    else {
      own.ranges = own.ranges.filter((r) => r.low !== bin.low || r.high !== bin.high);
      own.ranges.push({ low: bin.low, high: bin.high, value });
    }
  } else own.at.set(h.knot, value);
}

function value_at(event) {
  const box = $("picture").getBoundingClientRect();
  return down((event.clientY - box.top) * HEIGHT / box.height);
}

let held = null;
$("picture").addEventListener("pointerdown", (event) => {
  const k = event.target.getAttribute("data-handle");
  if (k === null) return;
  held = Number(k);
  event.preventDefault();
});
window.addEventListener("pointermove", (event) => {
  if (held === null) return;
  move(held, value_at(event));
  draw();
});
window.addEventListener("pointerup", () => { if (held !== null) { held = null; refresh(); } });
$("picture").addEventListener("keydown", (event) => {
  const k = event.target.getAttribute("data-handle"), step = (axis[1] - axis[0]) / 100;
  if (k === null || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
  move(Number(k), handles()[Number(k)].value + (event.key === "ArrowUp" ? step : -step));
  event.preventDefault();
  refresh();
  $("picture").querySelector(`[data-handle="${k}"]`).focus();
});

// What is saved

function saved() {
  const out = [];
  card.columns.forEach((c, j) => {
    const own = edits[j], usual = { column: c.name, action: "set" };
    const reason = own.reason ? { reason: own.reason } : {};
    own.at.forEach((value, k) => {
      out.push({ ...usual, ...(c.levels ? { levels: [c.levels[k]] } : { at: c.knots[k] }), value, ...reason });
    });
    if (own.missing !== null) out.push({ ...usual, missing: true, value: own.missing, ...reason });
    for (const r of own.ranges) {
      const ends = { ...(r.low === null ? {} : { low: r.low }), ...(r.high === null ? {} : { high: r.high }) };
      out.push({ ...usual, ...ends, value: r.value, ...reason });
    }
  });
  return { edits: out };
}

function refresh() {
  rescale();
  draw();
  measure();
  $("json").value = JSON.stringify(saved(), null, 1);
  [...$("column").options].forEach((option, j) => {
    option.textContent = (isEdited(j) ? "● " : "") + card.columns[j].name;
  });
}

card.columns.forEach((c, j) => { const o = document.createElement("option"); o.value = j; $("column").append(o); });
$("column").addEventListener("change", (event) => {
  column = Number(event.target.value);
  $("reason").value = edits[column].reason;
  refresh();
});
$("bins").addEventListener("change", (event) => { byBins = event.target.checked; refresh(); });
$("reason").addEventListener("input", (event) => { edits[column].reason = event.target.value; refresh(); });
$("undo").addEventListener("click", () => {
  edits[column] = { at: new Map(), missing: null, ranges: [], reason: edits[column].reason };
  refresh();
});
$("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([$("json").value], { type: "application/json" }));
  link.download = "edits.json";
  link.click();
  URL.revokeObjectURL(link.href);
});
refresh();
