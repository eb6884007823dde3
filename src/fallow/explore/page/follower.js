// Asks the library about the settings as they move: one question at a time, always the latest.

const REST = 250;
const LONG = 1000;
const PROVED = 1 - 1e-9;

export class Follower {
  #settings;
  #show;
  #wait;
  #fail;
  #moves = 0;
  #isAsking = false;
  #timer;
  #thorough = new AbortController();

  /** `show` is given each answer, `fail` each error; `wait` is called if an answer takes long. */
  constructor(settings, { show, wait, fail }) {
    this.#settings = settings;
    this.#show = show;
    this.#wait = wait;
    this.#fail = fail;
  }

  /** Ask about the settings, unless a question is under way: then as soon as it is answered. */
  async follow() {
    this.#moves += 1;
    clearTimeout(this.#timer);
    this.#thorough.abort();
    if (this.#isAsking) return;
    this.#isAsking = true;
    let asked, isFinal;
    try {
      do {
        asked = this.#moves;
        const answer = await this.#patient(ask(this.#settings));
        isFinal = answer.conflict !== null || answer.certificate > PROVED;
        this.#show({ ...answer, isFinal });
      } while (asked !== this.#moves);
      if (!isFinal) this.#timer = setTimeout(() => this.#askThoroughly(), REST);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isAsking = false;
      if (asked !== this.#moves) this.follow(); // of an error; the sliders have moved on since
    }
  }

  /** Await an answer, and say so if that takes long. */
  async #patient(answer) {
    const timer = setTimeout(this.#wait, LONG);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Once the sliders rest, let the library take its time. */
  async #askThoroughly() {
    this.#thorough = new AbortController();
    const { signal } = this.#thorough;
    try {
      const answer = await ask({ ...this.#settings, thorough: true }, signal);
      if (!signal.aborted) this.#show({ ...answer, isFinal: true });
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
  }
}

function ask(settings, signal) {
  return fetched("answer", { method: "POST", body: JSON.stringify(settings), signal });
}

/** What an address answers; an error with what it said where it refuses. */
export async function fetched(path, options = {}) {
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}
