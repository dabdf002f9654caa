// A table with one row per bounce.

import { element, swatch, write } from "./format.js";

/**
 * A table with one row per bounce, a stacked bar of the colored columns in each row, and a row of totals. The headings
 * of the colored columns are the legend of the bars.
 *
 * Each column has a `field`, a `heading`, and possibly a tooltip `about`, the name of the CSS variable of its `color`,
 * a function `format` for its values, and a function `explain` that returns an addition to the tooltip of a row's value.
 * A value that is undefined or null is not known.
 */
export class Table {
  constructor(table, columns, format) {
    this.columns = columns;
    this.format = format;
    this.parts = columns.filter(({ color }) => color);
    const heads = columns.map(({ heading, about = "", color }) =>
      element("th", { scope: "col", title: about }, ...(color ? [swatch(color)] : []), heading));
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
    const bars = this.parts.map(({ color }) => swatch(color));
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
    this.columns.forEach(({ field, format = this.format, explain = () => "" }, place) => {
      const value = values[field];
      const isKnown = value !== undefined && value !== null;
      write(row.cells[place + 2], isKnown ? format(value) : "–", isKnown ? String(value) + explain(values) : "");
    });
    const bars = row.querySelectorAll(".bar-track i");
    this.parts.forEach(({ field }, place) => {
      bars[place].style.width = `${whole > 0 ? (100 * (values[field] ?? 0)) / whole : 0}%`;
    });
  }

  /** Updates all rows; `total` is the last one. */
  update(bounces, total) {
    while (this.body.rows.length > bounces.length) this.body.deleteRow(-1);
    while (this.body.rows.length < bounces.length) {
      const number = String(this.body.rows.length);
      this.body.append(this.row(number, `bounce ${number}`));
    }
    const of = (values) => this.parts.reduce((sum, { field }) => sum + (values[field] ?? 0), 0);
    const longest = Math.max(...bounces.map(of));
    bounces.forEach((bounce, place) => this.fill(this.body.rows[place], bounce, longest));
    this.fill(this.total, total, of(total));
  }
}

// Tables that are wider than their places scroll. They take the keyboard only then.
const watcher = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    const box = target.closest(".scroll");
    const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    box.toggleAttribute("tabindex", scrolls);
    if (scrolls) box.tabIndex = 0;
  }
});
for (const box of document.querySelectorAll(".scroll")) {
  watcher.observe(box);
  watcher.observe(box.querySelector("table"));
}
