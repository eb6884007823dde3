// Sliders and switches, which write what they are moved to into the settings.

import { roundUp } from "../page/charts.js";
import { byId, make, named } from "../page/dom.js";
import { numbered } from "../page/strip.js";
import { percent, plural, reward } from "../page/words.js";

const STEPS = 100;
const FAMILIES = {
  geometric: {
    words: "bit by bit, round after round",
    label: "Of what a play costs, so much is left a round later",
    most: 1, step: 0.01, usual: 0.7, write: percent,
  },
  constant: {
    words: "all at once, when they are rested",
    label: "A play costs so much until then",
    most: 1, step: 0.01, usual: 0.7, write: percent,
  },
  power: {
    words: "quickly at first, then ever more slowly",
    label: "How fast",
    most: 3, step: 0.05, usual: 1, write: (value) => String(Number(value.toFixed(3))),
  },
};

/** Make all controls; `moved` is called after each move. */
export function makeControls({ names, rules, longest, top, settings }, moved) {
  const isTable = settings.delays === null;
  byId("arms").append(...names.map((name, index) => make("fieldset", { class: "arm" },
    make("legend", {}, numbered(index), named(name)),
    make("div", { class: "curve" }),
    slider(isTable ? "Earns at best" : "Earns when rested", { most: top, step: top / STEPS },
      settings.levels[index], reward, (value) => { settings.levels[index] = value; moved(); }),
    ...(isTable ? [] : [slider("A play is felt for", { least: 1, most: longest, step: 1 },
      settings.delays[index], (value) => plural(value, "round"),
      (value) => { settings.delays[index] = value; moved(); })]))));
  byId("recovery").hidden = isTable;
  if (!isTable) makeDecay(settings, moved);
  byId("switches").append(...rules.map((rule, index) => {
    const box = make("input", { type: "checkbox" });
    box.checked = settings.rules[index];
    box.addEventListener("change", () => { settings.rules[index] = box.checked; moved(); });
    return make("label", { class: "switch" }, box, make("bdi", {}, rule));
  }));
}

/** The top of all curves and of the sliders for what is earned. */
export function topOf({ levels }) {
  return Math.min(1, roundUp(1.1 * Math.max(...levels)));
}

function makeDecay(settings, moved) {
  const [kind] = Object.keys(settings.decay);
  const options = Object.entries(FAMILIES).map(([value, { words }]) =>
    make("option", { value }, words));
  const select = make("select", {}, ...options);
  select.value = kind;
  const host = make("div");
  const fill = () => {
    const [[family, value]] = Object.entries(settings.decay);
    const { label, most, step, write } = FAMILIES[family];
    host.replaceChildren(slider(label, { most: Math.max(most, value), step }, value, write,
      (now) => { settings.decay = { [family]: now }; moved(); }));
  };
  select.addEventListener("change", () => {
    settings.decay = { [select.value]: FAMILIES[select.value].usual };
    fill();
    moved();
  });
  fill();
  byId("decay").append(make("label", { class: "choice" }, make("span", {}, "They recover"), select),
    host);
}

function slider(label, { least = 0, most, step }, value, write, moved) {
  const number = make("span", { class: "number", "aria-hidden": "true" });
  const input = make("input", { type: "range", min: least, max: most, step });
  const tell = (now) => {
    number.textContent = write(now);
    input.setAttribute("aria-valuetext", write(now));
  };
  input.value = value;
  tell(value);
  input.addEventListener("input", () => {
    const now = Number(input.value);
    tell(now);
    moved(now);
  });
  return make("label", { class: "slider" }, make("span", {}, label), number, input);
}
