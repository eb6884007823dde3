// One campaign on the page.

import { overTime, recovery, topOf } from "./charts.js";
import { byId, make, named, renew, renewEach, soft } from "./dom.js";
import { isDense, numbered, showStrip } from "./strip.js";
import {
  certificate, count, delay, percent, perSecond, plural, reward, span, time,
} from "./words.js";

const ENOUGH = 100;
const VERDICTS = {
  "rest helps": "Yes: an arm pays more after a longer rest.",
  "repeating helps": "Yes, but the other way round: an arm pays more when it is soon shown again.",
  "no effect found": "No effect of rest was found.",
  "cannot say": "The log cannot tell.",
};

let latest = null;

/** Show a campaign as an object of the service describes it. */
export function showCampaign(overview) {
  latest = overview;
  byId("campaign").hidden = false;
  renew(byId("campaign-name"), overview.name, (name) => name);
  renewEach(byId("figures"), "div", figures(overview), ([title]) => title, figure);
  showPlan(overview);
  showReward(overview);
  renew(byId("rest-words"), [overview.rest, overview.settings.explore], () => restWords(overview));
  showArms(overview);
  renewEach(byId("settings"), "div", settings(overview), ([title]) => title, setting);
  showCells();
}

/** Forget the campaign, so that nothing of it is taken for another's. */
export function hideCampaign() {
  latest = null;
  byId("campaign").hidden = true;
}

/** Follow what the reader does: open the table, turn the phone. */
export function followReader() {
  byId("cells").addEventListener("toggle", showCells);
  new ResizeObserver(() => latest && showReward(latest)).observe(byId("reward-chart"));
}

function figures({ counts, settings: { wait }, decisions_per_second: pace, history }) {
  const sums = lately(history);
  const came = sums.rewards ? reward(sums.reward / sums.rewards) : "–";
  const compared = sums.rewards
    ? `${reward(sums.expected / sums.rewards)} was expected; over the last ${time(sums.seconds)}`
    : "no feedback yet";
  const limit = wait === null ? "ten times the usual time" : time(wait);
  return [
    ["Decisions", count(counts.decisions), `for ${plural(counts.users, "user")}`],
    ["Decisions a second", perSecond(pace), ""],
    ["Feedback open", count(counts.open), `${count(counts.feedback)} came`],
    ["Feedback late", count(counts.late), `none for more than ${limit}`],
    ["Average reward lately", came, compared],
  ];
}

function figure([title, number, note]) {
  return [
    make("dt", {}, title),
    make("dd", { class: "big" }, number),
    make("dd", { class: "soft" }, note),
  ];
}

/** Sums over as many of the last buckets as it takes to have enough rewards. */
function lately(history) {
  const sums = { rewards: 0, reward: 0, expected: 0, seconds: 0 };
  for (const bucket of history.toReversed()) {
    if (sums.rewards >= ENOUGH) break;
    for (const key of Object.keys(sums)) sums[key] += bucket[key];
  }
  return sums;
}

function showPlan({ plan, arms, counts }) {
  const indices = new Map(arms.map((arm, index) => [arm.name, index]));
  const cycle = plan?.cycle ?? [];
  renew(byId("plan-words"), [plan, counts.feedback > 0], () => planWords(plan, counts));
  const rounds = cycle.map((name) => ({ index: indices.get(name), name }));
  showStrip(byId("plan-strip"), byId("plan-rest"), rounds, cycle.length);
  const times = new Map();
  for (const name of cycle) times.set(name, (times.get(name) ?? 0) + 1);
  const shares = [...times].map(([name, often]) => [name, indices.get(name), often]);
  shares.sort((one, other) => one[1] - other[1]);
  renewEach(byId("plan-shares"), "li", isDense(rounds) ? shares : [], ([name]) => name, share);
}

function planWords(plan, counts) {
  if (plan === null) return "There is no plan yet.";
  const length = plan.cycle.length;
  const cycle = length === 1
    ? "the same arm in every round"
    : `these ${count(length)} rounds, over and over`;
  const guess = counts.feedback ? "" : " No feedback has come yet, so this is a guess.";
  return [
    `The best that is known for one user: ${cycle}. It earns `,
    make("strong", {}, reward(plan.gain)), " a round, ",
    make("strong", {}, `${certificate(plan)} with these means`), `.${guess}`,
  ];
}

function share([name, index, often]) {
  return [numbered(index), named(name), soft(` ${plural(often, "time")}`)];
}

function showReward({ name, history, counts }) {
  const some = history.some((bucket) => bucket.rewards > 0);
  const none = counts.decisions
    ? "No feedback has come yet: there is nothing to compare with what was expected."
    : `No decisions yet. Ask for one: POST /v1/campaigns/${name}/decisions with {"user": "ann"}.`;
  byId("reward-words").textContent = some
    ? "Average reward of decisions whose feedback has come, by when they were made." : none;
  const chart = byId("reward-chart");
  const width = Math.max(280, Math.round(chart.clientWidth));
  renew(chart, [some && history, width], () => (some ? overTime({ history, width }) : []));
}

function restWords({ rest, settings: { explore } }) {
  const isKnown = rest !== null && rest.verdict !== "cannot say";
  const chance = isKnown || explore > 0 ? "" :
    " No decisions here are drawn at random (explore is 0): an arm may pay more because it has " +
    "rested or because of whom it was shown to. A campaign made with explore at 0.02 would tell.";
  if (rest === null) {
    const when = " It is worked out now and then, once at least 10 users have feedback.";
    return [make("strong", {}, "Not known yet."), when, chance];
  }
  const figures = rest.sentence.replace(`${rest.verdict}: `, "");
  return [make("strong", {}, VERDICTS[rest.verdict]), `${chance} `, soft(figures)];
}

function showArms({ arms, cells, spans, settings: { clock } }) {
  const since = clock === "time" ? "time" : "rounds";
  byId("arms-words").textContent =
    `What an arm pays on average, by the ${since} since the same user was last shown it. ` +
    "The band holds the truth in 95 % of cases. Bars below: how many rewards this rests on; " +
    "where there are none (hollow dots), other arms and delays tell.";
  const rows = Map.groupBy(cells, (cell) => cell.arm);
  const top = topOf(cells);
  const panels = arms.map((arm, index) =>
    ({ ...arm, index, cells: rows.get(arm.name) ?? [], spans, clock, top }));
  renewEach(byId("arms"), "figure", panels, (panel) => panel.name, panelOf);
}

function panelOf(panel) {
  const total = panel.cells.reduce((sum, cell) => sum + cell.rewards, 0);
  const notes = [plural(total, "reward"), ...(panel.retired ? ["retired"] : [])].join(", ");
  return [
    make("figcaption", {}, numbered(panel.index), named(panel.name), soft(notes)),
    ...(panel.cells.length ? [recovery(panel)] : []),
  ];
}

function settings({ settings: given, rules, counts }) {
  const { clock, max_delay, wait, default_reward, explore } = given;
  const fate = default_reward === null ? "counts as late" : `counts as ${reward(default_reward)}`;
  const silent = wait === null ? "waits without end" : `${fate} after ${time(wait)}`;
  return [
    ["Delay is counted in", [clock === "time" ? "time" : "rounds: the user's own decisions"]],
    ["An arm is rested after", [`more than ${span(max_delay, clock)}`]],
    ["Drawn at random", [explore ? `${percent(explore)} of decisions` : "none (explore is 0)"]],
    ["Without feedback", [`a decision ${silent}`]],
    ["So far", [`${plural(counts.events, "event")}, ${count(counts.cancelled)} cancelled, ` +
      `${plural(counts.defaults, "default reward")}`]],
    ["Rules", rules.length ? rules : ["none"]],
  ];
}

function setting([title, values]) {
  return [make("dt", {}, title), ...values.map((value) => make("dd", {}, ...inWords(value)))];
}

/** A setting is text, a rule has the names of arms and what it says of them. */
function inWords(value) {
  if (typeof value === "string") return [value];
  const { arms, text } = value;
  const names = arms.flatMap((name, index) => [index ? ", " : "", named(name)]);
  return [...(arms.length ? names : ["every arm"]), `: ${text}`];
}

function showCells() {
  if (latest === null || !byId("cells").open) return;
  const { cells, spans, settings: { clock } } = latest;
  const keyOf = (cell) => JSON.stringify([cell.arm, cell.delay]);
  renewEach(byId("cell-rows"), "tr", cells, keyOf, (cell) => [
    make("th", { scope: "row" }, named(cell.arm)),
    make("td", {}, delay(spans, cell.delay - 1, clock)),
    make("td", {}, `${reward(cell.mean)} (${reward(cell.low)} to ${reward(cell.high)})`),
    make("td", {}, count(cell.rewards)),
    make("td", {}, count(cell.open)),
  ]);
}
