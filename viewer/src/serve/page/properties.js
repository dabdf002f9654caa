// The editor: the selected part of the scene, and an input for each of its properties. The program sends both.

import { buttonOf, followChoice, showChoice } from "./controls.js";
import { byInput } from "./messages.js";

const at = (id) => document.getElementById(id);

// Steps of a slider with a logarithmic scale.
const STEPS = 1000;

let state = { parts: [], selected: null, properties: [] };
let tell = () => {};

// The input that a pointer or a key holds, and whether it has changed a value already. All changes of one hold are undone
// together, also if it rests for a while.
let held;
let hasChanged = false;

// Four digits, so that numbers are short in the scene file.
const rounded = (value) => Number(value.toPrecision(4));

// sRGB encoding and decoding of one channel.
const encoded = (value) => (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055);
const decoded = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

const toHex = (color) => `#${color
  .map((part) => Math.round(255 * encoded(Math.min(part, 1))).toString(16).padStart(2, "0"))
  .join("")}`;

/** Returns the color that a user has chosen, as `hex`, in place of `color`: channels that look alike keep their values. */
function toColor(hex, color) {
  const before = toHex(color);
  return [1, 3, 5].map((place, channel) => {
    const digits = hex.slice(place, place + 2);
    return digits === before.slice(place, place + 2) ? color[channel] : rounded(decoded(parseInt(digits, 16) / 255));
  });
}

// Position of a number on its slider, from 0 to STEPS, and the number at a position.
function toPlace(value, { slider: [low, high], is_logarithmic: isLogarithmic }) {
  if (!isLogarithmic) return (STEPS * (value - low)) / (high - low);
  return value > 0 ? (STEPS * Math.log(value / low)) / Math.log(high / low) : 0;
}
function fromPlace(place, { slider: [low, high], is_logarithmic: isLogarithmic, min }) {
  if (!isLogarithmic) return low + (place / STEPS) * (high - low);
  return place <= 0 && min === 0 ? 0 : low * (high / low) ** (place / STEPS);
}

const keyOf = (part) => JSON.stringify(part);
const kindOf = (part) => (typeof part === "string" ? part : Object.keys(part)[0]);
const groups = { material: "Materials", light: "Lights" };

/** Creates the options of the list of parts, grouped by kind. */
function options(parts) {
  const made = [new Option(`choose, or ${byInput("click", "tap")} in the picture`, "null")];
  const lists = new Map();
  for (const { part, name } of parts) {
    const kind = kindOf(part);
    const option = new Option(name, keyOf(part));
    if (!groups[kind]) {
      made.push(option);
      continue;
    }
    if (!lists.has(kind)) {
      const list = Object.assign(document.createElement("optgroup"), { label: groups[kind] });
      lists.set(kind, list);
      made.push(list);
    }
    lists.get(kind).append(option);
  }
  return made;
}

function input(type, label, properties = {}) {
  const made = Object.assign(document.createElement("input"), { type, ...properties });
  made.setAttribute("aria-label", label);
  return made;
}

/** Creates the row of a property. `show` of the result displays a value, except in an input that has the focus. */
function row({ id, label, number }) {
  const element = document.createElement("div");
  const name = Object.assign(document.createElement("span"), { textContent: number?.unit ? `${label}, ${number.unit}` : label });
  element.dataset.property = id;
  element.append(name);
  const edit = (value) => {
    tell(id, value, hasChanged);
    hasChanged = true;
  };
  if (!number) {
    const color = input("color", label);
    // The color before the edit that continues.
    let start = [0, 0, 0];
    color.addEventListener("input", () => edit(toColor(color.value, start)));
    element.append(color);
    return {
      element,
      show: (value) => {
        if (document.activeElement === color && hasChanged) return;
        color.value = toHex(value);
        start = value;
      },
    };
  }
  const { min, max, names } = number;
  if (names.length > max - min) {
    const choice = document.createElement("select");
    choice.setAttribute("aria-label", label);
    choice.append(...names.map((text, place) => new Option(text, String(min + place))));
    followChoice(choice, (value) => tell(id, Number(value), false));
    element.append(choice);
    return { element, show: (value) => showChoice(choice, String(value)) };
  }
  // A number that has a name is explained beside the label.
  if (names.length) name.textContent += names.map((text, place) => ` (${min + place}: ${text})`).join("");
  const slider = input("range", label, { min: 0, max: STEPS, step: 1 });
  const text = input("number", `${label}, as a number`, { min: number.min, max: number.max, step: number.is_whole ? 1 : "any" });
  const refusal = Object.assign(document.createElement("p"), { className: "refusal", role: "alert", hidden: true });
  const refuse = (why) => {
    refusal.textContent = why;
    refusal.hidden = !why;
    text.setAttribute("aria-invalid", String(Boolean(why)));
  };
  let shown;
  // Last number that was sent, with four digits.
  let told;
  // Last number that was sent or displayed: a refused entry is replaced with it, even before the program has answered.
  let latest;
  const chosen = () => fromPlace(slider.valueAsNumber, number);
  slider.addEventListener("input", () => {
    const value = number.is_whole ? Math.round(chosen()) : rounded(chosen());
    // A finger on the slider leaves the focus in the field, whose entry would replace this value later.
    text.value = value;
    told = latest = value;
    edit(value);
  });
  for (const one of [slider, text]) one.addEventListener("input", () => refuse(""));
  text.addEventListener("change", () => {
    const value = text.valueAsNumber;
    // The program would refuse it, too.
    const isValid = value >= min && value <= max && (!number.is_whole || Number.isInteger(value));
    if (isValid) {
      told = latest = rounded(value);
      edit(value);
      return refuse("");
    }
    text.value = rounded(latest);
    if (!Number.isFinite(value)) return refuse("not set; it is no number");
    return refuse(`${value} not set; must be ${number.is_whole ? "a whole number, " : ""}${min} to ${max}`);
  });
  element.append(slider, text, refusal);
  return {
    element,
    forgetRefusal: () => refuse(""),
    show: (value) => {
      // After another viewer's edit, the refusal is not about this value. The last edit may be answered after the refusal.
      // An earlier edit may be answered first, so that the value beside a refusal is displayed again.
      const wasRefused = !refusal.hidden;
      if (shown !== value && rounded(value) !== told) refuse("");
      shown = latest = value;
      if (held !== slider) slider.value = toPlace(value, number);
      if (document.activeElement !== text || wasRefused) text.value = rounded(value);
    },
  };
}

let partsShown;
// Part that the list displayed last, as text.
let listedBefore;
// Rows that are displayed, by part and kind of property.
let rows = new Map();

/** Displays the rows of the selected part. Those that are displayed already stay, because a pointer may hold one. */
function showRows({ listed, properties }) {
  const container = at("properties");
  const shown = new Map();
  for (const { value, ...kind } of properties) {
    const key = JSON.stringify([listed, kind]);
    const made = rows.get(key) ?? row(kind);
    shown.set(key, made);
    made.show(value);
  }
  for (const [key, { element }] of rows) if (!shown.has(key)) element.remove();
  rows = shown;
  [...rows.values()].forEach(({ element }, place) => {
    if (container.children[place] !== element) container.insertBefore(element, container.children[place] ?? null);
  });
}

/** Displays the state of the editor that the program has sent. */
export function showEditor(editor) {
  state = editor;
  at("editor").hidden = !editor.parts.length;
  const parts = JSON.stringify(editor.parts);
  if (parts !== partsShown) at("part").replaceChildren(...options(editor.parts));
  partsShown = parts;
  const listed = keyOf(editor.listed);
  // Whoever selects a part wants to see it.
  if (listed !== listedBefore && editor.listed) at("editor").open = true;
  listedBefore = listed;
  showChoice(at("part"), listed);
  showRows(editor);
  for (const [action, can] of [["undo", editor.can_undo], ["redo", editor.can_redo]]) {
    buttonOf(action)?.setAttribute("aria-disabled", String(!can));
  }
}

/** Removes the explanations of refused entries, because another input has followed. */
export function forgetRefusals() {
  for (const { forgetRefusal } of rows.values()) forgetRefusal?.();
}

/** Unfolds the editor and scrolls to it. The keyboard stays where it is, so that keys keep their actions. */
export function revealEditor() {
  at("editor").open = true;
  at("editor").scrollIntoView({ block: "nearest" });
}

/** Unfolds the editor and scrolls to it, or folds it. */
export function switchEditor() {
  if (!at("editor").open) return revealEditor();
  at("editor").open = false;
}

/** Sends the edit that waits for the next display frame, if any. Call it before what must follow that edit. */
export let sendEdit = () => {};

/** Calls `send` with selections and edits. */
export function edits(send) {
  const hold = ({ target, repeat }) => {
    if (repeat) return;
    held = target;
    hasChanged = false;
  };
  const release = () => { held = undefined; };
  for (const kind of ["pointerdown", "keydown"]) at("properties").addEventListener(kind, hold);
  for (const kind of ["pointerup", "pointercancel", "keyup"]) addEventListener(kind, release, { capture: true });
  // The end of what neither a pointer nor a key holds, such as the choice of a color.
  at("properties").addEventListener("change", () => { hasChanged &&= Boolean(held); });
  // At most one edit of a property per display frame, because each restarts the render.
  let waiting;
  sendEdit = () => {
    if (waiting) send({ edit: waiting });
    waiting = undefined;
  };
  tell = (id, value, continues) => {
    const part = state.selected;
    // A tap on another input ends the entry of a number and changes that input in the same frame.
    if (waiting && (waiting[1] !== id || keyOf(waiting[0]) !== keyOf(part))) sendEdit();
    // The edit that was not sent may have been the first of its drag.
    const isFirst = !continues || (waiting && !waiting[3]);
    if (!waiting) requestAnimationFrame(sendEdit);
    waiting = [part, id, value, !isFirst];
  };
  followChoice(at("part"), (value) => {
    const part = JSON.parse(value);
    sendEdit();
    if (part) send({ select: part });
  });
}
