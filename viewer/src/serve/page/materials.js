// The list of editable materials and the inputs for their parameters.

const at = (id) => document.getElementById(id);

let listed = [];
// Scene index of the material that the keyboard edits.
let byKeys = null;

// sRGB encoding and decoding of one channel.
const encoded = (value) => (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055);
const decoded = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

const toHex = (color) => `#${color
  .map((part) => Math.round(255 * encoded(Math.min(part, 1))).toString(16).padStart(2, "0"))
  .join("")}`;
const toColor = (hex) => [1, 3, 5].map((place) => decoded(parseInt(hex.slice(place, place + 2), 16) / 255));

const chosen = () => listed[at("material").selectedIndex];

/** Displays the selected material's parameters, except in the input that has the focus. */
function show() {
  const material = chosen();
  for (const [field, write] of [["color", toHex], ["roughness", String], ["strength", String]]) {
    const input = at(field);
    const value = material?.[field] ?? null;
    input.parentElement.hidden = value === null;
    if (value !== null && document.activeElement !== input) input.value = write(value);
  }
}

/** Replaces the list, and selects the material that the keyboard edits if that has changed. */
export function list(materials, chosenByKeys) {
  const names = (all) => JSON.stringify(all.map(({ name }) => name));
  const isNew = names(materials) !== names(listed);
  listed = materials;
  at("materials").hidden = !materials.length;
  if (isNew) at("material").replaceChildren(...materials.map(({ name }) => new Option(name, name)));
  const place = materials.findIndex(({ index }) => index === chosenByKeys);
  if (chosenByKeys !== byKeys && place >= 0) at("material").selectedIndex = place;
  byKeys = chosenByKeys;
  show();
}

/** Calls `send` with the edited parameters. */
export function turn(send) {
  // At most one message per display frame, because each restarts the render.
  let waiting;
  const tell = (numbers) => {
    if (!waiting) {
      requestAnimationFrame(() => {
        send({ material: waiting });
        waiting = undefined;
      });
    }
    waiting = [chosen().index, numbers];
  };
  at("material").addEventListener("change", show);
  at("color").addEventListener("input", () => {
    const [red, green, blue] = toColor(at("color").value);
    tell([["red", red], ["green", green], ["blue", blue]]);
  });
  for (const field of ["roughness", "strength"]) {
    at(field).addEventListener("input", () => {
      const { valueAsNumber } = at(field);
      if (valueAsNumber >= 0) tell([[field, valueAsNumber]]);
    });
  }
}
