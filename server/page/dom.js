// Elements, made so that no text ever becomes one: everything that was said, written or found is a text node.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, given, inside) {
  for (const [name, value] of Object.entries(given ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...inside.flat(9).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

export const h = (tag, given, ...inside) => filled(document.createElement(tag), given, inside);
export const svg = (tag, given, ...inside) => filled(document.createElementNS(SVG, tag), given, inside);
export const $ = (id) => document.getElementById(id);

export const lines = (value) => String(value ?? "");
export const oneLine = (value, most = 160) => {
  const line = lines(value).split(/\s+/).filter(Boolean).join(" ");
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};

// A button with a name for people and one for screen readers, where a sign alone would not say what it does.
export const button = (text, does, given = {}) =>
  h("button", { type: "button", ...(does ? { onclick: does } : {}), ...given }, text);
