// The picture and the image of --compare side by side, with a line between them that can be dragged.

import { buttonOf } from "./controls.js";

const at = (id) => document.getElementById(id);

// Position of the line, as a fraction of the picture's width.
let position = 0.5;
// File name of the other image; empty if there is none. Size of the picture in pixels.
let name = "";
// Name of what is displayed left of the line.
let shown = "render";
let size = [1, 1];
let isFirst = true;

/** Returns the left edge and the width of the picture on the page in CSS pixels. */
function extent() {
  const box = at("picture").getBoundingClientRect();
  const width = size[0] * Math.min(box.width / size[0], box.height / size[1]);
  return [box.x + (box.width - width) / 2, width];
}

/** Places the line, and shows the part of the other image that is right of it. */
function place() {
  const wipe = at("wipe");
  if (wipe.hidden) return;
  const [left, width] = extent();
  const box = at("picture").getBoundingClientRect();
  const line = left + position * width;
  wipe.style.left = `${line - at("stage").getBoundingClientRect().x}px`;
  at("compared").style.clipPath = `inset(0 0 0 ${(100 * (line - box.x)) / box.width}%)`;
  wipe.setAttribute("aria-valuenow", String(Math.round(100 * position)));
}

function moveTo(clientX) {
  const [left, width] = extent();
  position = Math.min(Math.max((clientX - left) / width, 0), 1);
  place();
}

/** Starts or ends the comparison, and returns the message about it. */
export function switchWipe() {
  if (!name) return "nothing to compare with; start raysieve with --compare and an .exr or .png";
  at("wipe").hidden = at("compared").hidden = !at("wipe").hidden;
  place();
  return at("wipe").hidden ? "picture alone" : `left: ${shown}; right: ${name}`;
}

/** Updates the other image; called for each status message. */
export function updateComparison(status) {
  name = status.compared ?? "";
  size = status.size;
  shown = status.displayed;
  const errorMap = buttonOf("error-map");
  if (errorMap) errorMap.hidden = !name;
  if (!name) return;
  // The program converts the image with these settings.
  const source = `/compared.png?${status.exposure_stops},${status.tone}`;
  if (at("compared").getAttribute("src") !== source) at("compared").src = source;
  if (isFirst) switchWipe();
  isFirst = false;
  place();
}

/** Returns whether the other image is displayed at this position of a pointer. */
export function isOnCompared(clientX) {
  const [left, width] = extent();
  return !at("wipe").hidden && clientX >= left + position * width;
}

const wipe = at("wipe");
wipe.addEventListener("pointerdown", (event) => {
  wipe.setPointerCapture(event.pointerId);
  event.preventDefault();
});
wipe.addEventListener("pointermove", (event) => {
  if (wipe.hasPointerCapture(event.pointerId)) moveTo(event.clientX);
});
wipe.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key];
  if (!step) return;
  position = Math.min(Math.max(position + step, 0), 1);
  place();
  event.preventDefault();
  event.stopPropagation();
});
addEventListener("resize", place);
addEventListener("magnified", place);
