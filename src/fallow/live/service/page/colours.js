// A look for each arm: twenty colours, then the same with a dashed edge, then with a whole one.

// Those of fallow/drawing/colours.py.
const COLOURS = [
  "#006cb5", "#b76f00", "#c96be3", "#27964b", "#ff5a65", "#41a0b8", "#734bd6", "#d53994",
  "#8876b0", "#cc2b01", "#7d6420", "#1f744f", "#8f9c00", "#3b77f5", "#d174a2", "#9083ff",
  "#a042af", "#a85160", "#5c717e", "#b28a77",
];
const EDGES = ["plain", "dashed", "underlined"];

export function colour(index) {
  return COLOURS[index % COLOURS.length];
}

/** Black or white, whichever can be read on a colour. */
function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map(part => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
  return .2126 * red + .7152 * green + .0722 * blue < .179 ? "#ffffff" : "#000000";
}

export function paint(node, index) {
  node.style.setProperty("--colour", colour(index));
  node.style.setProperty("--on-colour", inkOn(colour(index)));
  node.classList.add("painted", EDGES[Math.floor(index / COLOURS.length) % EDGES.length]);
  return node;
}
