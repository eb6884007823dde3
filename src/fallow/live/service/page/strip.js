// A cycle as a strip of rounds, each in the colour of its arm.

import { paint } from "./colours.js";
import { make, named, renew } from "./dom.js";
import { plural } from "./words.js";

const MOST_SHOWN = 240;
const MOST_NAMED = 24;

/** Whether there are too many rounds to have room for names. */
export function isDense(rounds) {
  return rounds.length > MOST_NAMED;
}

/** The number of an arm in its colour. */
export function numbered(index) {
  return paint(make("span", { class: "swatch", "aria-hidden": "true" }, String(index + 1)), index);
}

/** A round: an arm by its index and name, and what to say when one points at it. */
export function round({ index, name, title = name }) {
  const number = make("span", { class: "number", "aria-hidden": "true" }, String(index + 1));
  return paint(make("li", { title }, number, named(name)), index);
}

/** Show rounds, and in `rest` how many of the whole cycle have no room. */
export function showStrip(strip, rest, rounds, length) {
  strip.classList.toggle("dense", isDense(rounds));
  const shown = rounds.slice(0, MOST_SHOWN);
  renew(strip, shown, () => shown.map(round));
  const hidden = length - shown.length;
  rest.textContent = hidden > 0 ? `… and ${plural(hidden, "more round")}.` : "";
}
