// Button and slider that play the animation of the scene and show it at a time.

const at = (id) => document.getElementById(id);

// Steps per second of the slider, as of the keys.
const RATE = 24;

// Whether the slider is being moved; then it does not follow the program.
let isMoved = false;
let waiting = false;

/** Updates the controls of the animation, and hides them without one; called for each status message. */
export function updateAnimation({ animation }) {
  at("animation").hidden = !animation;
  if (!animation) return;
  const { time, seconds, playing, text } = animation;
  at("play").textContent = playing ? "Pause animation" : "Play animation";
  const slider = at("time");
  slider.max = seconds;
  slider.step = seconds < 2 / RATE ? seconds / 100 : 1 / RATE;
  if (!isMoved) slider.value = time ?? 0;
  slider.setAttribute("aria-valuetext", text);
  at("time-text").value = text;
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
  at("play").addEventListener("click", () => send({ act: "play-animation" }));
}
