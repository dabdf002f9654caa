// Pointer, touch and keyboard input over the picture, turned into messages, at most one of each kind per display frame.

import { usesKey } from "./controls.js";

// Wheel delta per notch, by `WheelEvent.deltaMode` (pixels, lines, pages).
const NOTCH = [100, 3, 1];

// A press that moves less than this many pixels counts as a click.
const CLICK = 4;

/**
 * Calls `send` with camera motion, `act` with a pressed key, `click` with the event of a click, and `point` with the event
 * of a movement over the picture. `tools` handles what does not move the camera: drags of other tools, and the
 * magnification.
 */
export function follow(picture, send, act, click, point, tools) {
  const pointers = new Map();
  const motion = { turn: [0, 0], pan: [0, 0], zoom: 1, dolly: 0 };
  let waiting = false;
  let pans = false;
  // Whether the drag belongs to one of the tools.
  let isTool = false;
  // Whether the drag has moved the camera. All movements of one drag are undone together.
  let hasMoved = false;
  // Position of the press, until the pointer has moved away from it.
  let pressed;

  const tell = () => {
    waiting = false;
    const drag = (movement) => {
      send({ drag: [movement, hasMoved] });
      hasMoved = true;
    };
    for (const way of ["turn", "pan"]) {
      if (motion[way].some(Boolean)) drag({ [way]: motion[way] });
      motion[way] = [0, 0];
    }
    if (motion.zoom !== 1) drag({ zoom: motion.zoom });
    if (motion.dolly) send({ dolly: motion.dolly });
    motion.zoom = 1;
    motion.dolly = 0;
  };
  const soon = () => {
    if (!waiting) requestAnimationFrame(tell);
    waiting = true;
  };
  // Accumulates motion in units of the picture's shorter side.
  const add = (way, x, y) => {
    const side = Math.min(picture.clientWidth, picture.clientHeight) || 1;
    motion[way][0] += x / side;
    motion[way][1] += y / side;
    soon();
  };
  const middleAndSpan = () => {
    const [a, b] = pointers.values();
    return [(a.x + b.x) / 2, (a.y + b.y) / 2, Math.hypot(a.x - b.x, a.y - b.y)];
  };

  picture.addEventListener("pointerdown", (event) => {
    picture.setPointerCapture(event.pointerId);
    if (!pointers.size) {
      // The last drag may have ended within this display frame.
      tell();
      hasMoved = false;
    }
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    isTool = pointers.size === 1 && tools.begin(event);
    pans = event.button !== 0 || event.shiftKey;
    pressed = pans || pointers.size > 1 ? undefined : { x: event.clientX, y: event.clientY };
  });
  picture.addEventListener("pointermove", (event) => {
    point(event);
    const from = pointers.get(event.pointerId);
    if (!from) return;
    const to = { x: event.clientX, y: event.clientY };
    if (pressed && Math.hypot(to.x - pressed.x, to.y - pressed.y) < CLICK) return;
    pressed = undefined;
    if (isTool) {
      pointers.set(event.pointerId, to);
      tools.drag(event, to.x - from.x, to.y - from.y);
    } else if (pointers.size === 1) {
      pointers.set(event.pointerId, to);
      add(pans ? "pan" : "turn", to.x - from.x, to.y - from.y);
    } else if (pointers.size === 2) {
      // A two-finger gesture pans and zooms.
      const [x, y, span] = middleAndSpan();
      pointers.set(event.pointerId, to);
      const [newX, newY, newSpan] = middleAndSpan();
      const factor = span > 0 && newSpan > 0 ? newSpan / span : 1;
      if (tools.pinch(factor, newX - x, newY - y, newX, newY)) return;
      add("pan", newX - x, newY - y);
      motion.zoom *= factor;
    }
  });
  picture.addEventListener("pointerup", (event) => {
    if (isTool) tools.end(event, Boolean(pressed));
    if (pressed && !isTool) click(event);
    pressed = undefined;
    isTool = false;
  });
  for (const end of ["pointerup", "pointercancel"]) {
    picture.addEventListener(end, (event) => pointers.delete(event.pointerId));
  }
  picture.addEventListener("contextmenu", (event) => event.preventDefault());
  picture.addEventListener("wheel", (event) => {
    event.preventDefault();
    // A touchpad's pinch arrives as a wheel with Ctrl.
    if (event.ctrlKey) return tools.wheel(event, event.deltaY / NOTCH[event.deltaMode]);
    motion.dolly -= event.deltaY / NOTCH[event.deltaMode];
    return soon();
  }, { passive: false });

  document.addEventListener("keydown", (event) => {
    // Focused elements that use the key themselves keep it.
    const isCtrl = event.ctrlKey || event.metaKey;
    const list = event.target.closest("select");
    if (list && !isCtrl && usesKey(list, event.key)) return;
    // Selected text is copied instead of the figures.
    if (isCtrl && event.key.toLowerCase() === "c" && !getSelection().isCollapsed) return;
    // With Ctrl, sliders and colors use no key.
    // Sliders use no letters, but arrows and the like. Some browsers focus a slider that was dragged.
    const isLetter = (event.key.length === 1 && event.key !== " ") || event.key === "Escape";
    const inputs = isLetter ? "input:not([type=range])" : "input";
    const users = isCtrl ? "input[type=number], dialog" : `${inputs}, dialog`;
    if (event.altKey || event.target.closest(users)) return;
    if (event.target.closest("button, summary") && (event.key === " " || event.key === "Enter")) return;
    const shifted = event.key.length > 1 && event.shiftKey ? `Shift+${event.key}` : event.key;
    const chord = isCtrl ? `Ctrl+${event.key}` : shifted;
    if (act(chord, event)) event.preventDefault();
  });
}
