// Numbers as text, in the formats of the overlay, and helpers that create elements.

/** Formats a count with three significant digits and an SI prefix, as the overlay does. */
export function count(value) {
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
export function threeDigits(value) {
  const decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

export function percent(part) {
  return `${(100 * part).toFixed(1)}\u00a0%`;
}

/** Formats a duration or the difference of two, in a suitable unit. */
export function microseconds(value) {
  if (value < 0) return `−${microseconds(-value)}`;
  let unit = "µs";
  for (const [larger, factor] of [["ms", 1000], ["s", 1000], ["min", 60], ["h", 60]]) {
    if (value < 999.5) break;
    value /= factor;
    unit = larger;
  }
  return `${threeDigits(value)}\u00a0${unit}`;
}

/** Formats a number of bytes with a binary prefix. */
export function bytes(value) {
  let unit = "B";
  for (const larger of ["KiB", "MiB", "GiB", "TiB"]) {
    if (value < 999.5) break;
    value /= 1024;
    unit = larger;
  }
  return unit === "B" ? `${value}\u00a0B` : `${threeDigits(value)}\u00a0${unit}`;
}

export function duration(seconds) {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return (parts[0] ? parts : parts.slice(1))
    .map((part, place) => (place ? String(part).padStart(2, "0") : part))
    .join(":");
}

export const millions = (perSecond) => threeDigits(perSecond / 1e6);

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** Creates an empty element with the color of a CSS variable. */
export function swatch(color) {
  const made = element("i");
  made.style.background = `var(--${color})`;
  return made;
}

/** Sets the text and the tooltip of an element. */
export function write(cell, text, title = "") {
  if (cell.textContent !== text) cell.textContent = text;
  cell.title = title;
}
