// The page: a connection to the program, the pictures that come over it, and the controls.

import { showFigures } from "./figures.js";
import { follow } from "./hand.js";
import { list, turn } from "./materials.js";
import { showPath } from "./path.js";

const at = (id) => document.getElementById(id);
const picture = at("picture");
const screen = picture.getContext("2d", { alpha: false });
const keys = new Map();
// Keys that fly, for as long as they are held.
const ways = new Map();
const directions = {
  right: [1, 0, 0], left: [-1, 0, 0], up: [0, 1, 0], down: [0, -1, 0], forward: [0, 0, 1], back: [0, 0, -1],
};
let socket;
let version;

// The token has become a cookie: it need not stand where others read along.
if (location.search) history.replaceState(null, "", location.pathname);

const send = (message) => {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
};

// What only this page does, by its name in the program's table of controls.
const own = {
  overlay: () => {
    at("panel").hidden = !at("panel").hidden;
  },
  save: () => {
    Object.assign(document.createElement("a"), { href: "/picture.png", download: "" }).click();
  },
  keys: () => {
    if (at("keys").open) return at("keys").close();
    at("keys").showModal();
    // The button that takes the focus is behind the last one.
    at("keys").scrollTop = 0;
  },
};

const act = (action) => (action.render ? send({ act: action.render }) : own[action.screen]());

function connect(pause = 500) {
  const place = new URL("/live", location.href);
  place.protocol = place.protocol.replace("http", "ws");
  socket = new WebSocket(place);
  socket.binaryType = "arraybuffer";
  // One after the other, in the order in which they came.
  let shown = Promise.resolve();
  socket.addEventListener("message", ({ data }) => {
    if (data instanceof ArrayBuffer) {
      shown = shown.then(() => show(data)).finally(() => send("shown"));
    } else {
      hear(JSON.parse(data));
    }
  });
  socket.addEventListener("open", () => {
    pause = 500;
    say("");
  });
  socket.addEventListener("close", ({ reason }) => {
    say(reason ? `${reason}; waiting for it to come back` : "no connection; trying again");
    setTimeout(connect, pause, Math.min(2 * pause, 5000));
  });
}

/** Shows strips, one below the other: each an image behind its length. */
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

function hear(message) {
  if (message.controls) {
    // The program may be another one by now.
    if (version && version !== message.version) location.reload();
    if (!version) build(message);
    version = message.version;
  } else if (message.materials) {
    list(message.materials, message.chosen);
  } else if ("path" in message) {
    showPath(message.path);
  } else {
    update(message);
  }
}

/** Makes what the program's tables list. */
function build({ controls, strategies, tones, sights, fast }) {
  faster = fast;
  for (const { label, what, button, keys: bound } of controls) {
    for (const [key, action] of bound) {
      if (action.fly) ways.set(key, directions[action.fly]);
      else keys.set(key, action);
    }
    const [term, meaning] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = label;
    meaning.textContent = what;
    at("keys").querySelector("dl").append(term, meaning);
    if (button) {
      const [[, action]] = bound;
      const made = document.createElement("button");
      made.textContent = button;
      made.title = `${what} (${label})`;
      made.dataset.action = action.render ?? action.screen;
      made.addEventListener("click", () => act(action));
      at("buttons").append(made);
    }
  }
  for (const [name, all] of [["strategy", strategies], ["tone", tones], ["sight", sights]]) {
    at(name).append(...all.map((one) => new Option(one, one)));
    at(name).addEventListener("change", () => send({ [name]: at(name).value }));
  }
}

let faster = 1;
let flying = false;
// Directions that keys are held to, by the key; since when that has not been flown; and whether with Shift.
const held = new Map();
let since;
let hurries = false;

function fly(now) {
  if (!held.size) {
    since = undefined;
    return;
  }
  const seconds = (since === undefined ? 0 : Math.min(now - since, 250) / 1000) * (hurries ? faster : 1);
  since = now;
  const by = [...held.values()].reduce((sum, way) => sum.map((part, axis) => part + seconds * way[axis]), [0, 0, 0]);
  if (by.some(Boolean)) send({ fly: by });
  requestAnimationFrame(fly);
}

/** A key is pressed or let go; whether that is heard. */
function press(chord, { shiftKey }) {
  hurries = shiftKey;
  const key = chord.toLowerCase();
  if (flying && ways.has(key)) {
    if (!held.size) requestAnimationFrame(fly);
    held.set(key, ways.get(key));
    return true;
  }
  const action = keys.get(chord);
  if (action) act(action);
  return Boolean(action);
}

function release({ key, shiftKey }) {
  hurries = shiftKey;
  held.delete(key.toLowerCase());
}

let heard = 0;
// Of the picture that is rendered; a preview is smaller.
let size = [1, 1];

function update(status) {
  showFigures(status);
  size = status.size;
  picture.style.aspectRatio = `${status.size[0]} / ${status.size[1]}`;
  if (document.activeElement !== at("strategy")) at("strategy").value = status.stats.compaction;
  if (document.activeElement !== at("tone")) at("tone").value = status.tone;
  if (document.activeElement !== at("sight")) at("sight").value = status.sight;
  showLegend(status.legend);
  const stops = status.exposure_stops;
  at("exposure").value = `${stops < 0 ? "−" : "+"}${Math.abs(stops).toFixed(1)} stops`;
  flying = status.flying;
  at("buttons").querySelector("[data-action=fly]")?.setAttribute("aria-pressed", String(flying));
  const pause = at("buttons").querySelector("[data-action=pause]");
  pause?.setAttribute("aria-pressed", String(Boolean(status.state.paused)));
  const trouble = status.trouble ?? "";
  if (at("trouble").textContent !== trouble) at("trouble").textContent = trouble;
  const denoise = at("buttons").querySelector("[data-action=denoise]");
  denoise?.setAttribute("aria-pressed", String(status.denoise));
  const [count, text] = status.said;
  if (count > heard) say(text, 3000);
  heard = count;
}

let explained;

/** What false colours mean. */
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
  bar.style.background = `linear-gradient(to right, ${legend.bar.map((colour) => `rgb(${colour})`)})`;
  numbers.replaceChildren(...legend.ticks.map(([place, number]) => {
    const item = document.createElement("li");
    item.textContent = number;
    item.style.left = `${100 * place}%`;
    item.style.transform = `translateX(-${100 * place}%)`;
    return item;
  }));
}

let silence;

/** Shows a line, for a while or until the next. */
function say(text, milliseconds) {
  clearTimeout(silence);
  at("said").textContent = text;
  if (milliseconds) silence = setTimeout(say, milliseconds, "");
}

/** Column and row of the picture at a place of the screen; the picture lies in the middle, as large as it fits. */
function pixel({ clientX, clientY }) {
  const box = picture.getBoundingClientRect();
  const scale = Math.min(box.width / size[0], box.height / size[1]);
  const column = Math.floor((clientX - box.x - box.width / 2) / scale + size[0] / 2);
  const row = Math.floor((clientY - box.y - box.height / 2) / scale + size[1] / 2);
  return column >= 0 && column < size[0] && row >= 0 && row < size[1] ? [column, row] : undefined;
}

turn(send);
follow(
  picture,
  send,
  press,
  (event) => {
    const clicked = pixel(event);
    if (clicked) send({ [event.ctrlKey || event.metaKey ? "focus" : "inspect"]: clicked });
  },
);
document.addEventListener("keyup", release);
addEventListener("blur", () => held.clear());
connect();
