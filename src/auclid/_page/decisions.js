"use strict";
/* Looks numbers up and shows them; computes none. */
const byId = (id) => document.getElementById(id);
const all = (query) => [...document.querySelectorAll(query)];
const percent = (x) => (x === null ? "–" : (100 * x).toFixed(1) + " %");
const plain = (x) => (x === null ? "–" : x.toPrecision(3));
const count = (x) => (x === null ? "–" : x.toLocaleString("en", { maximumSignificantDigits: 3 }));
const STYLES = { lift: plain, f1: plain };
const PLACES = {
  roc: (m, k) => [m.fpr[k][0], m.tpr[k][0]],
  pr: (m, k) => [m.tpr[k][0], m.precision[k][0]],
  lift: (m, k) => [m.alert_rate[k][0], m.lift[k][0]],
};
const state = { first: 0, second: null, stop: 0, view: "roc" };

const ends = (triple, show) => `${show(triple[0])} <small>${show(triple[1])} – ${show(triple[2])}</small>`;

function pixel(svg, x, y) {
  const { x0, x1, y0, y1, log, left, right, top, bottom } = svg.dataset;
  const across = (log === "1" ? Math.log10(x) : x) - x0;
  return [
    Number(left) + (across / (x1 - x0)) * (right - left),
    Number(bottom) - ((y - y0) / (y1 - y0)) * (bottom - top),
  ];
}

/* The stop of another model with as many rows flagged, or fewer. */
function matching(model, rate) {
  const found = model.alert_rate.findIndex((triple) => triple[0] <= rate);
  return found < 0 ? model.alert_rate.length - 1 : found;
}

const priced = () => `cost_${byId("price").value}`;

function column(model, stop, place) {
  for (const row of all("#rates tbody tr")) {
    const name = row.dataset.metric === "cost" ? priced() : row.dataset.metric;
    const show = name.startsWith("c") || name === "alerts" ? count : STYLES[name] || percent;
    row.cells[place].innerHTML = ends(model[name][stop], show);
  }
}

function summary(model, stop) {
  const [tp, fp, fn] = ["tp", "fp", "fn"].map((cell) => model[`cell_${cell}`][stop][0]);
  const flagged = model.alerts[stop];
  return (
    `Of 1,000 rows ${count(flagged[0])} are flagged (${count(flagged[1])} – ${count(flagged[2])}): ` +
    `${count(tp)} positives and ${count(fp)} false alarms. ${count(fn)} positives are missed.`
  );
}

function mark(svg, kind, place) {
  const dot = svg.querySelector(`.mark.${kind}`);
  const known = place && place.every((x) => x !== null);
  const [x, y] = known ? pixel(svg, ...place) : [-20, -20];
  dot.setAttribute("cx", Number.isFinite(x) ? x : -20);
  dot.setAttribute("cy", Number.isFinite(y) ? y : -20);
}

function cut(threshold) {
  for (const svg of all("#decide figure [data-model] svg, figure [data-model] svg")) {
    const { low, high, left, right } = svg.dataset;
    const share = Math.min(1, Math.max(0, (threshold - low) / (high - low)));
    const x = Number(left) + share * (right - left);
    svg.querySelector(".cut").setAttribute("x1", x);
    svg.querySelector(".cut").setAttribute("x2", x);
  }
}

function show() {
  const model = models[state.first], stop = state.stop;
  const other = state.second === null ? null : models[state.second];
  const [tp, fp] = [model.hits[stop], model.alarms[stop]];
  const cells = { tp, fp, fn: model.positives - tp, tn: model.negatives - fp };
  for (const id in cells) byId(id).textContent = cells[id].toLocaleString("en");
  byId("threshold").value = stop;
  byId("threshold").setAttribute("aria-valuetext", `${model.threshold[stop]}, ${percent(model.alert_rate[stop][0])} flagged`);
  if (document.activeElement !== byId("field")) byId("field").value = model.threshold[stop];
  byId("summary").textContent = summary(model, stop);
  column(model, stop, 1);
  const away = other === null ? null : matching(other, model.alert_rate[stop][0]);
  for (const cell of all("#rates tr > :nth-child(3)")) cell.hidden = other === null;
  if (other !== null) column(other, away, 2);
  for (const svg of all("#decide svg[data-view]")) {
    const place = PLACES[svg.dataset.view];
    mark(svg, "ours", place && place(model, stop));
    mark(svg, "rival", place && other !== null && place(other, away));
  }
  cut(model.threshold[stop]);
}

function choose() {
  const model = models[state.first];
  byId("threshold").max = model.threshold.length - 1;
  byId("first-name").textContent = model.name;
  byId("second-name").textContent = state.second === null ? "" : models[state.second].name;
  for (const part of all("[data-model]")) part.hidden = part.dataset.model != state.first;
  for (const group of all("[data-curve]")) {
    const number = Number(group.dataset.curve);
    group.toggleAttribute("hidden", number !== state.first && number !== state.second);
    group.setAttribute("class", number === state.first ? "ours" : "rival");
  }
  purpose();
}

/* Go to the stop that the chosen purpose has in the chosen model. */
function purpose() {
  const model = models[state.first], wanted = byId("purpose").value;
  if (wanted === "cost") state.stop = model.cheapest[byId("price").selectedIndex];
  else if (wanted !== "") state.stop = model.choices[Number(wanted)] ?? model.start;
  else state.stop = Math.min(state.stop, model.threshold.length - 1);
  show();
}

function look(view) {
  state.view = view;
  for (const figure of all("#decide figure[data-figure]")) figure.classList.toggle("away", figure.dataset.figure !== view);
  byId("hover").textContent = "";
}

const HOVER = {
  roc: (m, k) => `FPR ${percent(m.fpr[k][0])}, TPR ${percent(m.tpr[k][0])} (${percent(m.tpr[k][1])} – ${percent(m.tpr[k][2])}), threshold ${m.threshold[k]}`,
  pr: (m, k) => `recall ${percent(m.tpr[k][0])}, precision ${percent(m.precision[k][0])} (${percent(m.precision[k][1])} – ${percent(m.precision[k][2])}), threshold ${m.threshold[k]}`,
  lift: (m, k) => `${percent(m.alert_rate[k][0])} flagged, lift ${plain(m.lift[k][0])} (${plain(m.lift[k][1])} – ${plain(m.lift[k][2])}), threshold ${m.threshold[k]}`,
  calibration: (m, k) => `predicted ${percent(m.reliability[k][0])}, observed ${percent(m.reliability[k][1])} (${percent(m.reliability[k][2])} – ${percent(m.reliability[k][3])}), ${count(m.reliability[k][4])} rows`,
  benefit: (m, k) => `threshold probability ${percent(m.benefit[k][0])}, net benefit ${plain(m.benefit[k][1])} (${plain(m.benefit[k][2])} – ${plain(m.benefit[k][3])}); treat all ${plain(m.benefit[k][4])}`,
};

/* What is drawn nearest to the pointer, in pixels. */
function nearest(svg, event) {
  const model = models[state.first], view = svg.dataset.view;
  const box = svg.getBoundingClientRect(), unit = svg.viewBox.baseVal.width / box.width;
  const at = [(event.clientX - box.left) * unit, (event.clientY - box.top) * unit];
  const place = PLACES[view] || ((m, k) => m[view === "benefit" ? "benefit" : "reliability"][k].slice(0, 2));
  const size = PLACES[view] ? model.threshold.length : (model[view === "benefit" ? "benefit" : "reliability"] || []).length;
  let best = null, least = Infinity;
  for (let k = 0; k < size; k++) {
    const spot = place(model, k);
    if (spot.includes(null)) continue;
    const [x, y] = pixel(svg, ...spot), away = Math.hypot(x - at[0], y - at[1]);
    if (away < least) [best, least] = [k, away];
  }
  return best;
}

function listen() {
  byId("model").addEventListener("change", (event) => { state.first = Number(event.target.value); choose(); });
  byId("other").addEventListener("change", (event) => {
    state.second = event.target.value === "" ? null : Number(event.target.value);
    choose();
  });
  byId("purpose").addEventListener("change", purpose);
  byId("price").addEventListener("change", purpose);
  const own = (stop) => { byId("purpose").value = ""; state.stop = stop; show(); };
  byId("threshold").addEventListener("input", (event) => own(Number(event.target.value)));
  byId("field").addEventListener("input", (event) => {
    const wanted = Number(event.target.value), { threshold } = models[state.first];
    if (event.target.value === "" || !Number.isFinite(wanted)) return;
    own(threshold.reduce((best, t, k) => (Math.abs(t - wanted) < Math.abs(threshold[best] - wanted) ? k : best), 0));
  });
  byId("field").addEventListener("change", show);
  for (const radio of all("input[name=view]")) radio.addEventListener("change", () => look(radio.value));
  for (const svg of all("#decide svg[data-view]")) {
    svg.addEventListener("pointermove", (event) => {
      const k = nearest(svg, event);
      byId("hover").textContent = k === null ? "" : HOVER[svg.dataset.view](models[state.first], k);
    });
    svg.addEventListener("pointerleave", () => { byId("hover").textContent = ""; });
    svg.addEventListener("click", (event) => { if (PLACES[svg.dataset.view]) own(nearest(svg, event)); });
  }
}

if (models.length) {
  document.documentElement.classList.add("alive");
  for (const model of models) model.alerts = model.cell_alerts;
  state.stop = models[0].start;
  listen();
  look("roc");
  choose();
}
