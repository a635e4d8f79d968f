// What is typed: each talk has its own, which is there again after another talk, and after the page was opened anew.

import { $ } from "./dom.js";

const TYPED = "dramaturg-typed";
const SENT = "dramaturg-sent"; // what was sent, until it was said
const MOST = 0.4; // of the window's height

const box = $("say");
let place = ""; // the talk that is typed for

const placeOf = ({ role, thread }) => ` ${role} ${thread}`;

function keep(kind, at, text) {
  if (text) sessionStorage.setItem(kind + at, text);
  else sessionStorage.removeItem(kind + at);
}

// The box grows with what is written.
function fit() {
  box.style.height = "auto";
  if (box.value) box.style.height = `${Math.min(box.scrollHeight + 2, innerHeight * MOST)}px`;
}

export function write(text) {
  box.value = text;
  keep(TYPED, place, text);
  fit();
}

// Another talk is on the screen: what was typed for it stands in the box.
export function typeFor(talk) {
  place = placeOf(talk);
  write(sessionStorage.getItem(TYPED + place) ?? "");
}

// A message of a talk is on its way, until it is `over`.
export function underWay(talk, text) {
  keep(SENT, placeOf(talk), text);
  if (place === placeOf(talk) && box.value.trim() === text) write("");
}

// A turn is over; what could not be said of it is typed again.
export function over(talk, unsaid = "") {
  keep(SENT, placeOf(talk), "");
  if (!unsaid) return;
  if (place === placeOf(talk)) write(box.value || unsaid);
  else keep(TYPED, placeOf(talk), sessionStorage.getItem(TYPED + placeOf(talk)) ?? unsaid);
}

// What was on its way when the page was left.
export const left = (talk) => sessionStorage.getItem(SENT + placeOf(talk)) ?? "";

// A talk is no more.
export function forgetTyped(talk) {
  keep(SENT, placeOf(talk), "");
  if (place === placeOf(talk)) write("");
  else keep(TYPED, placeOf(talk), "");
}

box.addEventListener("input", () => {
  keep(TYPED, place, box.value);
  fit();
});

// Whether there are no keys but those on the screen.
export const touched = () => matchMedia("(hover: none)").matches;

// Enter sends, and Shift with it begins a line; what an input method composes is not over yet. The keys of a screen have
// no Shift for it: there, Enter begins a line.
export function sends(event, form) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || touched()) return;
  event.preventDefault();
  form.requestSubmit();
}
