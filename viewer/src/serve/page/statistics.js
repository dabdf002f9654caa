// Statistics as tables, in one of two units: for one sample of every pixel, or since the start of the film. Speeds, and
// times for one sample, are medians over the last seconds. A cell's tooltip shows all digits.

// Each column: field, heading, name of the CSS variable with its colour, formatter. Columns with a colour form the bar.
const COUNTS = [
  ["rays", "rays"],
  ["survivors", "survive", "survivors"],
  ["ended", "end", "ended"],
  ["misses", "miss", "misses"],
  ["removed", "removed", undefined, percent],
];

/** Formats a count with three significant digits and an SI prefix, as the overlay does. */
function count(value) {
  let prefix = "";
  let scaled = value;
  for (const larger of ["k", "M", "G", "T", "P", "E"]) {
    if (scaled < (prefix ? 999.5 : 1000)) break;
    scaled /= 1000;
    prefix = larger;
  }
  return prefix ? threeDigits(scaled) + prefix : String(value);
}

/** Formats a number with three significant digits and a constant width. */
function threeDigits(value) {
  const decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function percent(part) {
  return `${(100 * part).toFixed(1)}\u00a0%`;
}

/** Formats a duration in a suitable unit. */
function microseconds(value) {
  let unit = "µs";
  for (const [larger, factor] of [["ms", 1000], ["s", 1000], ["min", 60], ["h", 60]]) {
    if (value < 999.5) break;
    value /= factor;
    unit = larger;
  }
  return `${threeDigits(value)}\u00a0${unit}`;
}

function duration(seconds) {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return (parts[0] ? parts : parts.slice(1))
    .map((part, place) => (place ? String(part).padStart(2, "0") : part))
    .join(":");
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** Creates an empty element with the colour of a CSS variable. */
function swatch(colour) {
  const made = element("i");
  made.style.background = `var(--${colour})`;
  return made;
}

function write(cell, text, title = "") {
  if (cell.textContent !== text) cell.textContent = text;
  cell.title = title;
}

/** A table with one row per bounce, a stacked bar of the coloured columns in each row, and a row of sums. */
class Table {
  constructor(table, columns, format) {
    this.columns = columns;
    this.format = format;
    this.parts = columns.filter(([, , colour]) => colour);
    const heads = columns.map(([, heading, colour]) =>
      element("th", { scope: "col" }, ...(colour ? [swatch(colour)] : []), heading));
    this.body = element("tbody");
    this.total = this.row("Σ", "all bounces");
    table.append(
      element("colgroup", {}, element("col", { className: "bounce" }), element("col", { className: "bar" })),
      element("thead", {}, element("tr", {}, element("td"), element("td"), ...heads)),
      this.body,
      element("tfoot", {}, this.total),
    );
  }

  row(label, name) {
    const bars = this.parts.map(([, , colour]) => swatch(colour));
    const track = element("div", { className: "bar-track", ariaHidden: "true" }, ...bars);
    const head = element("th", { scope: "row" }, label);
    head.ariaLabel = name;
    return element(
      "tr", {}, head, element("td", { className: "bar" }, track),
      ...this.columns.map(() => element("td")),
    );
  }

  /** Fills a row; `whole` is the value of a full bar. */
  fill(row, values, whole) {
    this.columns.forEach(([field, , , format = this.format], place) => {
      write(row.cells[place + 2], format(values[field]), String(values[field]));
    });
    const bars = row.querySelectorAll(".bar-track i");
    this.parts.forEach(([field], place) => {
      bars[place].style.width = `${whole > 0 ? (100 * values[field]) / whole : 0}%`;
    });
  }

  /** Updates all rows; `total` contains totals that are not sums. */
  update(bounces, total) {
    while (this.body.rows.length > bounces.length) this.body.deleteRow(-1);
    while (this.body.rows.length < bounces.length) {
      const number = String(this.body.rows.length);
      this.body.append(this.row(number, `bounce ${number}`));
    }
    const of = (values) => this.parts.reduce((sum, [field]) => sum + values[field], 0);
    for (const [field] of this.columns) {
      total[field] ??= bounces.reduce((sum, bounce) => sum + bounce[field], 0);
    }
    const longest = Math.max(...bounces.map(of));
    bounces.forEach((bounce, place) => this.fill(this.body.rows[place], bounce, longest));
    this.fill(this.total, total, of(total));
  }
}

const at = (id) => document.getElementById(id);
const counts = new Table(at("counts"), COUNTS, count);
let times;
let stageNames = [];

/** Creates the table of times, with a column for each stage; called once, before `showStatistics`. */
export function createTimes(stages) {
  stageNames = stages;
  times = new Table(at("times"), stages.map((stage) => [`${stage}_us`, stage, stage]), microseconds);
}

const millions = (perSecond) => threeDigits(perSecond / 1e6);

// Number of points in the full width of the plot.
const POINTS = 100;

/** Plots rays per second over the last ten seconds, from zero to the maximum, the newest at the right. */
function showHistory(history) {
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

/** Plots the noise over the number of samples, both on logarithmic scales, with lines at powers of ten. */
function showNoise(history) {
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

/** Creates a bar of a strategy's speed, of which `fastest` is the full width, with its confidence interval. */
function speedBar({ rays_per_second: speed, interval: [low, high] }, fastest) {
  const place = (rate) => `${fastest > 0 ? (100 * rate) / fastest : 0}%`;
  const [bar, range] = [element("i"), element("i", { className: "interval" })];
  bar.style.width = place(speed);
  range.style.left = place(low);
  range.style.width = place(high - low);
  return element("div", { className: "speed-track", ariaHidden: "true" }, bar, range);
}

/** Describes the comparison of a strategy with the current one. */
function describe(comparison) {
  const texts = { current: "current", "not-enough-data": "not enough data yet" };
  if (texts[comparison]) return texts[comparison];
  const { by, low, high } = comparison.difference;
  const number = (part) => (100 * part).toFixed(1).replace("-", "−");
  if (low <= 0 && high >= 0) return `no clear difference (${number(low)} to ${number(high)}\u00a0%)`;
  return by > 0
    ? `${percent(by)} faster (${number(low)} to ${number(high)})`
    : `${percent(-by)} slower (${number(-high)} to ${number(-low)})`;
}

function showStrategies(strategies) {
  const table = at("strategies");
  table.hidden = strategies.length < 2;
  const fastest = Math.max(...strategies.map(({ interval }) => interval[1]));
  table.tBodies[0].replaceChildren(...strategies.map((one) => {
    const { strategy, rays_per_second: speed, comparison } = one;
    return element(
      "tr", {}, element("th", { scope: "row" }, strategy),
      element("td", { title: String(speed) }, speed > 0 ? millions(speed) : "–"),
      element("td", {}, describe(comparison), speedBar(one, fastest)),
    );
  }));
}

/** Describes the noise estimate of an adaptive render. */
function noiseOf({ noise, size }) {
  const part = (error) => `${(100 * error).toFixed(2)}\u00a0%`;
  const estimated = noise.estimated === null ? "–" : part(noise.estimated);
  const done = Math.floor(1000 * (1 - noise.unconverged_pixels / (size[0] * size[1]))) / 10;
  return `noise ${estimated}, target ${part(noise.target)}, ${done.toFixed(1)}\u00a0% of the pixels done`;
}

// Whether counts and times are those since the start of the film, and the last status.
let isTotal = false;
let last;

/** Switches between the units of the tables, and returns the name of the new ones. */
export function switchUnits() {
  isTotal = !isTotal;
  if (last) showStatistics(last);
  return unitsName();
}

const unitsName = () => (isTotal ? "total since the start" : "per sample of every pixel");

/** Returns the figures of a bounce in the present units; `factor` converts counts to those of one sample. */
function inUnits(bounce, recent, factor) {
  const values = { ...recent, ...bounce };
  for (const field of ["rays", "survivors", "ended", "misses"]) {
    values[field] = isTotal ? bounce[field] : Math.round(bounce[field] * factor);
  }
  for (const stage of stageNames) {
    if (isTotal) values[`${stage}_us`] = 1000 * bounce[`${stage}_ms`];
  }
  return values;
}

/** Estimates the seconds until a running render is complete. */
function timeLeft({ seconds }, { rendering }) {
  if (!rendering?.progress || seconds < 0.5) return "";
  const left = (seconds * (1 - rendering.progress)) / rendering.progress;
  return `${left < 59.5 ? `${left.toFixed(0)} s` : duration(Math.max(left, 60))} left`;
}

/** Displays a status message. */
export function showStatistics(status) {
  last = status;
  const { stats, recent, state, size, viewers } = status;
  const scene = stats.scene.split(/[\\/]/).pop();
  write(at("scene"), scene);
  write(at("device"), `${stats.backend}: ${stats.device} · ${size[0]}\u00a0×\u00a0${size[1]}`);
  const going = state.rendering ?? state.paused;
  const has = stats.noise ? stats.noise.mean_samples.toFixed(1) : stats.spp;
  const samples = going ? `${has} of ${going.samples} samples` : `${has} ${has === 1 ? "sample" : "samples"}`;
  write(at("samples"), stats.noise ? `${samples}, ${noiseOf(stats)}` : samples);
  const others = viewers > 1 ? ` · ${viewers} viewers` : "";
  const doing = state === "comparing" ? "comparing strategies" : "done";
  write(at("state"), (state.paused ? "paused" : going ? "rendering" : doing) + others);
  const left = timeLeft(stats, state);
  write(at("left"), left);
  write(at("frames"), state.rendering ? `${recent.frames_per_second} fps` : "");
  at("done").value = going ? going.progress : 1;
  const speed = going ? recent : stats;
  write(at("paths"), millions(speed.paths_per_second), String(speed.paths_per_second));
  write(at("rays"), millions(speed.rays_per_second), String(speed.rays_per_second));
  write(at("lanes"), percent(recent.lane_use), String(recent.lane_use));
  write(at("seconds"), duration(stats.seconds), String(stats.seconds));
  document.title = [scene, samples, left, "raysieve"].filter(Boolean).join(" – ");

  const devices = stats.devices?.length > 1 ? stats.devices : [];
  at("devices").replaceChildren(...devices.map((device) => element(
    "li", { title: `${device.paths} paths` },
    `${device.device}: ${count(device.paths)} paths, ${threeDigits(device.paths_per_second / 1e6)} Mpaths/s`,
    device.failed ? ", failed" : "",
  )));

  const warnings = [];
  if (stats.rejected_samples > 0) {
    warnings.push(`${count(stats.rejected_samples)} samples rejected: not finite or too bright`);
  }
  if (stats.clamp_indirect !== undefined) {
    warnings.push(`indirect light clamped to ${stats.clamp_indirect}: the image is darker than without clamping`);
  }
  if (stats.denoise_ms !== undefined) {
    warnings.push(`denoised preview (${microseconds(1e3 * stats.denoise_ms)}); saved images are not denoised`);
  } else if (status.denoise && status.debug_view === "light") {
    // Keeps the rows below in place.
    warnings.push("denoised preview, once there are enough samples");
  }
  at("warnings").replaceChildren(...warnings.map((warning) => element("li", {}, warning)));

  const sum = (field) => stats.bounces.reduce((all, bounce) => all + bounce[field], 0);
  const removed = sum("rays") > 0 ? 1 - sum("survivors") / sum("rays") : 0;
  const factor = stats.paths > 0 ? (size[0] * size[1]) / stats.paths : 0;
  const bounces = stats.bounces.map((bounce, place) => inUnits(bounce, recent.bounces[place], factor));
  const shown = bounces.slice(0, recent.rows);
  for (const caption of document.querySelectorAll(".units")) write(caption, unitsName());
  counts.update(shown, { removed });
  times.update(shown, {});
  showHistory(recent.rate_history);
  showNoise(recent.noise_history);
  showStrategies(recent.strategies);
}
