// A look for each arm: twenty colours, then the same with a dashed edge, then with a whole one.

const HUES = 10;
const EDGES = ["plain", "dashed", "underlined"];

/** Ten light colours and, between their hues, ten dark ones; neighbours are far apart. */
export function colour(place) {
  const dark = place % 2;
  const hue = (36 * (3 * (Math.floor(place / 2) % HUES)) + 18 * dark + 240) % 360;
  return dark ? `oklch(0.48 0.13 ${hue})` : `oklch(0.8 0.12 ${hue})`;
}

export function paint(node, place) {
  node.style.setProperty("--colour", colour(place));
  node.style.setProperty("--on-colour", place % 2 ? "#ffffff" : "#000000");
  node.classList.add("painted", EDGES[Math.floor(place / (2 * HUES)) % EDGES.length]);
  return node;
}
