// The page: a connection to the program, the pictures that come over it, and the controls.

import { showFigures } from "./figures.js";
import { follow } from "./hand.js";

const at = (id) => document.getElementById(id);
const picture = at("picture");
const screen = picture.getContext("2d", { alpha: false });
const keys = new Map();
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
  keys: () => (at("keys").open ? at("keys").close() : at("keys").showModal()),
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
  } else {
    update(message);
  }
}

/** Makes what the program's tables list. */
function build({ controls, strategies, tones }) {
  for (const { label, what, button, keys: bound } of controls) {
    for (const [key, action] of bound) keys.set(key, action);
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
  for (const [name, all] of [["strategy", strategies], ["tone", tones]]) {
    at(name).append(...all.map((one) => new Option(one, one)));
    at(name).addEventListener("change", () => send({ [name]: at(name).value }));
  }
}

let heard = 0;

function update(status) {
  showFigures(status);
  picture.style.aspectRatio = `${status.size[0]} / ${status.size[1]}`;
  if (document.activeElement !== at("strategy")) at("strategy").value = status.stats.compaction;
  if (document.activeElement !== at("tone")) at("tone").value = status.tone;
  const stops = status.exposure_stops;
  at("exposure").value = `${stops < 0 ? "−" : "+"}${Math.abs(stops).toFixed(1)} stops`;
  const pause = at("buttons").querySelector("[data-action=pause]");
  pause?.setAttribute("aria-pressed", String(Boolean(status.state.paused)));
  const [count, text] = status.said;
  if (count > heard) say(text, 3000);
  heard = count;
}

let silence;

/** Shows a line, for a while or until the next. */
function say(text, milliseconds) {
  clearTimeout(silence);
  at("said").textContent = text;
  if (milliseconds) silence = setTimeout(say, milliseconds, "");
}

follow(picture, send, (key) => {
  const action = keys.get(key);
  if (action) act(action);
  return Boolean(action);
});
connect();
