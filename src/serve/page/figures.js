// The figures as tables: the same that `--stats` writes. A cell's title has all of its digits.

const COUNTS = [
  ["rays"],
  ["survivors", "survivors"],
  ["ended", "ended"],
  ["misses", "misses"],
];
const TIMES = [
  ["intersect_ms", "intersect"],
  ["compact_ms", "sieve"],
  ["shade_ms", "shade"],
  ["shadow_ms", "shadow"],
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
    this.parts = columns.filter(([, colour]) => colour);
    const heads = columns.map(([field, colour]) => {
      const swatch = colour ? [element("i", { className: colour })] : [];
      return element("th", { scope: "col" }, ...swatch, colour ?? field);
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
    const bars = this.parts.map(([, colour]) => element("i", { className: colour }));
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
    this.columns.forEach(([field], place) => {
      write(row.cells[place + 2], this.format(values[field]), String(values[field]));
    });
    const bars = row.querySelectorAll(".track i");
    this.parts.forEach(([field], place) => {
      bars[place].style.width = `${whole > 0 ? (100 * values[field]) / whole : 0}%`;
    });
  }

  update(bounces) {
    while (this.body.rows.length > bounces.length) this.body.deleteRow(-1);
    while (this.body.rows.length < bounces.length) {
      const number = String(this.body.rows.length);
      this.body.append(this.row(number, `bounce ${number}`));
    }
    const of = (values) => this.parts.reduce((sum, [field]) => sum + values[field], 0);
    const total = {};
    for (const [field] of this.columns) {
      total[field] = bounces.reduce((sum, bounce) => sum + bounce[field], 0);
    }
    const longest = Math.max(...bounces.map(of));
    bounces.forEach((bounce, place) => this.fill(this.body.rows[place], bounce, longest));
    this.fill(this.total, total, of(total));
  }
}

const at = (id) => document.getElementById(id);
const counts = new Table(at("counts"), COUNTS, count);
const times = new Table(at("times"), TIMES, threeDigits);

/** Shows a status of the render. */
export function showFigures({ stats, state, size, viewers }) {
  const scene = stats.scene.split(/[\\/]/).pop();
  write(at("scene"), scene);
  write(at("device"), `${stats.backend}: ${stats.device} · ${size[0]}\u00a0×\u00a0${size[1]}`);
  const going = state.rendering ?? state.paused;
  const samples = going ? `${stats.spp} of ${going.samples} samples` : `${stats.spp} samples`;
  write(at("samples"), samples);
  const others = viewers > 1 ? ` · ${viewers} viewers` : "";
  write(at("state"), (state.paused ? "paused" : going ? "rendering" : "done") + others);
  at("done").value = going ? going.progress : 1;
  write(at("paths"), threeDigits(stats.paths_per_second / 1e6), String(stats.paths_per_second));
  write(at("rays"), threeDigits(stats.rays_per_second / 1e6), String(stats.rays_per_second));
  write(at("seconds"), duration(stats.seconds), String(stats.seconds));
  document.title = `${scene} – ${samples} – raysieve`;

  const warnings = [];
  if (stats.rejected_samples > 0) {
    warnings.push(`${count(stats.rejected_samples)} samples rejected: not finite or too bright`);
  }
  if (stats.clamp_indirect !== undefined) {
    warnings.push(`indirect light clamped to ${stats.clamp_indirect}: darker than it is`);
  }
  at("warnings").replaceChildren(...warnings.map((warning) => element("li", {}, warning)));

  counts.update(stats.bounces);
  times.update(stats.bounces);
}
