// Drawings of finished numbers, as SVG.

import { draw, make } from "./dom.js";
import { clockTime, delay, plural, reward, tick } from "./words.js";

const LETTER = 6;
const WIDTH = 174, LEFT = 26, RIGHT = 172, HIGH = 8, LOW = 96;
const KINDS = ["reward", "expected"];
const SURE = 10;
const FEWEST = 20;
const MOST_POINTS = 40;

/** The smallest round number that is not below a value. */
export function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((each) => each * power >= value * (1 - 1e-9));
}

/** The top of the axis that all arms share: no higher for cells of which little is known. */
export function topOf(cells) {
  const isSure = cells.map((cell) => cell.rewards >= SURE);
  const none = !isSure.includes(true);
  const ends = cells.map((cell, index) => (none || isSure[index] ? cell.high : cell.mean));
  return roundUp(Math.max(0, ...ends));
}

function label(x, y, text, anchor = "start") {
  return draw("text", { x, y, "text-anchor": anchor, class: "label" }, text);
}

function path(points) {
  const steps = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
  return `M${steps.join("L")}`;
}

function picture(width, height, name, ...content) {
  const frame = { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name };
  return draw("svg", frame, ...content);
}

function axis({ left, right, y }, top) {
  return [0, top / 2, top].flatMap((value) => [
    draw("line", { x1: left, x2: right, y1: y(value), y2: y(value), class: "axis" }),
    label(left - 4, y(value) + 3, String(Number(value.toPrecision(3))), "end"),
  ]);
}

/** Many dots as one drawing: a campaign may have thousands, every second. */
function dots(points, size, kind = "") {
  const d = points.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("");
  return draw("path", { d, "stroke-width": size, class: `dots ${kind}` });
}

/** Labels of delays that have room: the last one, the first, and between them at equal steps. */
function delayTicks(spans, clock, middle, slot, y) {
  const texts = spans.map((each) => tick(each, clock));
  const last = texts.length - 1;
  const room = LETTER * (Math.max(...texts.slice(0, last).map((text) => text.length), 1) + 2);
  const step = Math.max(1, Math.ceil(room / slot));
  const end = middle(last) + slot / 2 - LETTER * (texts[last].length + 1);
  const indices = [...texts.keys()].filter((index) =>
    index < last && index % step === 0 && middle(index) + room / 2 - LETTER < end);
  const width = LETTER * texts[last].length;
  const shift = Math.min(middle(last), middle(last) + slot / 2 - width / 2);
  return [
    ...indices.map((index) => label(middle(index), y, texts[index], "middle")),
    label(shift, y, texts[last], "middle"),
  ];
}

/** What a chart by delay stands on: its axes and labels, and where a index and a value are. */
function delayFrame({ spans, clock, top }, floor) {
  const slot = (RIGHT - LEFT) / spans.length;
  const middle = (index) => LEFT + (index + 0.5) * slot;
  const y = (value) => LOW - (LOW - HIGH) * Math.min(1, value / top);
  const lines = axis({ left: LEFT, right: RIGHT, y }, top);
  const ticks = delayTicks(spans, clock, middle, slot, floor + 13);
  return { slot, middle, y, lines, ticks, size: Math.min(2.5, Math.max(1, slot / 4)) };
}

/** Tell in words what stands where the pointer is. */
function tellPlaces(chart, slot, floor, inWords) {
  const words = draw("title");
  const mark = draw("rect", { y: HIGH, width: slot, height: floor - HIGH, class: "mark" }, words);
  chart.append(mark);
  const last = Math.round((RIGHT - LEFT) / slot) - 1;
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    const across = (event.clientX - box.left) * (WIDTH / box.width);
    const index = Math.min(last, Math.max(0, Math.floor((across - LEFT) / slot)));
    mark.setAttribute("x", LEFT + index * slot);
    words.textContent = inWords(index);
  });
  return chart;
}

/** The first and the last index of a chart in words. */
function summary(length, inWords) {
  return [...new Set([0, length - 1])].map(inWords).join("; ");
}

/** What an arm pays by delay: means as a line, intervals as a band, rewards as bars below. */
export function recovery({ name, cells, spans, clock, top }) {
  const floor = 116;
  const { slot, middle, y, lines, ticks, size } = delayFrame({ spans, clock, top }, floor);
  const edges = (end) => cells.flatMap((cell, index) =>
    [[LEFT + index * slot, y(cell[end])], [LEFT + (index + 1) * slot, y(cell[end])]]);
  const most = Math.max(1, ...cells.map((cell) => cell.rewards));
  const inWords = (index) => {
    const { mean, low, high, rewards } = cells[index];
    return `${delay(spans, index, clock)}: ${reward(mean)} (${reward(low)} to ${reward(high)}), ` +
      plural(rewards, "reward");
  };
  const means = cells.map((cell, index) => [middle(index), y(cell.mean)]);
  const bars = cells.map(({ rewards }, index) => {
    const height = (floor - LOW - 4) * (rewards / most);
    return `M${LEFT + (index + 0.15) * slot} ${floor}v${-height}h${0.7 * slot}v${height}`;
  });
  const chart = picture(WIDTH, floor + 16, `${name} pays ${summary(cells.length, inWords)}`,
    ...lines,
    draw("path", { d: `${path([...edges("low"), ...edges("high").reverse()])}Z`, class: "band" }),
    draw("path", { d: path(means), class: "line" }),
    dots(means, 2 * size),
    dots(means.filter((_, index) => cells[index].rewards === 0), size, "none"),
    draw("path", { d: bars.join(""), class: "bar" }),
    draw("line", { x1: LEFT, x2: RIGHT, y1: floor, y2: floor, class: "axis" }),
    ...ticks,
  );
  return tellPlaces(chart, slot, floor, inWords);
}

/** What an arm pays by delay, as a line with marks at the delays at which it is played. */
export function curve({ name, means, rests, top }) {
  const floor = LOW + 2;
  const spans = means.map((_, index) => (index < means.length - 1 ? index + 1 : null));
  const frame = { spans, clock: "rounds", top };
  const { slot, middle, y, lines, ticks, size } = delayFrame(frame, floor);
  const points = means.map((mean, index) => [middle(index), y(mean)]);
  const played = new Set(rests.map((rest) => Math.min(rest, means.length) - 1));
  const inWords = (index) => {
    const here = played.has(index) ? ", where the best plan plays it" : "";
    return `${delay(spans, index, "rounds")}: ${reward(means[index])}${here}`;
  };
  const chart = picture(WIDTH, floor + 16, `${name} pays ${summary(means.length, inWords)}`,
    ...lines,
    draw("path", { d: path(points), class: "line" }),
    dots(points, 2 * size),
    dots(points.filter((_, index) => played.has(index)), 9, "played"),
    ...ticks,
  );
  return tellPlaces(chart, slot, floor, inWords);
}

/** Buckets of the history taken together, so that each has enough rewards and there are few. */
export function pooled(history) {
  const total = history.reduce((sum, bucket) => sum + bucket.rewards, 0);
  const least = Math.max(FEWEST, total / MOST_POINTS);
  const points = [];
  for (const { at, seconds, ...bucket } of history) {
    if (points.length === 0 || points.at(-1).rewards >= least) {
      points.push({ begin: at, end: at, rewards: 0, reward: 0, expected: 0 });
    }
    const point = points.at(-1);
    point.end = at + seconds;
    for (const key of ["rewards", "reward", "expected"]) point[key] += bucket[key];
  }
  if (points.length > 1 && points.at(-1).rewards < least) points.pop(); // until it has enough
  return points;
}

/** Average reward of a decision over time, beside what was expected of it. */
export function overTime({ history, width }) {
  const points = pooled(history);
  const left = 34, right = width - 8, high = 8, low = 150;
  const first = history[0].at, last = history.at(-1).at + history.at(-1).seconds;
  const means = (key) => points.map((each) => each[key] / each.rewards);
  const top = roundUp(Math.max(...means("reward"), ...means("expected")));
  const x = (at) => left + (right - left) * Math.max(0, (at - first) / (last - first));
  const y = (value) => low - (low - high) * (value / top);
  const curve = (key) => points.map((each) =>
    [x((each.begin + each.end) / 2), y(each[key] / each.rewards)]);
  const ends = KINDS.map((key) => reward(means(key).at(-1)));
  const name = `Average reward of a decision over time: lately ${ends[0]}, expected ${ends[1]}`;
  const chart = picture(width, 170, name,
    ...axis({ left, right, y }, top),
    draw("path", { d: path(curve("expected")), class: "line expected" }),
    draw("path", { d: path(curve("reward")), class: "line reward" }),
    ...(points.length === 1 ? KINDS.map((kind) => dots(curve(kind), 5, kind)) : []),
    label(left, 166, clockTime(first, last - first)),
    label(right, 166, clockTime(last, last - first), "end"),
  );
  const words = [key("reward"), "what came ", key("expected"), "what was expected"];
  return [chart, make("p", { class: "key soft" }, ...words)];
}

function key(kind) {
  return draw("svg", { viewBox: "0 0 28 8", class: "sample", "aria-hidden": "true" },
    draw("path", { d: "M1 4H27", class: `line ${kind}` }));
}
