// What the views of evidence are made of.

import { h, oneLine } from "./dom.js";
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
