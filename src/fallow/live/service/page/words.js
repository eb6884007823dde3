// Numbers and spans in words.

const UNITS = [[86400, "days"], [3600, "h"], [60, "min"], [1, "s"]];

export function count(number) {
  return number.toLocaleString("en");
}

export function plural(number, word) {
  return `${count(number)} ${word}${number === 1 ? "" : "s"}`;
}

/** Three decimals, more where that would leave nothing. */
export function reward(value) {
  if (value === 0) return "0";
  return Math.abs(value) < 0.01 ? String(Number(value.toPrecision(2))) : value.toFixed(3);
}

export function percent(share) {
  return `${Number((100 * share).toPrecision(3))} %`;
}

export function perSecond(value) {
  return value >= 10 ? count(Math.round(value)) : String(Number(value.toPrecision(2)));
}

/** Seconds in the unit that is easiest to grasp: 30 s, 5 min, 2 h, 3 days. */
export function time(seconds) {
  const [size, unit] = UNITS.find(([each]) => seconds >= each) ?? UNITS.at(-1);
  const number = seconds / size;
  const text = number < 10 ? String(Number(number.toPrecision(2))) : count(Math.round(number));
  return `${text} ${text === "1" && unit === "days" ? "day" : unit}`;
}

export function span(value, clock) {
  return clock === "time" ? time(value) : plural(value, "round");
}

/** A delay as a label on an axis. */
export function tick(value, clock) {
  if (value === null) return "rested";
  return clock === "time" ? time(value) : count(value);
}

/** A delay in a sentence. */
export function delay(spans, index, clock) {
  const value = spans[index];
  if (value === null) return `after more than ${span(spans[index - 1], clock)}`;
  return clock === "time" ? `within ${time(value)}` : `after ${plural(value, "round")}`;
}

/** A time of day, as exact as an axis of a length in seconds needs it. */
export function clockTime(at, length) {
  const second = length < 600 ? { second: "2-digit" } : {};
  const day = length > 86400 ? { day: "numeric", month: "short" } : {};
  const form = { ...day, hour: "2-digit", minute: "2-digit", ...second };
  return new Date(1000 * at).toLocaleString("en-GB", form);
}

/** A share that was proved; rounded down, so that it promises no more. */
export function proved(share) {
  if (share > 1 - 1e-6) return "100 %";
  const digits = share >= 0.99 ? 1 : 0;
  return `${(Math.floor(100 * share * 10 ** digits) / 10 ** digits).toFixed(digits)} %`;
}

/** How good a plan is for certain. */
export function certificate(plan) {
  const share = proved(plan.certificate);
  const best = "the best possible";
  return share === "100 %" ? best : `at least ${share} of ${best}`;
}
