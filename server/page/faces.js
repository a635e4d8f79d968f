// A character's picture, or a mark made of the name.

import * as api from "./api.js";
import { h, svg } from "./dom.js";

// A round face of a role; it says nothing to a screen reader, for the name stands beside it.
export function face(role, kind = "") {
  const root = h("span", { class: `face ${kind}`, "aria-hidden": "true" }, mark(role.name || role.id || "?"));
  if (!role.picture) return root;
  const small = `${role.picture}?small=1`;
  if (api.hasKey()) painted(small).then((shown) => root.append(shown), () => null);
  else root.append(h("img", { alt: "", loading: "lazy", decoding: "async", src: small, onerror: ({ target }) => target.remove() })); // over the mark
  return root;
}

const read = new Map(); // pictures by their addresses: a face stands at each reply

// A picture that is read with a key: no address of it could be shown under the page's policy.
async function painted(path) {
  if (!read.has(path)) read.set(path, api.blob(path).then((data) => createImageBitmap(data)));
  const picture = await read.get(path).catch((error) => {
    read.delete(path);
    throw error;
  });
  const side = Math.min(picture.width, picture.height);
  const canvas = h("canvas", { width: 224, height: 224 });
  canvas.getContext("2d").drawImage(picture, (picture.width - side) / 2, 0, side, side, 0, 0, 224, 224);
  return canvas;
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
