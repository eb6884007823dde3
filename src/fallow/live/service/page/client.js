// Calls of the service, and the stream of news of a campaign.

const PATIENCE = 10_000;

/** The service answered, and said no. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export class Client {
  #headers;

  constructor(token) {
    this.#headers = { Authorization: `Bearer ${token}` };
  }

  async campaigns(signal) {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]);
    return (await (await this.#get("v1/campaigns", patience)).json()).campaigns;
  }

  /** Yield what there is to know of a campaign, now and whenever it has changed. */
  async *watch(name, signal) {
    const path = `v1/campaigns/${encodeURIComponent(name)}`;
    // The stream is opened first: nothing is missed between the overview and its first message.
    const stream = this.#get(`${path}/stream`, signal);
    stream.catch(() => {}); // it is awaited below, if there is an overview
    yield (await this.#get(path, signal)).json();
    yield* messages((await stream).body);
  }

  async #get(path, signal) {
    const answer = await fetch(path, { headers: this.#headers, cache: "no-store", signal });
    if (answer.ok) return answer;
    const body = await answer.json().catch(() => ({}));
    throw new Refusal(answer.status, body.error ?? `the service answered ${answer.status}`);
  }
}

/** Yield the messages of a body of server-sent events. */
async function* messages(body) {
  let rest = "";
  for await (const text of texts(body)) {
    const events = (rest + text).replaceAll("\r\n", "\n").split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const lines = event.split("\n").filter((line) => line.startsWith("data:"));
      if (lines.length) yield JSON.parse(lines.map((line) => line.slice(5)).join("\n"));
    }
  }
}

async function* texts(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}
