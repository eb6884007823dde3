// Makes elements, and makes again only those that have changed. Text is only ever text, never markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Names stand in an element of their own: whatever is in them does not change the text around. */
export function named(name) {
  return make("bdi", { class: "name", title: name }, name);
}

export function soft(text) {
  return make("span", { class: "soft" }, text);
}

export function byId(id) {
  return document.getElementById(id);
}

const shown = new WeakMap();
const keys = new WeakMap();

/** Fill an element with what `build` makes of the data, unless it shows that already. */
export function renew(host, data, build) {
  const text = JSON.stringify(data);
  if (shown.get(host) === text) return;
  shown.set(host, text);
  host.replaceChildren(...[build(data, host)].flat());
}

/** Have one child for each item, and keep those that there are, so that focus stays. */
export function renewEach(parent, tag, items, keyOf, build) {
  const old = new Map([...parent.children].map((child) => [keys.get(child), child]));
  for (const [index, item] of items.entries()) {
    const key = keyOf(item, index);
    let child = old.get(key);
    if (child === undefined) {
      child = make(tag);
      keys.set(child, key);
    }
    old.delete(key);
    const there = parent.children[index] ?? null;
    if (there !== child) parent.insertBefore(child, there);
    renew(child, item, build);
  }
  for (const child of old.values()) child.remove();
}
