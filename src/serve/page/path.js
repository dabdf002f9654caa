// One path of a pixel: its lines over the picture, and what became of it, bounce by bounce.

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

const most = (light) => Math.max(...light).toFixed(4);

const triple = (light) => light.map((part) => part.toFixed(4)).join(" ");

function met(vertex) {
  if (!vertex.met) return "nothing";
  const { material, front } = vertex.met;
  return `${material || "a surface"}${front ? "" : ", from behind"}`;
}

function cells(vertex, bounce) {
  const { throughput, found, light_sample: probe } = vertex;
  const light = !probe ? "–" : probe.blocked ? "blocked" : most(probe.light);
  const finds = Math.max(...found) > 0 ? most(found) : "–";
  return [
    element("th", String(bounce), { scope: "row", ariaLabel: `bounce ${bounce}` }),
    element("td", met(vertex), { title: met(vertex) }),
    element("td", most(throughput), { title: triple(throughput) }),
    element("td", finds, { title: triple(found) }),
    element("td", light, { title: probe ? triple(probe.light) : "" }),
  ];
}

/** Shows a path, or none. */
export function showPath(path) {
  const strokes = at("strokes");
  at("path").hidden = !path;
  strokes.replaceChildren();
  if (!path) return;
  const { track, size, end } = path;
  strokes.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
  const lines = path.strokes.map(({ from, to, what }) => [what, {
    x1: from[0], y1: from[1], x2: to[0], y2: to[1], "vector-effect": "non-scaling-stroke",
  }]);
  // Dark edges first: lines are seen on any ground.
  strokes.append(...lines.map(([, line]) => drawn("line", { ...line, class: "edge" })));
  strokes.append(...lines.map(([what, line]) => drawn("line", { ...line, class: what })));
  const [x, y] = track.pixel.map((place) => place + 0.5);
  const mark = { x1: x, y1: y, x2: x, y2: y, "vector-effect": "non-scaling-stroke" };
  strokes.append(drawn("line", { ...mark, class: "mark edge" }), drawn("line", { ...mark, class: "mark" }));

  at("path-title").textContent = `A path of pixel ${track.pixel.join(",")}, sample ${track.sample}`;
  at("path").querySelector("tbody").replaceChildren(...track.vertices.map((vertex, bounce) => {
    const row = document.createElement("tr");
    row.append(...cells(vertex, bounce));
    return row;
  }));
  at("path-end").textContent = end;
  at("path-light").textContent = triple(track.radiance);
}

at("path").querySelector("button").addEventListener("click", () => showPath(null));
