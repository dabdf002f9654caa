// Controls that choose an animation of the scene, play it, and show it at a time.

import { followChoice, showChoice } from "./controls.js";

const at = (id) => document.getElementById(id);

// Steps per second of the slider, as of the keys.
const RATE = 24;

// Whether the slider is being moved; then it does not follow the program.
let isMoved = false;
let waiting = false;
// Animations in the list, as text.
let listed;

/** Updates the controls of the animation, and hides them without one; called for each status message. */
export function updateAnimation({ animation }) {
  at("animation").hidden = !animation;
  if (!animation) return;
  const { time, seconds, playing, text, names, chosen } = animation;
  at("play").textContent = playing ? "Pause animation" : "Play animation";
  const slider = at("time");
  slider.max = seconds;
  slider.step = seconds < 2 / RATE ? seconds / 100 : 1 / RATE;
  if (!isMoved) slider.value = time ?? 0;
  slider.setAttribute("aria-valuetext", text);
  at("time-text").value = text;
  const list = at("animation-name");
  list.parentElement.hidden = names.length < 2;
  if (String(names) !== listed) {
    listed = String(names);
    list.replaceChildren(new Option("all animations", ""), ...names.map((name, index) => new Option(name, index)));
  }
  showChoice(list, String(chosen ?? ""));
}

/** Sends `send` a message for each use of the controls, at most one per display frame. */
export function followAnimation(send) {
  const slider = at("time");
  const tell = () => {
    waiting = false;
    send({ seek: slider.valueAsNumber });
  };
  slider.addEventListener("input", () => {
    isMoved = true;
    if (!waiting) requestAnimationFrame(tell);
    waiting = true;
  });
  slider.addEventListener("change", () => {
    isMoved = false;
  });
  const list = at("animation-name");
  followChoice(list, (value) => send({ animation: value === "" ? null : Number(value) }));
  at("play").addEventListener("click", () => send({ act: "play-animation" }));
}
