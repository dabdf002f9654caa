// Magnification of the picture on this page.

const at = (id) => document.getElementById(id);

// Magnification, at least 1, and the offset of the magnified view in CSS pixels.
let factor = 1;
let offset = [0, 0];

// Number of CSS pixels per pixel of the picture up to which it can be magnified, and from which pixels are squares.
const LARGEST = 64;
const SQUARE = 3;

/** Returns whether the picture is magnified. */
export const isMagnified = () => factor > 1;

/** Applies magnification and offset, which the edges of the view limit. */
function apply() {
  const view = at("view");
  offset = [view.offsetWidth, view.offsetHeight].map((length, axis) =>
    Math.min(0, Math.max(offset[axis], length * (1 - factor))));
  view.style.transform = isMagnified() ? `translate(${offset[0]}px, ${offset[1]}px) scale(${factor})` : "";
  const picture = at("picture");
  const fitted = Math.min(view.offsetWidth / picture.width, view.offsetHeight / picture.height);
  view.classList.toggle("pixels", fitted * factor >= SQUARE);
  dispatchEvent(new Event("magnified"));
}

/** Magnifies by `by` about a position of the page; a number below 1 shrinks the picture, at most to its fitted size. */
export function magnify(by, clientX, clientY) {
  const stage = at("stage").getBoundingClientRect();
  const picture = at("picture");
  const fitted = Math.min(stage.width / picture.width, stage.height / picture.height);
  const next = Math.min(Math.max(factor * by, 1), Math.max(LARGEST / fitted, 1));
  const pointer = [clientX - stage.x, clientY - stage.y];
  // The point under the pointer stays where it is.
  offset = offset.map((begin, axis) => pointer[axis] - ((pointer[axis] - begin) * next) / factor);
  factor = next;
  apply();
}

/** Moves the magnified picture by this many CSS pixels. */
export function move(right, down) {
  offset = [offset[0] + right, offset[1] + down];
  apply();
}

/** Shows the whole picture again or, if that is shown, magnifies the middle. */
export function switchZoom() {
  if (isMagnified()) {
    factor = 1;
    offset = [0, 0];
    return apply();
  }
  const { x, y, width, height } = at("stage").getBoundingClientRect();
  return magnify(4, x + width / 2, y + height / 2);
}
