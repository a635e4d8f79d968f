// A character's picture, or a mark made of the name.

import * as api from "./api.js";
import { h, svg } from "./dom.js";

// A round face of a role; it says nothing to a screen reader, for the name stands beside it.
export function face(role, kind = "") {
  const root = h("span", { class: `face ${kind}`, "aria-hidden": "true" }, mark(role.name || role.id || "?"));
  if (role.picture) {
    const shown = h("img", { alt: "", loading: "lazy", onerror: () => shown.remove() });
    api.address(role.picture).then((src) => (shown.src = src), () => shown.remove());
    root.append(shown); // it lies over the mark
  }
  return root;
}

// Two letters on a ground whose colour and pattern come of the name.
function mark(name) {
  let sum = 7;
  for (const one of name) sum = (sum * 31 + one.codePointAt(0)) >>> 0;
  const hue = sum % 360;
  const words = name.split(/[\s·_-]+/).filter(Boolean);
  const letters = /[\u1100-\uffdc]/.test(name) ? [...name].slice(-2).join("") : words.slice(0, 2).map((one) => [...one][0].toUpperCase()).join("");
  const turn = (sum >>> 9) % 360;
  return svg("svg", { viewBox: "0 0 64 64" },
    svg("rect", { width: 64, height: 64, fill: `hsl(${hue} 42% 34%)` }),
    svg("g", { transform: `rotate(${turn} 32 32)` },
      svg("circle", { cx: 14, cy: 12, r: 30, fill: `hsl(${(hue + 40) % 360} 48% 42%)`, opacity: ".75" }),
      svg("circle", { cx: 56, cy: 50, r: 18, fill: `hsl(${(hue + 320) % 360} 45% 28%)`, opacity: ".8" })),
    svg("text", { x: 32, y: 41, "text-anchor": "middle", class: "letters" }, letters));
}
