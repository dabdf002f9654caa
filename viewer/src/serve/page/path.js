// One path of a pixel: its segments drawn over the picture, and its vertices as a table.

const at = (id) => document.getElementById(id);

const NAMESPACE = "http://www.w3.org/2000/svg";

function drawn(name, attributes) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

function element(name, text, properties = {}) {
  const made = Object.assign(document.createElement(name), properties);
  made.textContent = text;
  return made;
}

const peak = (light) => Math.max(...light).toFixed(4);

const triple = (light) => light.map((part) => part.toFixed(4)).join(" ");

function surface(vertex) {
  if (!vertex.hit) return "nothing (background)";
  const { material, front } = vertex.hit;
  return `${material || "surface"}${front ? "" : " from behind"}`;
}

function cells(vertex, bounce) {
  const { throughput, emission, light_sample: sample } = vertex;
  const light = !sample ? "–" : sample.blocked ? "blocked" : peak(sample.light);
  const finds = Math.max(...emission) > 0 ? peak(emission) : "–";
  return [
    element("th", String(bounce), { scope: "row", ariaLabel: `bounce ${bounce}` }),
    element("td", surface(vertex), { title: surface(vertex) }),
    element("td", peak(throughput), { title: triple(throughput) }),
    element("td", finds, { title: triple(emission) }),
    element("td", light, { title: sample ? triple(sample.light) : "" }),
  ];
}

// Column and row of the displayed path's pixel, as text.
let shown = "";

/** Hides the displayed path, or only the one of `pixel`. Returns whether there was one. */
export function hidePath(pixel) {
  const isShown = !at("path").hidden && (!pixel || String(pixel) === shown);
  if (isShown) showPath(null);
  return isShown;
}

/** Displays a path; hides it if `path` is null. */
export function showPath(path) {
  const segments = at("segments");
  at("path").hidden = !path;
  segments.replaceChildren();
  if (!path) return;
  const { path_record: record, size, end } = path;
  segments.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
  const lines = path.segments.map(({ from, to, kind }) => [kind, {
    x1: from[0], y1: from[1], x2: to[0], y2: to[1], "vector-effect": "non-scaling-stroke",
  }]);
  // Dark outlines first, so that lines are visible on any background.
  segments.append(...lines.map(([, line]) => drawn("line", { ...line, class: "edge" })));
  segments.append(...lines.map(([kind, line]) => drawn("line", { ...line, class: kind })));
  const [x, y] = record.pixel.map((place) => place + 0.5);
  const mark = { x1: x, y1: y, x2: x, y2: y, "vector-effect": "non-scaling-stroke" };
  segments.append(drawn("line", { ...mark, class: "mark edge" }), drawn("line", { ...mark, class: "mark" }));

  shown = String(record.pixel);
  at("path-title").textContent = `Path of pixel ${record.pixel.join(",")}, sample ${record.sample}`;
  at("path").querySelector("tbody").replaceChildren(...record.vertices.map((vertex, bounce) => {
    const row = document.createElement("tr");
    row.append(...cells(vertex, bounce));
    return row;
  }));
  at("path-end").textContent = end;
  at("path-light").textContent = triple(record.radiance);
}

at("path").querySelector("button").addEventListener("click", () => showPath(null));
