// The page of the service: a token, the campaigns, and the one that was chosen, live.

import { Client, Refusal } from "./client.js";
import { byId, named, renewEach, soft } from "./dom.js";
import { followReader, hideCampaign, showCampaign } from "./view.js";
import { plural } from "./words.js";

const TOKEN = "fallow-token";
const LIST_EVERY = 5_000;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;

let session = new AbortController(); // ends when the token goes
let watching = new AbortController(); // ends when another campaign is chosen
let connection = new AbortController(); // ends when the network is gone
let client = null;
let listed = [];
let chosen = null;
let lastNews = null;

/** The parts of the address behind #, such as campaign=morning&token=... */
function fragment() {
  const parts = location.hash.slice(1).split("&").map((part) => part.split(/=(.*)/s));
  return new Map(parts.map(([key, value = ""]) => [key, decoded(value)]));
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function remember(name) {
  const bare = location.pathname + location.search;
  history.replaceState(null, "", name === null ? bare : addressOf(name));
}

function addressOf(name) {
  return `#campaign=${encodeURIComponent(name)}`;
}

/** Take over what the address says: a token is used and removed from it, a campaign is shown. */
function readAddress() {
  const parts = fragment();
  const name = parts.get("campaign") ?? chosen;
  if (parts.has("token")) {
    sessionStorage.setItem(TOKEN, parts.get("token"));
    remember(name);
    begin(name);
  } else if (client === null) {
    begin(name);
  } else if (name !== null && name !== chosen) {
    choose(name);
  }
}

function begin(name) {
  end();
  const token = sessionStorage.getItem(TOKEN);
  if (token === null) return askForToken("");
  if (!/^[\x21-\x7e]+$/.test(token)) {
    return askForToken("A token has only letters, digits and signs, and no spaces.");
  }
  session = new AbortController();
  client = new Client(token);
  byId("forget").hidden = false;
  tell("waiting", "Connecting …");
  keepListing(session.signal);
  if (name !== null) choose(name);
}

function end() {
  session.abort();
  watching.abort();
  client = chosen = lastNews = null;
  listed = [];
  hideCampaign();
  say("");
  for (const id of ["token-form", "campaigns", "no-campaign", "forget"]) byId(id).hidden = true;
}

function askForToken(why) {
  end();
  sessionStorage.removeItem(TOKEN);
  tell("", "");
  byId("refusal").textContent = why;
  byId("token-form").hidden = false;
  byId("token").value = "";
  byId("token").focus();
}

/** Tell how the connection is. */
function tell(kind, words) {
  const element = byId("connection");
  element.className = kind;
  if (element.textContent !== words) element.textContent = words;
}

function tellLive() {
  lastNews = new Date();
  say("");
  tell("live", "Live");
}

function tellGone() {
  const time = lastNews?.toLocaleTimeString("en-GB");
  tell("gone", `Not connected; trying again.${time ? ` What you see is from ${time}.` : ""}`);
}

/** Say what is wrong with the campaign. */
function say(words) {
  byId("trouble").textContent = words;
  byId("trouble").hidden = words === "";
}

/** Ask for the list now and then; where that fails, the network is gone, stream and all. */
async function keepListing(signal) {
  while (!signal.aborted) {
    try {
      listed = await client.campaigns(signal);
      byId("no-campaign").hidden = listed.length > 0;
      if (chosen === null) tellLive();
      if (chosen === null && listed.length > 0) choose(listed[0].name);
      showList();
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
      connection.abort();
    }
    await pause(LIST_EVERY, signal);
  }
}

function showList() {
  byId("campaigns").hidden = listed.length === 0;
  const items = listed.map((each) => ({ ...each, isChosen: each.name === chosen }));
  renewEach(byId("campaigns"), "a", items, (each) => each.name, (each, link) => {
    link.href = addressOf(each.name);
    link.ariaCurrent = each.isChosen ? "page" : null;
    const notes = `${plural(each.arms, "arm")}, ${plural(each.decisions, "decision")}`;
    return [named(each.name), soft(notes)];
  });
}

function choose(name) {
  watching.abort();
  watching = new AbortController();
  chosen = name;
  remember(name);
  hideCampaign();
  say("");
  document.title = `${name} | fallow`;
  showList();
  keepWatching(name, watching.signal);
}

async function keepWatching(name, signal) {
  for (let wait = FIRST_PAUSE; !signal.aborted; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
    connection = new AbortController();
    const either = AbortSignal.any([signal, connection.signal]);
    try {
      for await (const overview of client.watch(name, either)) {
        if (signal.aborted) return;
        wait = FIRST_PAUSE;
        tellLive();
        showCampaign(overview);
      }
      tellGone();
    } catch (error) {
      if (!signal.aborted) failed(error);
    } finally {
      connection.abort();
    }
    await pause(wait * (0.75 + Math.random() / 2), signal);
  }
}

function failed(error) {
  if (!(error instanceof Refusal)) return tellGone();
  if (error.status === 401) return askForToken("The token was refused.");
  say(`The service says: ${error.message}`);
  tell("gone", "Trying again");
}

/** Wait some milliseconds, or until the network is back, or until the signal. */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, signal.aborted ? 0 : milliseconds);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, byId("token").value.trim());
  begin(fragment().get("campaign") ?? null);
});
byId("forget").addEventListener("click", () => askForToken(""));
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("campaign-name").focus();
});
byId("make-campaign").textContent = `curl -X PUT ${new URL("v1/campaigns/morning", location)} \\
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{"arms": ["hymn", "waltz", "polka"], "max_delay": 30}'`;
addEventListener("hashchange", readAddress);
followReader();
readAddress();
