// Messages over the picture: the last note, and the problems, the newest of which is displayed.

const at = (id) => document.getElementById(id);

// Minimum display time of messages and problems in milliseconds, and display time per character if that is more.
const MESSAGE_TIME = 3000;
const PROBLEM_TIME = 10000;
const CHARACTER_TIME = 60;

// Problems that were not dismissed, the newest first.
const problems = [];
// Number and text of the last message, and of each problem that the program sends, as text. The numbers of a program that
// was restarted begin again.
let receivedMessage;
let receivedProblems = [];
// Display times and what happens at their end, by the element's id.
const timers = new Map();

function display(id, text, milliseconds, end) {
  clearTimeout(timers.get(id)?.number);
  timers.set(id, { milliseconds, end });
  at(id).textContent = text;
  at(id).scrollTop = 0;
  startTimer(id);
}

/** Begins the display time of an element, unless the page is hidden, because nobody would see it. */
function startTimer(id) {
  const timer = timers.get(id);
  clearTimeout(timer.number);
  if (timer.milliseconds && !document.hidden) timer.number = setTimeout(timer.end, timer.milliseconds);
}

/** Displays a text in place of the last message, for some seconds. */
export function showMessage(text) {
  display("message", text, text && Math.max(MESSAGE_TIME, CHARACTER_TIME * text.length), closeMessage);
}

function closeMessage() {
  showMessage("");
}

const touch = matchMedia("(hover: none) and (pointer: coarse)");

/** Returns the word for a mouse, or the one for a touch screen. */
export const byInput = (mouse, gesture) => (touch.matches ? gesture : mouse);

/** Displays the newest problem, and how many others there are. */
function showProblem() {
  const [text = ""] = problems;
  at("problems").hidden = !text;
  display("problem", text, text && Math.max(PROBLEM_TIME, CHARACTER_TIME * text.length), closeProblem);
  const earlier = problems.length - 1;
  at("earlier").textContent = earlier > 0 ? `${byInput("click", "tap")}: ${earlier} earlier problem${earlier === 1 ? "" : "s"}` : "";
}

function closeProblem() {
  problems.shift();
  showProblem();
}

/** Displays what is new in a status message. */
export function receiveMessages(status) {
  const [, text] = status.message;
  if (text && String(status.message) !== receivedMessage) showMessage(text);
  receivedMessage = String(status.message);
  const isNew = (problem) => !receivedProblems.includes(String(problem));
  for (const [, problem] of status.problems.filter(isNew)) {
    const same = problems.indexOf(problem);
    if (same >= 0) problems.splice(same, 1);
    problems.unshift(problem);
    showProblem();
  }
  receivedProblems = status.problems.map(String);
  const sceneError = status.scene_error ?? "";
  if (at("scene-error").textContent !== sceneError) at("scene-error").textContent = sceneError;
}

/** Removes the message and the displayed problem. Returns whether there was one. */
export function closeMessages() {
  const isShown = at("message").textContent !== "" || problems.length > 0;
  closeMessage();
  closeProblem();
  return isShown;
}

/** Lets clicks remove messages, and stops their time while the page is hidden. */
export function followMessages() {
  at("message").addEventListener("click", closeMessage);
  for (const id of ["problem", "earlier", "dismiss"]) at(id).addEventListener("click", closeProblem);
  document.addEventListener("visibilitychange", () => [...timers.keys()].forEach(startTimer));
}
