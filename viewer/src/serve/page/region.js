// Selection of the region to render, and its outline.

import { byInput } from "./messages.js";

const at = (id) => document.getElementById(id);

let selects = false;
// First corner of the region that is being selected, by column and row.
let corner;

/** Draws the outline of a region, given by its left and upper pixel and its size; hides it without one. */
function outline(region, size) {
  const svg = at("region");
  svg.toggleAttribute("hidden", !region);
  svg.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
  if (!region) return;
  for (const rectangle of svg.children) {
    ["x", "y", "width", "height"].forEach((name, place) => rectangle.setAttribute(name, region[place]));
  }
}

const between = ([left, top], [right, bottom]) =>
  [Math.min(left, right), Math.min(top, bottom), Math.abs(left - right) + 1, Math.abs(top - bottom) + 1];

/** Lets the next drag select the region to render, or ends that. Returns the message about it. */
export function switchSelection() {
  selects = !selects;
  corner = undefined;
  at("stage").classList.toggle("selects", selects);
  return selects ? `drag over the region to render; ${byInput("click", "tap")}: the whole picture` : "no region selected";
}

/** Returns whether the next drag selects the region. */
export const isSelecting = () => selects;

/** Begins the selection at a pixel, and returns whether the drag selects a region. */
export function beginSelection(pixel) {
  if (selects) corner = pixel;
  return selects;
}

/** Extends the selected region to a pixel. */
export function extendSelection(pixel, size) {
  if (corner && pixel) outline(between(corner, pixel), size);
}

/** Ends the selection at a pixel, and sends the corners of the region. A click asks for the whole picture. */
export function endSelection(pixel, send) {
  if (!corner) return;
  const isClick = String(pixel) === String(corner);
  if (isClick) send({ act: "whole-picture" });
  else if (pixel) send({ region: [...corner, ...pixel] });
  switchSelection();
}

/** Shows the region that is rendered; called for each status message. */
export function updateRegion({ region, size }) {
  if (!corner) outline(region, size);
}
