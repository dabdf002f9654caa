// Plots over time and samples.

import { microseconds, millions, swatch, write } from "./format.js";

const at = (id) => document.getElementById(id);

// Number of points in the full width of a plot over time.
const POINTS = 100;

/** Plots rays per second over the last ten seconds, from zero to the maximum, the newest at the right. */
export function showRates(history) {
  const peak = Math.max(...history, 0);
  const of = history.length;
  const height = (rate) => (peak > 0 ? 96 - (94 * rate) / peak : 96).toFixed(1);
  const line = history.map((rate, place) => `L${POINTS - of + place + 0.5} ${height(rate)}`);
  // The path is closed outside the visible area, so that only the curve itself is visible.
  const path = of ? `M${POINTS - of} 110 ${line.join("")}L110 ${height(history[of - 1])} 110 110Z` : "";
  at("rate-history").querySelector("path").setAttribute("d", path);
  const range = of ? `${millions(Math.min(...history))} to ${millions(peak)}` : "nothing yet";
  write(at("peak"), of ? `peak ${millions(peak)}` : "");
  at("rate-history-text").textContent = of
    ? `Between ${range} million rays per second over the last ten seconds, now ${millions(history[of - 1])}`
    : range;
}

/**
 * Plots the time of each stage over the last ten seconds, stacked, from zero to the maximum of their sum, the newest at
 * the right. A point has the microseconds of all `stages`.
 */
export function showStages(history, stages) {
  const figure = at("stage-history");
  figure.hidden = history.length < 2;
  if (figure.hidden) return;
  const plot = figure.querySelector("svg");
  if (!plot.querySelector("path")) {
    plot.append(...stages.map((stage) => {
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.style.fill = `var(--${stage})`;
      return path;
    }));
    at("stage-legend").append(...stages.flatMap((stage) => [swatch(stage), `${stage} `]));
  }
  const of = history.length;
  // The first sum of a point is 0, and the last one that of all stages.
  const sums = history.map((times) => times.reduce((all, time) => [...all, all[all.length - 1] + time], [0]));
  const peak = Math.max(...sums.map((all) => all[stages.length]));
  const at100 = (place, sum) => `${POINTS - of + place + 0.5} ${(100 - (peak > 0 ? (98 * sum) / peak : 0)).toFixed(1)}`;
  [...plot.querySelectorAll("path")].forEach((path, stage) => {
    const upper = sums.map((all, place) => at100(place, all[stage + 1]));
    const lower = sums.map((all, place) => at100(place, all[stage])).reverse();
    path.setAttribute("d", `M${[...upper, ...lower].join("L")}Z`);
  });
  const newest = history[of - 1];
  const words = stages.map((stage, place) => `${stage} ${microseconds(newest[place])}`).join(", ");
  at("stage-history-text").textContent = `Now ${words}, for one sample of every pixel`;
}

/** Plots the noise over the number of samples, both on logarithmic scales, with lines at powers of ten. */
export function showNoise(history) {
  const figure = at("noise-history");
  figure.hidden = history.length < 2;
  if (figure.hidden) return;
  const [first, newest] = [history[0], history[history.length - 1]];
  const errors = history.map(({ error }) => error);
  const scale = (low, high) => {
    const decades = Math.max(Math.log10(high / low), 1e-6);
    const powers = [];
    for (let power = Math.ceil(Math.log10(low)); 10 ** power <= high; power += 1) powers.push(10 ** power);
    return [(value) => Math.log10(value / low) / decades, powers];
  };
  const [across, columns] = scale(first.samples, newest.samples);
  const [up, rows] = scale(Math.min(...errors), Math.max(...errors));
  const x = (samples) => (100 * across(samples)).toFixed(2);
  const y = (error) => (96 - 92 * up(error)).toFixed(2);
  const marks = [...columns.map((samples) => `M${x(samples)} 0V100`), ...rows.map((error) => `M0 ${y(error)}H100`)];
  const [lines, curve] = figure.querySelectorAll("path");
  lines.setAttribute("d", marks.join(""));
  curve.setAttribute("d", history.map(({ samples, error }, place) =>
    `${place ? "L" : "M"}${x(samples)} ${y(error)}`).join(""));
  const part = (error) => `${(100 * error).toFixed(2)}\u00a0%`;
  write(at("noise"), `${part(newest.error)} at ${newest.samples.toFixed(0)}`);
  const words = ({ error, samples }) => `${part(error)} at ${samples.toFixed(0)} samples`;
  at("noise-history-text").textContent = `From ${words(first)} to ${words(newest)}`;
}
