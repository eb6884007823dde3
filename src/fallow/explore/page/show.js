// What the library answered, on the page.

import { curve } from "../page/charts.js";
import { byId, make, named, renew, renewEach, soft } from "../page/dom.js";
import { round, showStrip } from "../page/strip.js";
import { certificate, plural, proved, reward } from "../page/words.js";

const ROUNDS = 24;
const PLANNERS = {
  best: () => "The best plan",
  greedy: () => "Greedy: whatever pays most right now",
  ghost: ({ length }) =>
    (length === 1 ? "Ghost: always the best one" : `Ghost: the best ${length} in turn`),
};

/** Show an answer; `isFinal` says that nothing better is looked for. */
export function showAnswer({ names, top }, answer) {
  const { means, cycles, rests, conflict, isFinal } = answer;
  showTrouble(null);
  const [best] = cycles;
  byId("result").replaceChildren(...resultWords(names, best, answer));
  byId("looking").textContent = isFinal ? "" : "Looking for a better one …";
  byId("best").classList.toggle("none", conflict !== null);
  showStrip(byId("strip"), byId("strip-rest"), roundsOf(names, best), best?.length ?? 0);
  byId("compared").hidden = conflict !== null;
  const rows = best === undefined ? [] : Object.keys(PLANNERS).map((planner) => (
    { planner, names, planned: cycles.find((planned) => planned.planner === planner) ?? null }));
  renewEach(byId("cycles"), "li", rows, ({ planner }) => planner, row);
  for (const [index, host] of [...document.querySelectorAll(".curve")].entries()) {
    renew(host, { name: names[index], means: means[index], rests: rests[index] ?? [], top }, curve);
  }
  byId("python").textContent = answer.python;
  byId("toml").textContent = answer.toml;
}

/** Say that an answer takes long. */
export function showWaiting() {
  byId("looking").textContent = "Working … The first moves on a new machine take up to a minute, " +
    "while fallow compiles what it needs.";
}

/** Say what went wrong, or nothing. */
export function showTrouble(error) {
  const isGone = error instanceof TypeError; // what fetch throws where nobody listens
  const gone = "fallow explore has ended. Start it again, and reload this page.";
  byId("trouble").textContent = error === null ? "" : isGone ? gone : error.message;
  if (error !== null) byId("looking").textContent = "";
}

/** Let the reader take the instance along. */
export function offerCode() {
  for (const button of document.querySelectorAll("[data-copies]")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(byId(button.dataset.copies).textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
  byId("save").addEventListener("click", () => {
    const file = URL.createObjectURL(new Blob([byId("toml").textContent]));
    make("a", { href: file, download: "instance.toml" }).click();
    URL.revokeObjectURL(file);
  });
}

function resultWords(names, best, { conflict, certificate: share }) {
  if (conflict !== null) return [`Nothing: ${conflict}.`];
  const rounds = best.length === 1
    ? [named(names[best.cycle[0]]), " in every round earns "]
    : [`These ${plural(best.length, "round")}, over and over, earn `];
  return [
    ...rounds, make("strong", {}, reward(best.gain)), " a round, ",
    make("strong", {}, certificate({ certificate: share })), ".",
  ];
}

function roundsOf(names, planned) {
  if (planned === undefined) return [];
  return planned.cycle.map((index, turn) => {
    const name = names[index], earned = reward(planned.rewards[turn]);
    const title = `${name}, ${plural(planned.delays[turn], "round")} after its last: earns ${earned}`;
    return { index, name, title };
  });
}

/** A planner, what it earns, and its first rounds. */
function row({ planner, names, planned }) {
  if (planned === null) {
    return [make("strong", {}, PLANNERS[planner]({})), " ", soft("finds no plan within the rules")];
  }
  const { gain, share, cycle } = planned;
  const bar = make("div", { class: "share", "aria-hidden": "true" });
  bar.style.setProperty("--share", share);
  const rounds = roundsOf(names, planned);
  const some = Array.from({ length: ROUNDS }, (_, turn) => rounds[turn % cycle.length]);
  return [
    make("span", { class: "planner" }, PLANNERS[planner](planned)),
    make("span", { class: "number" }, make("strong", {}, reward(gain)), ` ${proved(share)}`),
    bar,
    make("ol", { class: "strip dense", "aria-label": "Its first rounds" }, ...some.map(round)),
  ];
}
