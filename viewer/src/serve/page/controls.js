// Buttons in folded groups, and lists of choices.

import { element } from "./format.js";

const at = (id) => document.getElementById(id);

/** Returns the button of an action, if there is one. */
export const buttonOf = (action) => document.querySelector(`button[data-action=${action}]`);

/** Shows whether the state that a button switches is on. */
export function setPressed(action, isPressed) {
  buttonOf(action)?.setAttribute("aria-pressed", String(isPressed));
}

/** Creates a button for an action, which `act` executes. */
export function createButton(text, title, action, act) {
  const made = element("button", { type: "button", textContent: text, title });
  made.dataset.action = action.render ?? action.screen;
  made.addEventListener("click", () => act(action));
  return made;
}

/** Creates a folded group of controls. */
function createMenu(heading) {
  const items = element("div", { className: "items" });
  const menu = element("details", { className: "menu", name: "menu" }, element("summary", {}, heading), items);
  return { menu, items };
}

/** Creates the buttons of the program's table of controls, in one folded group for each heading. */
export function createButtons(controls, act) {
  let heading;
  const groups = new Map();
  for (const control of controls) {
    heading = control.heading ?? heading;
    if (!control.button) continue;
    const [[, action]] = control.keys;
    const made = createButton(control.button, `${control.description} (${control.label})`, action, act);
    groups.set(heading, [...(groups.get(heading) ?? []), made]);
    if (action.screen === "wipe") {
      const errorMap = createButton("Error map", "Map of the visible error (X)", { render: "error-map" }, act);
      errorMap.hidden = true;
      groups.get(heading).push(errorMap);
    }
  }
  const display = at("look");
  for (const [name, made] of groups) {
    if (made.length === 1) {
      at("figures").before(...made);
      continue;
    }
    const { menu, items } = createMenu(name);
    items.append(...made);
    at("figures").before(menu);
    // Tone, view and exposure belong to the buttons of the picture.
    if (name !== "Picture") continue;
    items.append(...display.querySelector(".items").children);
    display.remove();
  }
  // The most frequent one needs no menu, and some belong to the figures.
  at("buttons").prepend(buttonOf("pause"));
  const choices = ["compare-strategies", "units", "export-figures"].map(buttonOf);
  at("choices").append(...choices.filter(Boolean));
}

const openMenu = () => document.querySelector(".menu[open]");

/** Folds the open group of controls. Returns whether there was one. */
export function closeMenu() {
  const menu = openMenu();
  if (!menu) return false;
  if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
  menu.open = false;
  return true;
}

document.addEventListener("pointerdown", ({ target }) => {
  const menu = openMenu();
  if (menu && !menu.contains(target)) menu.open = false;
}, { capture: true });

// Time for which a choice is displayed before the program has confirmed it, in milliseconds.
const CONFIRMATION_TIME = 2000;
// The choices that are not confirmed, by list.
const chosen = new Map();
// The list that was focused by a pointer: it keeps no key, because the user does not work with the keyboard in it.
let pointedList;

const isOpen = (list) => CSS.supports("selector(:open)") && list.matches(":open");

/** Displays the program's state in a list, except while the user chooses. */
export function showChoice(list, value) {
  const choice = chosen.get(list);
  if (choice?.value === value || performance.now() > choice?.until) chosen.delete(list);
  if (!chosen.has(list) && !isOpen(list)) list.value = value;
}

/** Calls `send` with each choice in a list. */
export function followChoice(list, send) {
  list.addEventListener("pointerdown", () => { pointedList = list; });
  list.addEventListener("blur", () => { pointedList = undefined; });
  list.addEventListener("change", () => {
    chosen.set(list, { value: list.value, until: performance.now() + CONFIRMATION_TIME });
    send(list.value);
    // The next key is not for the list.
    if (pointedList === list) list.blur();
  });
}

/** Forgets choices that the program has not confirmed, because the connection is a new one. */
export function forgetChoices() {
  chosen.clear();
}

// Keys of a list that has the keyboard: to move in it and to open it.
const LIST_KEYS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown", "Enter", " "];

/** Returns whether a focused list uses this key itself. */
export function usesKey(list, key) {
  return isOpen(list) || (list !== pointedList && LIST_KEYS.includes(key));
}
