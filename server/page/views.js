// What the views of evidence are made of.

import { h, oneLine } from "./dom.js";
import { graphView } from "./graph.js";
import { language, t } from "./texts.js";

const MOST = 40; // of one kind that are shown

export const num = (value, digits = 2) => (typeof value === "number" && Number.isFinite(value) ? value.toFixed(digits).replace(/\.?0+$/, "") || "0" : "–");
export const when = (moment) => new Date(moment).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
export const capped = (things, most = MOST) => things.slice(0, most);

export function section(title, inside, given = {}) {
  const shown = inside.flat(9).filter(Boolean);
  return shown.length ? h("section", { ...given }, h("h3", {}, title), shown) : null;
}

export function list(items) {
  const more = items.length - MOST;
  return h("ul", { class: "found" }, capped(items), more > 0 ? h("li", { class: "faint" }, t("more", { n: more })) : null);
}

export const badge = (text, kind = "") => (text === undefined || text === null || text === "" ? null : h("span", { class: `badge ${kind}` }, oneLine(text, 60)));

// A number as a bar, with its words for everybody.
export function meter(value, min, max, words) {
  const bounded = Math.min(max, Math.max(min, Number(value) || 0));
  return h("span", { class: "points" }, h("meter", { value: bounded, min, max, "aria-hidden": "true" }), words);
}

/* What belongs together, as a small graph: each of `types` {name: type} on a circle, and who is at the end of most lines
   in the middle. `edges` have a `source` and a `target`; one alone is not drawn. */
export function sketch(types, edges, colours, given = {}) {
  const names = [...types.keys()];
  if (names.length < 2) return null;
  const lines = edges.map((one) => ({ ...one, a: names.indexOf(one.source), b: names.indexOf(one.target) }))
    .filter(({ a, b }) => a >= 0 && b >= 0);
  const counts = names.map((_, at) => lines.filter(({ a, b }) => a === at || b === at).length);
  const most = Math.max(...counts);
  const middle = most > 2 && counts.indexOf(most) === counts.lastIndexOf(most) ? counts.indexOf(most) : -1;
  const around = names.filter((_, at) => at !== middle);
  const nodes = names.map((name, at) => {
    const angle = (2 * Math.PI * around.indexOf(name)) / around.length;
    const far = at === middle ? 0 : 70 + 5 * around.length;
    return { name, type: types.get(name), r: 9, x: -1.5 * far * Math.cos(angle), y: far * Math.sin(angle) };
  });
  return h("figure", {}, graphView({ nodes, edges: lines, types: colours, ...given }, t, null, true).element);
}

/* What changed between two texts, by words: the longest common subsequence, for texts of some hundred words. */
export function difference(before, after) {
  const [a, b] = [before, after].map((text) => String(text).split(/(\s+)/).filter(Boolean));
  if (a.length * b.length > 400_000) return [String(after)];
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = a[i] === b[j]
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const parts = [];
  const put = (kind, word) => {
    const last = parts[parts.length - 1];
    if (last?.kind === kind) last.text += word;
    else parts.push({ kind, text: word });
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      put("", a[i]);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      put("del", a[i]);
      i += 1;
    } else {
      put("ins", b[j]);
      j += 1;
    }
  }
  return parts.map((one) => (one.kind ? h(one.kind, {}, one.text) : one.text));
}
