"use strict";
const byId = (id) => document.getElementById(id);
const percent = (share) => (100 * share).toFixed(1) + " %";
let current = 0;

function cut(threshold) {
  const svg = document.querySelector(`figure [data-model="${current}"] svg`);
  const { low, high, left, right } = svg.dataset;
  const share = Math.min(1, Math.max(0, (threshold - low) / (high - low)));
  const x = Number(left) + share * (right - left);
  svg.querySelector(".cut").setAttribute("x1", x);
  svg.querySelector(".cut").setAttribute("x2", x);
}

function show() {
  const { points, pos, neg } = models[current];
  const [threshold, tp, fp] = points[byId("threshold").value];
  const cells = { tp, fn: pos - tp, fp, tn: neg - fp };
  for (const id in cells) byId(id).textContent = cells[id].toLocaleString("en");
  const precision = tp + fp ? percent(tp / (tp + fp)) : "–";
  const right = percent((tp + neg - fp) / (pos + neg));
  byId("value").textContent = threshold;
  byId("rates").textContent =
    `TPR ${percent(tp / pos)} · FPR ${percent(fp / neg)} · precision ${precision} · right ${right}`;
  cut(threshold);
}

function choose(number) {
  current = number;
  for (const part of document.querySelectorAll("[data-model]")) part.hidden = part.dataset.model != number;
  byId("threshold").max = models[number].points.length - 1;
  byId("threshold").value = models[number].start;
  show();
}

if (models.length) {
  document.documentElement.classList.add("alive");
  byId("model").addEventListener("change", (event) => choose(Number(event.target.value)));
  byId("threshold").addEventListener("input", show);
  choose(0);
}
