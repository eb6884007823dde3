// The page: sliders move the settings, and what the library makes of them is shown.

import { byId } from "../page/dom.js";
import { makeControls, topOf } from "./controls.js";
import { Follower, fetched } from "./follower.js";
import { offerCode, showAnswer, showTrouble, showWaiting } from "./show.js";

async function begin() {
  const start = await fetched("start");
  start.top = topOf(start.settings);
  const follower = new Follower(start.settings,
    { show: (found) => showAnswer(start, found), wait: showWaiting, fail: showTrouble });
  makeControls(start, () => follower.follow());
  offerCode();
  byId("explored").hidden = false;
  await follower.follow();
}

begin().catch(showTrouble);
