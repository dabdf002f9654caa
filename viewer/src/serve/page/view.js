// The page: its connection to the program, the pictures received over it, and the controls.

import { copyText } from "./clipboard.js";
import { createTimes, exportQuery, showLost, showStatistics, switchUnits } from "./statistics.js";
import {
  closeMenu, createButtons, followChoice, forgetChoices, setPressed, showChoice,
} from "./controls.js";
import { isOnCompared, switchWipe, updateComparison } from "./compare.js";
import { followAnimation, updateAnimation } from "./animation.js";
import { follow } from "./input.js";
import { edits, forgetRefusals, revealEditor, sendEdit, showEditor, switchEditor } from "./properties.js";
import { closeMessages, followMessages, receiveMessages, showMessage } from "./messages.js";
import { hidePath, showPath } from "./path.js";
import { beginSelection, endSelection, extendSelection, isSelecting, switchSelection, updateRegion } from "./region.js";
import { updateValues } from "./values.js";
import { isMagnified, magnify, move, switchZoom } from "./zoom.js";

const at = (id) => document.getElementById(id);
const picture = at("picture");
const screen = picture.getContext("2d", { alpha: false });
const keys = new Map();
// Keys that move the camera in fly mode, with their directions.
const flyKeys = new Map();
const directions = {
  right: [1, 0, 0], left: [-1, 0, 0], up: [0, 1, 0], down: [0, -1, 0], forward: [0, 0, 1], back: [0, 0, -1],
};
let socket;
let version;
// Timer of the next attempt to connect, after a loss of the connection.
let retry;

// The cookie now holds the token, so remove it from the visible URL.
if (location.search) history.replaceState(null, "", location.pathname);

const send = (message) => {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
};

// Places of the figures, in the order in which `h` selects them, with their descriptions.
const placements = [
  ["panel", "panel beside the picture"],
  ["overlay", "over the picture"],
  ["short", "short form below the picture"],
  ["off", "off"],
];

// Actions of this page alone, by their names in the program's table of controls.
const own = {
  overlay: () => {
    const main = document.querySelector("main");
    const [place, text] = placements[(placements.findIndex(([name]) => name === main.dataset.figures) + 1) % placements.length];
    main.dataset.figures = place;
    placeLegend();
    showMessage(`figures: ${text}`);
  },
  units: () => showMessage(`figures: ${switchUnits()}`),
  pixel: () => {
    at("pixel").hidden = !at("pixel").hidden;
    at("pixel").textContent = "";
    setPressed("pixel", !at("pixel").hidden);
    askPixel();
  },
  properties: switchEditor,
  wipe: () => showMessage(switchWipe()),
  region: () => showMessage(switchSelection()),
  "whole-picture": switchZoom,
  save: () => {
    Object.assign(document.createElement("a"), { href: "/picture.png", download: "" }).click();
  },
  "save-as": () => (at("save").open ? at("save").close() : at("save").showModal()),
  "export-figures": () => (at("export").open ? at("export").close() : openExport()),
  "copy-figures": () => copyFigures("csv"),
  "copy-figures-as-json": () => copyFigures("json"),
  keys: () => {
    if (at("keys").open) return at("keys").close();
    at("keys").showModal();
    // Focusing the button has scrolled to the end.
    at("keys").scrollTop = 0;
  },
};

/** Offers the figures as files, in the units of the page. */
function openExport() {
  for (const format of ["csv", "json"]) at(`export-${format}`).href = `/figures.${format}${exportQuery()}`;
  at("export").showModal();
}

/** Copies the figures to the clipboard in a format, `csv` or `json`, in the units of the page. */
async function copyFigures(format) {
  at("export").close();
  try {
    const response = await fetch(`/figures.${format}${exportQuery()}`);
    if (!response.ok) throw new Error(await response.text());
    await copyText(await response.text());
    showMessage("figures copied");
  } catch (error) {
    showMessage(`figures not copied: ${error.message}`);
  }
}

const act = (action) => {
  // A tap on Undo ends the entry of a number in the same frame.
  sendEdit();
  forgetRefusals();
  if (action.render) return send({ act: action.render });
  // What affects the page alone is done next to the menu.
  closeMenu();
  return own[action.screen]();
};

function connect(pause = 500) {
  const place = new URL("/live", location.href);
  place.protocol = place.protocol.replace("http", "ws");
  socket = new WebSocket(place);
  socket.binaryType = "arraybuffer";
  // Decodes pictures one after the other, in the order of their arrival.
  let shown = Promise.resolve();
  socket.addEventListener("message", ({ data }) => {
    if (data instanceof ArrayBuffer) {
      // A picture that cannot be decoded does not stop the later ones.
      shown = shown.then(() => show(data)).catch(() => {}).finally(() => send("displayed"));
    } else {
      handle(JSON.parse(data));
    }
  });
  socket.addEventListener("open", () => {
    pause = 500;
    at("connection").textContent = "";
    document.querySelector("main").classList.remove("lost");
    forgetChoices();
  });
  socket.addEventListener("close", ({ reason }) => {
    document.querySelector("main").classList.add("lost");
    showLost();
    at("connection").textContent = reason ? `${reason}; reconnecting` : "no connection; reconnecting";
    retry = setTimeout(connect, pause, Math.min(2 * pause, 5000));
  });
}

/** Displays a picture of strips from top to bottom, each an image file preceded by its length. */
async function show(strips) {
  const lengths = new DataView(strips);
  const images = [];
  for (let place = 0; place < strips.byteLength;) {
    const begin = place + 4;
    place = begin + lengths.getUint32(place, true);
    images.push(createImageBitmap(new Blob([new Uint8Array(strips, begin, place - begin)])));
  }
  const bitmaps = await Promise.all(images);
  const { width } = bitmaps[0];
  const height = bitmaps.reduce((sum, bitmap) => sum + bitmap.height, 0);
  if (picture.width !== width) picture.width = width;
  if (picture.height !== height) picture.height = height;
  let top = 0;
  for (const bitmap of bitmaps) {
    screen.drawImage(bitmap, 0, top);
    top += bitmap.height;
    bitmap.close();
  }
}

function handle(message) {
  if (message.controls) {
    // After a reconnect, the program may be another version.
    if (version && version !== message.version) location.reload();
    if (!version) build(message);
    version = message.version;
  } else if (message.parts) {
    showEditor(message);
    revealTapped();
  } else if ("pixel" in message) {
    showPixel(message);
  } else if ("path" in message) {
    showPath(message.path);
    if (message.path) revealTapped();
  } else {
    update(message);
  }
}

/** Adds a control to a list of the help, after the heading of its group if it begins one. */
function explain(list, label, description, heading) {
  if (heading) at(list).append(Object.assign(document.createElement("dt"), { className: "group", textContent: heading }));
  const [term, meaning] = [document.createElement("dt"), document.createElement("dd")];
  term.textContent = label;
  meaning.textContent = description;
  at(list).append(term, meaning);
}

/** Creates the controls that the program's tables list. */
function build({ controls, gestures, words, strategies, tones, debug_views: debugViews, stages, fast }) {
  fastFactor = fast;
  createTimes(stages);
  for (const { heading, label, description, keys: bound } of controls) {
    for (const [key, action] of bound) {
      if (action.fly) flyKeys.set(key, directions[action.fly]);
      else keys.set(key, action);
    }
    explain("key-list", label, description, heading);
  }
  createButtons(controls, act);
  for (const [gesture, effect] of gestures) explain("gestures", gesture, effect);
  words.forEach(([word, meaning], place) => explain("words", word, meaning, place ? undefined : "Words of the figures"));
  for (const [name, all] of [["strategy", strategies], ["tone", tones], ["debug-view", debugViews]]) {
    at(name).append(...all.map((one) => new Option(one, one)));
    followChoice(at(name), (value) => send({ [name]: value }));
  }
}

let fastFactor = 1;
let flying = false;
// Directions of the held keys, by key; time of the last flight message; whether Shift is held.
const held = new Map();
let since;
let isFast = false;

function fly(now) {
  if (!held.size) {
    since = undefined;
    return;
  }
  const seconds = (since === undefined ? 0 : Math.min(now - since, 250) / 1000) * (isFast ? fastFactor : 1);
  since = now;
  const by = [...held.values()].reduce((sum, way) => sum.map((part, axis) => part + seconds * way[axis]), [0, 0, 0]);
  if (by.some(Boolean)) send({ fly: by });
  requestAnimationFrame(fly);
}

/** Handles a key press, and returns whether the key has an action. */
function press(chord, { shiftKey }) {
  isFast = shiftKey;
  const key = chord.toLowerCase();
  if (flying && flyKeys.has(key)) {
    if (!held.size) requestAnimationFrame(fly);
    held.set(key, flyKeys.get(key));
    return true;
  }
  if (chord === "Escape") return closeTopmost();
  const action = keys.get(chord);
  if (action) act(action);
  return Boolean(action);
}

function release({ key, shiftKey }) {
  isFast = shiftKey;
  held.delete(key.toLowerCase());
}

// Requested size of the picture in pixels; a preview may be smaller.
let size = [1, 1];

function update(status) {
  askPixel();
  showStatistics(status);
  size = status.size;
  picture.style.aspectRatio = `${status.size[0]} / ${status.size[1]}`;
  showChoice(at("strategy"), status.stats.compaction);
  showChoice(at("tone"), status.tone);
  showChoice(at("debug-view"), status.debug_view);
  showLegend(status.legend);
  updateAnimation(status);
  updateComparison(status);
  updateRegion(status);
  updateValues(status);
  const stops = status.exposure_stops;
  at("exposure").value = `${stops < 0 ? "−" : "+"}${Math.abs(stops).toFixed(2).replace(/0$/, "")} stops`;
  flying = status.flying;
  setPressed("fly", flying);
  setPressed("pause", Boolean(status.state.paused));
  setPressed("denoise", status.denoise);
  setPressed("compare-strategies", status.state === "comparing");
  at("save-scene").hidden = !status.can_save_scene;
  receiveMessages(status);
}

// Magnification per notch of the wheel.
const ZOOM = 1.25;

// A phone held upright: the picture stays above the panel, which scrolls. There a legend over the picture would cover much of it.
const narrow = matchMedia("(max-width: 60rem) and (orientation: portrait)");

/** Puts the legend over the picture or, on a narrow screen, below it. */
function placeLegend() {
  const figure = at("legend");
  const isBelow = narrow.matches && document.querySelector("main").dataset.figures === "panel";
  if (isBelow && figure.parentElement !== at("panel")) at("panel").prepend(figure);
  if (!isBelow && figure.parentElement !== at("messages")) at("messages").append(figure);
}

let explained;

/** Displays the legend of the debug view, or hides it. */
function showLegend(legend) {
  const text = JSON.stringify(legend);
  if (text === explained) return;
  explained = text;
  const figure = at("legend");
  figure.hidden = !legend;
  if (!legend) return;
  figure.querySelector("figcaption").textContent = legend.title;
  figure.querySelector("p").textContent = legend.note;
  const [bar, numbers] = [figure.querySelector(".bar"), figure.querySelector("ol")];
  bar.hidden = numbers.hidden = !legend.bar.length;
  bar.style.background = `linear-gradient(to right, ${legend.bar.map((color) => `rgb(${color})`)})`;
  numbers.replaceChildren(...legend.ticks.map(([place, number]) => {
    const item = document.createElement("li");
    item.textContent = number;
    item.style.left = `${100 * place}%`;
    item.style.transform = `translateX(-${100 * place}%)`;
    return item;
  }));
}

// Time of the last tap on an object in milliseconds, and for how long its selection and path are awaited after it.
let tapped = -Infinity;
const TAP_TIME = 2000;

/** Scrolls the editor into view if an object has just been tapped on a phone. */
function revealTapped() {
  if (narrow.matches && performance.now() - tapped < TAP_TIME) revealEditor();
}

/**
 * Folds the open group of controls, ends the selection of a region, hides the path or removes messages, whichever is
 * first. Returns whether there was one.
 */
function closeTopmost() {
  if (closeMenu()) return true;
  if (isSelecting()) {
    own.region();
    return true;
  }
  return hidePath() || closeMessages();
}

// Column of the pointer on the page, pixel under it, and the time at which the program was last asked about a pixel; 0
// once it has answered.
let pointerX = 0;
let pointed;
let asked = 0;

/** Asks about the pixel under the pointer if it is to be described, unless an answer is awaited. */
function askPixel() {
  if (at("pixel").hidden || !pointed) return;
  // Another viewer's request can replace this one, so that no answer comes.
  if (asked && performance.now() - asked < 500) return;
  asked = performance.now();
  send({ pixel: pointed });
}

/** Displays the description of a pixel, and asks about the one under the pointer if that is another by now. */
function showPixel({ pixel: described, lines, compared }) {
  asked = 0;
  if (!pointed) return;
  const shown = compared && isOnCompared(pointerX) ? compared : lines;
  if (String(described) === String(pointed)) at("pixel").textContent = shown.join("\n");
  else askPixel();
}

/** Returns column and row of the picture at a pointer position; the picture is centred and scaled to fit. */
function pixel({ clientX, clientY }) {
  const box = picture.getBoundingClientRect();
  const scale = Math.min(box.width / size[0], box.height / size[1]);
  const column = Math.floor((clientX - box.x - box.width / 2) / scale + size[0] / 2);
  const row = Math.floor((clientY - box.y - box.height / 2) / scale + size[1] / 2);
  return column >= 0 && column < size[0] && row >= 0 && row < size[1] ? [column, row] : undefined;
}

function point(event) {
  pointerX = event.clientX;
  pointed = pixel(event);
  askPixel();
}

edits(send);
followAnimation(send);
followMessages();
// A message about the file would be behind the dialog.
at("save").addEventListener("click", ({ target }) => target.closest("a") && at("save").close());
at("figures").addEventListener("click", own.overlay);
at("export").addEventListener("click", ({ target }) => target.closest("a") && at("export").close());
at("copy").addEventListener("click", () => copyFigures("csv"));
picture.addEventListener("contextmenu", () => hidePath());
follow(
  picture,
  send,
  press,
  (event) => {
    const clicked = pixel(event);
    point(event);
    const isFocus = event.ctrlKey || event.metaKey;
    // A second click on a pixel hides its path.
    if (!clicked || (!isFocus && hidePath(clicked))) return;
    send({ [isFocus ? "focus" : "inspect"]: clicked });
    if (!isFocus) tapped = performance.now();
  },
  point,
  {
    begin: (event) => beginSelection(pixel(event)) || (isMagnified() && event.ctrlKey && event.button === 0),
    drag: (event, right, down) => {
      if (event.ctrlKey && isMagnified()) move(right, down);
      else extendSelection(pixel(event), size);
    },
    end: (event, isClick) => {
      endSelection(pixel(event), send);
      const clicked = pixel(event);
      if (isClick && event.ctrlKey && clicked) send({ focus: clicked });
    },
    wheel: (event, notches) => magnify(ZOOM ** -notches, event.clientX, event.clientY),
    pinch: (factor, right, down, x, y) => {
      if (!isMagnified()) return false;
      magnify(factor, x, y);
      move(right, down);
      return true;
    },
  },
);
// Browsers delay the timers of hidden pages by a minute and more.
document.addEventListener("visibilitychange", () => {
  if (document.hidden || socket.readyState !== WebSocket.CLOSED) return;
  clearTimeout(retry);
  connect();
});
document.addEventListener("keyup", release);
addEventListener("blur", () => held.clear());
narrow.addEventListener("change", placeLegend);
placeLegend();
connect();
