// The figures as tables: counts are those that `--stats` writes, speeds and times are of the last seconds. A cell's title
// has all of its digits.

// Field, heading, colour, how it is written: what has a colour is a part of the bar.
const COUNTS = [
  ["rays", "rays"],
  ["survivors", "survive", "survivors"],
  ["ended", "end", "ended"],
  ["misses", "miss", "misses"],
  ["removed", "removed", undefined, percent],
];
const TIMES = [
  ["intersect_us", "intersect", "intersect"],
  ["sieve_us", "sieve", "sieve"],
  ["shade_us", "shade", "shade"],
  ["shadow_us", "shadow", "shadow"],
];

const compact = new Intl.NumberFormat("en", {
  notation: "compact", minimumSignificantDigits: 3, maximumSignificantDigits: 3,
});
const count = (value) => (value < 1000 ? String(value) : compact.format(value));

/** Three digits, so that they stand still while they change. */
function threeDigits(value) {
  const decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function percent(part) {
  return `${(100 * part).toFixed(1)}\u00a0%`;
}

/** With its unit. */
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

function write(cell, text, title = "") {
  if (cell.textContent !== text) cell.textContent = text;
  cell.title = title;
}

/** A table with a row a bounce, a bar of the coloured columns in each, and their sums below. */
class Table {
  constructor(table, columns, format) {
    this.columns = columns;
    this.format = format;
    this.parts = columns.filter(([, , colour]) => colour);
    const heads = columns.map(([, heading, colour]) => {
      const swatch = colour ? [element("i", { className: colour })] : [];
      return element("th", { scope: "col" }, ...swatch, heading);
    });
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
    const bars = this.parts.map(([, , colour]) => element("i", { className: colour }));
    const track = element("div", { className: "track", ariaHidden: "true" }, ...bars);
    const head = element("th", { scope: "row" }, label);
    head.ariaLabel = name;
    return element(
      "tr", {}, head, element("td", { className: "bar" }, track),
      ...this.columns.map(() => element("td")),
    );
  }

  /** `whole` is what a full bar stands for. */
  fill(row, values, whole) {
    this.columns.forEach(([field, , , format = this.format], place) => {
      write(row.cells[place + 2], format(values[field]), String(values[field]));
    });
    const bars = row.querySelectorAll(".track i");
    this.parts.forEach(([field], place) => {
      bars[place].style.width = `${whole > 0 ? (100 * values[field]) / whole : 0}%`;
    });
  }

  /** `total` has what is no sum. */
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
const times = new Table(at("times"), TIMES, microseconds);

const millions = (perSecond) => threeDigits(perSecond / 1e6);

// Points of the course's whole width.
const POINTS = 100;

/** Rays a second over the last ten seconds, from zero to the most, the newest at the right. */
function showCourse(course) {
  const most = Math.max(...course, 0);
  const of = course.length;
  const height = (rate) => (most > 0 ? 96 - (94 * rate) / most : 96).toFixed(1);
  const line = course.map((rate, place) => `L${POINTS - of + place + 0.5} ${height(rate)}`);
  // Around the picture's corners, so that nothing but the course is seen of the line.
  const path = of ? `M${POINTS - of} 110 ${line.join("")}L110 ${height(course[of - 1])} 110 110Z` : "";
  at("course").querySelector("path").setAttribute("d", path);
  const range = of ? `${millions(Math.min(...course))} to ${millions(most)}` : "nothing yet";
  write(at("most"), of ? `most ${millions(most)}` : "");
  at("course-text").textContent = of
    ? `Between ${range} million rays a second over the last ten seconds, now ${millions(course[of - 1])}`
    : range;
}

/** What can be said of a strategy against the one that renders now. */
function verdict(against) {
  const texts = { itself: "now", "not-enough": "not enough yet", alike: "as fast" };
  if (texts[against]) return texts[against];
  const [[how, by]] = Object.entries(against);
  return `${percent(by)} ${how}`;
}

function showRivals(rivals) {
  const table = at("rivals");
  table.hidden = rivals.length < 2;
  table.tBodies[0].replaceChildren(...rivals.map(({ strategy, rays_per_second: speed, against }) =>
    element(
      "tr", {}, element("th", { scope: "row" }, strategy),
      element("td", { title: String(speed) }, speed > 0 ? millions(speed) : "–"),
      element("td", {}, verdict(against)),
    )));
}

/** Where pixels get samples until they are good: how good they are. */
function noiseOf({ noise, size }) {
  const part = (error) => `${(100 * error).toFixed(2)}\u00a0%`;
  const estimated = noise.estimated === null ? "–" : part(noise.estimated);
  const done = Math.floor(1000 * (1 - noise.unfinished / (size[0] * size[1]))) / 10;
  return `noise ${estimated} of ${part(noise.wanted)}, ${done.toFixed(1)}\u00a0% of the pixels done`;
}

/** Shows a status of the render. */
export function showFigures({ stats, recent, state, size, viewers }) {
  const scene = stats.scene.split(/[\\/]/).pop();
  write(at("scene"), scene);
  write(at("device"), `${stats.backend}: ${stats.device} · ${size[0]}\u00a0×\u00a0${size[1]}`);
  const going = state.rendering ?? state.paused;
  const has = stats.noise ? stats.noise.mean_samples.toFixed(1) : stats.spp;
  const samples = going ? `${has} of ${going.samples} samples` : `${has} samples`;
  write(at("samples"), stats.noise ? `${samples}, ${noiseOf(stats)}` : samples);
  const others = viewers > 1 ? ` · ${viewers} viewers` : "";
  write(at("state"), (state.paused ? "paused" : going ? "rendering" : "done") + others);
  at("done").value = going ? going.progress : 1;
  const speed = going ? recent : stats;
  write(at("paths"), millions(speed.paths_per_second), String(speed.paths_per_second));
  write(at("rays"), millions(speed.rays_per_second), String(speed.rays_per_second));
  write(at("lanes"), percent(recent.lane_use), String(recent.lane_use));
  write(at("seconds"), duration(stats.seconds), String(stats.seconds));
  document.title = `${scene} – ${samples} – raysieve`;

  const devices = stats.devices?.length > 1 ? stats.devices : [];
  at("devices").replaceChildren(...devices.map((device) => element(
    "li", { title: `${device.paths} paths` },
    `${device.device}: ${count(device.paths)} paths, ${threeDigits(device.paths_per_second / 1e6)} Mpaths/s`,
    device.failed ? ", has failed" : "",
  )));

  const warnings = [];
  if (stats.rejected_samples > 0) {
    warnings.push(`${count(stats.rejected_samples)} samples rejected: not finite or too bright`);
  }
  if (stats.clamp_indirect !== undefined) {
    warnings.push(`indirect light clamped to ${stats.clamp_indirect}: darker than it is`);
  }
  if (stats.denoise_ms !== undefined) {
    warnings.push(`denoised preview, ${microseconds(1e3 * stats.denoise_ms)}: not what is rendered`);
  }
  at("warnings").replaceChildren(...warnings.map((warning) => element("li", {}, warning)));

  const sum = (field) => stats.bounces.reduce((all, bounce) => all + bounce[field], 0);
  const removed = sum("rays") > 0 ? 1 - sum("survivors") / sum("rays") : 0;
  const bounces = stats.bounces.map((bounce, place) => ({ ...recent.bounces[place], ...bounce }));
  // Paths that may scatter a thousand times seldom do.
  const last = bounces.findLastIndex(({ rays }) => rays > 0);
  const shown = last < 0 ? bounces : bounces.slice(0, last + 1);
  counts.update(shown, { removed });
  times.update(shown, {});
  showCourse(recent.course);
  showRivals(recent.rivals);
}
