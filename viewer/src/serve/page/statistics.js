// Statistics of the render, in one of two units: for one sample of every pixel, or since the start of the film. Speeds,
// and times for one sample, are medians over the last seconds. A cell's tooltip shows all digits.

import { bytes, count, duration, element, microseconds, millions, percent, threeDigits, write } from "./format.js";
import { showNoise, showRates, showStages } from "./plots.js";
import { showStrategies } from "./strategies.js";
import { Table } from "./tables.js";

const at = (id) => document.getElementById(id);

/** Formats a share with at most three digits. */
const share = (part) => (part >= 0.9995 ? "100\u00a0%" : percent(part));

// Columns with a color form the bar.
const COUNTS = [
  { field: "rays", heading: "rays", about: "Rays that the bounce traces to their nearest hits" },
  { field: "shadow_rays", heading: "shadow", about: "Shadow rays, which test whether light reaches the hits" },
  { field: "survivors", heading: "survive", about: "Rays whose paths continue to the next bounce", color: "survivors" },
  { field: "ended", heading: "end", about: "Rays whose paths end at a surface", color: "ended" },
  { field: "misses", heading: "miss", about: "Rays that leave the scene", color: "misses" },
  { field: "removed", heading: "removed", about: "Share of the rays that do not continue", format: share },
  { field: "ns_per_ray", heading: "ns/ray", about: "Time of all stages per ray, counting shadow rays", format: threeDigits },
  { field: "lane_use", heading: "busy", about: "Share of the launched threads that had a ray to trace", format: share },
];
const COUNTED = ["rays", "shadow_rays", "survivors", "ended", "misses"];

// Figures besides the stage times that belong to the strategy in use.
const MEASURED = ["lane_use", "total_us", "ns_per_ray", "spread_part", "spread", "saved_us"];

const counts = new Table(at("counts"), COUNTS, count);
let times;
let stageNames = [];

/** Creates the table of times, with a column for each stage; called once, before `showStatistics`. */
export function createTimes(stages) {
  stageNames = stages;
  const time = (name) => ({ field: `${name}_us`, explain: ({ spread }) => quartiles(spread, name) });
  const columns = stages.map((stage) => ({ ...time(stage), heading: stage, color: stage }));
  const saved = {
    field: "saved_us",
    heading: "saves",
    about: "Time that the stages besides compaction take less than with the strategy off; known after a comparison",
  };
  columns.splice(stages.indexOf("compact") + 1, 0, saved);
  const total = { ...time("total"), heading: "time", about: "Time of all stages together" };
  const spread = {
    field: "spread_part",
    heading: "±",
    about: "Half the distance of the quartiles of the time of all stages, relative to the median",
    format: (part) => `${(100 * part).toFixed(0)}\u00a0%`,
  };
  times = new Table(at("times"), [...columns, total, spread], microseconds);
}

/** Describes the quartiles of the time of a stage, or of the total; returns nothing if they are not known. */
const quartiles = (spread, name) => {
  const [low, high] = [spread?.low, spread?.high].map((times) => times?.[`${name}_us`]);
  return spread ? `, quartiles ${microseconds(low)} to ${microseconds(high)}` : "";
};

/** Describes the noise estimate of an adaptive render. */
function noiseOf({ noise, size }) {
  const part = (error) => `${(100 * error).toFixed(2)}\u00a0%`;
  const estimated = noise.estimated === null ? "–" : part(noise.estimated);
  const done = Math.floor(1000 * (1 - noise.unconverged_pixels / (size[0] * size[1]))) / 10;
  return `noise ${estimated}, target ${part(noise.target)}, ${done.toFixed(1)}\u00a0% of the pixels done`;
}

// Whether counts and times are those since the start of the film, and the last status.
let isTotal = false;
let last;

/** Switches between the units of the tables, and returns the name of the new ones. */
export function switchUnits() {
  isTotal = !isTotal;
  if (last) showStatistics(last);
  return unitsName();
}

const unitsName = () => (isTotal ? "total since the start" : "per sample of every pixel");

/** Returns the figures of a bounce or of all in the present units; `factor` converts counts to those of one sample. */
function inUnits(bounce, recent, factor, isMeasured) {
  const values = { ...recent, ...bounce };
  for (const field of COUNTED) {
    values[field] = isTotal ? bounce[field] : Math.round(bounce[field] * factor);
  }
  if (isTotal) {
    for (const stage of stageNames) values[`${stage}_us`] = 1000 * bounce[`${stage}_ms`];
    values.total_us = stageNames.reduce((sum, stage) => sum + values[`${stage}_us`], 0);
    // Spread and savings are those of one sample.
    for (const field of ["saved_us", "spread"]) values[field] = undefined;
  }
  const { total_us: time, spread } = values;
  const rays = values.rays + values.shadow_rays;
  values.ns_per_ray = rays > 0 && time > 0 ? (1000 * time) / rays : undefined;
  values.spread_part = spread && time > 0 ? (spread.high.total_us - spread.low.total_us) / 2 / time : undefined;
  // The film was rendered by another strategy, whose figures are not those of the one in use.
  const timed = stageNames.map((stage) => `${stage}_us`);
  if (!isMeasured) for (const field of [...MEASURED, ...timed]) values[field] = undefined;
  if (!values.lane_use) values.lane_use = undefined;
  return values;
}

/** Returns the name of the strategy in use, with a remark if hits are sorted by material. */
function strategyOf({ compaction, sort_hits: sorts }) {
  const remarks = { on: ", sorted hits", off: "" };
  return compaction + (remarks[sorts] ?? ", hits sorted on some devices");
}

/** Displays the memory by kind, and the waves. */
function showResources({ memory, waves }) {
  at("resources").hidden = !memory && !waves;
  if (memory) {
    const kinds = Object.entries(memory);
    const all = kinds.reduce((sum, [, size]) => sum + size, 0);
    write(at("memory"), `${bytes(all)}: ${kinds.map(([kind, size]) => `${kind} ${bytes(size)}`).join(", ")}`);
  }
  if (waves) write(at("waves"), `${count(waves.paths)} paths each, up to ${waves.in_flight} in flight`);
}

/** Estimates the seconds until a running render is complete. */
function timeLeft({ seconds }, { rendering }) {
  if (!rendering?.progress || seconds < 0.5) return "";
  const left = (seconds * (1 - rendering.progress)) / rendering.progress;
  return `${left < 59.5 ? `${left.toFixed(0)} s` : duration(Math.max(left, 60))} left`;
}

/** Displays that the connection to the program is lost, in place of what the render does. */
export function showLost() {
  write(at("state"), "connection lost");
  for (const id of ["left-time", "frames", "viewers"]) write(at(id), "");
}

/** Displays a status message. */
export function showStatistics(status) {
  last = status;
  const { stats, recent, state, size, viewers } = status;
  const scene = stats.scene.split(/[\\/]/).pop();
  write(at("scene"), scene, scene);
  const device = `${stats.backend}: ${stats.device} · ${size[0]}\u00a0×\u00a0${size[1]}`;
  write(at("device"), device, device);
  const going = state.rendering ?? state.paused;
  const has = stats.noise ? stats.noise.mean_samples.toFixed(1) : stats.spp;
  const samples = going ? `${has} of ${going.samples} samples` : `${has} ${has === 1 ? "sample" : "samples"}`;
  write(at("samples"), stats.noise ? `${samples}, ${noiseOf(stats)}` : samples);
  const doing = state === "comparing" ? "comparing strategies" : "done";
  write(at("state"), state.paused ? "paused" : going ? "rendering" : doing);
  write(at("viewers"), viewers > 1 ? `${viewers} viewers` : "");
  const left = timeLeft(stats, state);
  write(at("left-time"), left);
  write(at("frames"), state.rendering ? `${recent.frames_per_second} fps` : "");
  at("done").value = going ? going.progress : 1;
  const speed = going ? recent : stats;
  write(at("paths"), millions(speed.paths_per_second), String(speed.paths_per_second));
  write(at("rays"), millions(speed.rays_per_second), String(speed.rays_per_second));
  const { lane_use: lanes } = recent.total;
  const use = recent.is_measured && lanes > 0 ? lanes : undefined;
  write(at("lanes"), use === undefined ? "–" : percent(use), String(use ?? ""));
  write(at("seconds"), duration(stats.seconds), String(stats.seconds));
  document.title = [scene, samples, left, "raysieve"].filter(Boolean).join(" – ");

  const devices = stats.devices?.length > 1 ? stats.devices : [];
  at("devices").replaceChildren(...devices.map((device) => element(
    "li", { title: `${device.paths} paths` },
    `${device.device}: ${count(device.paths)} paths, ${threeDigits(device.paths_per_second / 1e6)} Mpaths/s`,
    device.failed ? ", failed" : "",
  )));

  const warnings = [];
  if (stats.rejected_samples > 0) {
    warnings.push(`${count(stats.rejected_samples)} samples rejected: not finite or too bright`);
  }
  if (stats.clamp_indirect !== undefined) {
    warnings.push(`indirect light clamped to ${stats.clamp_indirect}: the image is darker than without clamping`);
  }
  if (stats.denoise_ms !== undefined) {
    warnings.push(`denoised preview (${microseconds(1e3 * stats.denoise_ms)}); saved images are not denoised`);
  } else if (status.denoise && status.debug_view === "light") {
    // Keeps the rows below in place.
    warnings.push("denoised preview, once there are enough samples");
  }
  at("warnings").replaceChildren(...warnings.map((warning) => element("li", {}, warning)));

  const factor = stats.paths > 0 ? (size[0] * size[1]) / stats.paths : 0;
  const isMeasured = isTotal ? !recent.is_mixed : recent.is_measured;
  const inTable = (bounce, of) => inUnits(bounce, of, factor, isMeasured);
  const shown = stats.bounces.slice(0, recent.rows).map((bounce, place) => inTable(bounce, recent.bounces[place]));
  const sum = (field) => stats.bounces.reduce((all, bounce) => all + bounce[field], 0);
  const summed = [...COUNTED, ...stageNames.map((stage) => `${stage}_ms`)];
  const all = inTable(Object.fromEntries(summed.map((field) => [field, sum(field)])), recent.total);
  for (const caption of document.querySelectorAll(".units")) write(caption, unitsName());
  for (const caption of document.querySelectorAll(".strategy")) write(caption, strategyOf(stats));
  counts.update(shown, all);
  times.update(shown, all);
  showRates(recent.rate_history);
  showStages(recent.stage_history, stageNames);
  showNoise(recent.noise_history);
  showStrategies(recent);
  showResources(stats);
}

/** Returns the query of the exported figures in the units of the tables. */
export const exportQuery = () => (isTotal ? "?total" : "");
