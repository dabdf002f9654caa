// The comparison of all compaction strategies with the strategy `off`.

import { element, microseconds, millions, percent, write } from "./format.js";

const at = (id) => document.getElementById(id);

/** Creates a bar of a strategy's speed, of which `fastest` is the full width, with its confidence interval. */
function speedBar({ rays_per_second: speed, interval: [low, high] }, fastest) {
  const place = (rate) => `${fastest > 0 ? (100 * rate) / fastest : 0}%`;
  const [bar, range] = [element("i"), element("i", { className: "interval" })];
  bar.style.width = place(speed);
  range.style.left = place(low);
  range.style.width = place(high - low);
  return element("div", { className: "speed-track", ariaHidden: "true" }, bar, range);
}

/** Describes the comparison of a strategy with `off`: the verdict and, after a space, the confidence interval. */
function describe(comparison) {
  const texts = { baseline: "baseline", "not-enough-data": "not enough data yet" };
  if (texts[comparison]) return [texts[comparison], ""];
  const { by, low, high } = comparison.difference;
  const number = (part) => (100 * part).toFixed(1).replace("-", "−");
  if (low <= 0 && high >= 0) return ["no clear difference", ` (${number(low)} to ${number(high)}\u00a0%)`];
  return by > 0
    ? [`${percent(by)} faster`, ` (${number(low)} to ${number(high)})`]
    : [`${percent(-by)} slower`, ` (${number(-high)} to ${number(-low)})`];
}

/** Describes the bounces in which compaction saves more time than it costs. */
function describePays(pays) {
  const texts = { unknown: "–", everywhere: "everywhere", nowhere: "nowhere" };
  return texts[pays] ?? `before ${pays.before}`;
}

/** Displays the comparison of the strategies, and its progress. */
export function showStrategies({ strategies, comparing }) {
  at("comparison").hidden = !comparing;
  if (comparing) {
    at("compared-share").value = comparing.progress;
    write(at("rounds"), `round ${Math.min(comparing.rounds + 1, comparing.of_rounds)} of ${comparing.of_rounds}${
      comparing.paused ? ", paused" : ""}`);
  }
  const table = at("strategies");
  table.hidden = !strategies.length;
  const fastest = Math.max(...strategies.map(({ interval }) => interval[1]));
  table.tBodies[0].replaceChildren(...strategies.map((one) => {
    const { strategy, rays_per_second: speed, interval, comparison, total } = one;
    const { lane_use: use, compact_us: cost } = total;
    const [verdict, range] = describe(comparison);
    const row = element(
      "tr", {},
      element("th", { scope: "row" }, strategy, one.is_current ? " (in use)" : ""),
      element("td", { title: `${speed}, ${interval[0]} to ${interval[1]}` }, speed > 0 ? millions(speed) : "–"),
      element("td", {}, verdict, element("small", {}, range), speedBar(one, fastest)),
      element("td", { title: String(use) }, use > 0 ? percent(use) : "–"),
      element("td", { title: String(cost) }, cost > 0 ? microseconds(cost) : "–"),
      element("td", {}, describePays(one.pays)),
    );
    row.classList.toggle("fastest", one.is_fastest);
    return row;
  }));
}
