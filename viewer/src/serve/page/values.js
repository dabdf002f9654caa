// Red, green and blue in linear light, written into the pixels of the magnified picture as in the window.

const at = (id) => document.getElementById(id);

// Width of a pixel in CSS pixels from which its values are written into it.
const LEGIBLE = 40;

// Size of the picture in pixels, and whether the picture itself is displayed.
let size = [1, 1];
let isPicture = true;
// Newest values, with the region to which they belong; undefined if there are none.
let known;
// Whether an answer is awaited, and whether the region has changed meanwhile.
let isAsking = false;
let isOutdated = false;
// A copy of the displayed pixels, whose brightness decides the color of the text.
const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

/** Returns the position of the picture on the stage, the width of a pixel, and the region of the visible pixels. */
function visible() {
  const stage = at("stage").getBoundingClientRect();
  const box = at("picture").getBoundingClientRect();
  const scale = Math.min(box.width / size[0], box.height / size[1]);
  const isShown = isPicture && at("wipe").hidden && at("picture").width === size[0];
  if (scale < LEGIBLE || !isShown) return undefined;
  const left = box.x + (box.width - scale * size[0]) / 2 - stage.x;
  const top = box.y + (box.height - scale * size[1]) / 2 - stage.y;
  const [x, y] = [left, top].map((begin) => Math.max(0, Math.floor(-begin / scale)));
  const right = Math.min(size[0], Math.ceil((stage.width - left) / scale));
  const bottom = Math.min(size[1], Math.ceil((stage.height - top) / scale));
  return right > x && bottom > y ? { left, top, scale, x, y, width: right - x, height: bottom - y } : undefined;
}

/** Draws the known values over the pixels that are completely visible, and removes all others. */
function draw(area) {
  const canvas = at("values");
  const stage = at("stage").getBoundingClientRect();
  const density = devicePixelRatio;
  canvas.hidden = !area;
  if (!area) return;
  canvas.width = Math.round(stage.width * density);
  canvas.height = Math.round(stage.height * density);
  if (!known) return;
  const text = canvas.getContext("2d");
  text.scale(density, density);
  const font = Math.min(area.scale / 4.2, 14);
  text.font = `${font}px ui-monospace, monospace`;
  text.textAlign = "center";
  text.textBaseline = "middle";
  const { x: first, y: top, width, height } = known;
  [copy.canvas.width, copy.canvas.height] = [width, height];
  copy.drawImage(at("picture"), first, top, width, height, 0, 0, width, height);
  const { data } = copy.getImageData(0, 0, width, height);
  for (let row = 0; row < known.height; row += 1) {
    for (let column = 0; column < known.width; column += 1) {
      const x = area.left + (known.x + column) * area.scale;
      const y = area.top + (known.y + row) * area.scale;
      const isWhole = x >= 0 && y >= 0 && x + area.scale <= stage.width && y + area.scale <= stage.height;
      if (!isWhole) continue;
      const place = row * known.width + column;
      const [red, green, blue] = data.subarray(4 * place);
      text.fillStyle = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128 ? "#fff" : "#000";
      known.values.slice(3 * place, 3 * place + 3).forEach((value, channel) => {
        text.fillText(value, x + area.scale / 2, y + area.scale / 2 + (channel - 1) * 1.2 * font);
      });
    }
  }
}

/** Draws the values of the visible pixels if these are large enough, and asks for the newest ones. */
async function refresh() {
  const area = visible();
  if (!area) known = undefined;
  draw(area);
  if (isAsking) isOutdated = true;
  if (isAsking || !area) return;
  isAsking = true;
  try {
    const response = await fetch(`/values.json?${area.x},${area.y},${area.width},${area.height}`);
    known = response.ok ? await response.json() : undefined;
  } catch {
    known = undefined;
  }
  isAsking = false;
  draw(visible());
  if (isOutdated) {
    isOutdated = false;
    refresh();
  }
}

/** Updates the values; called for each status message. */
export function updateValues(status) {
  size = status.size;
  isPicture = !status.legend;
  refresh();
}

addEventListener("resize", refresh);
addEventListener("magnified", refresh);
