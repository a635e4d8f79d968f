// What the page says, in the language of the person: a file a language, with the same names in each; one is loaded.

import { h } from "./dom.js";
import { sign } from "./signs.js";

export const NAMES = { en: "English", zh: "中文", ko: "한국어" };
const KEY = "dramaturg-language";

const wanted = () => {
  const given = [localStorage.getItem(KEY), ...navigator.languages.map((one) => one.slice(0, 2))];
  return given.find((one) => one in NAMES) ?? "en";
};

const textsIn = async (one) => (await import(`./texts/${one}.js`)).default;

export let language = wanted();
let texts = await textsIn(language);

export async function speakIn(chosen) {
  texts = await textsIn(chosen);
  language = chosen;
  localStorage.setItem(KEY, language);
}

export function t(name, values = {}) {
  const text = texts[name] ?? name;
  return text.replace(/\{(\w+)\}/g, (_, key) => String(values[key] ?? ""));
}

export const has = (name) => name in texts;

// The texts of what stands in index.html.
export function translate(root) {
  document.documentElement.lang = language;
  for (const one of root.querySelectorAll("[data-text]")) one.replaceChildren(h("span", {}, t(one.dataset.text)));
  for (const one of root.querySelectorAll("[data-icon]:not([data-text])")) one.replaceChildren();
  for (const one of root.querySelectorAll("[data-name]")) Object.assign(one, { ariaLabel: t(one.dataset.name), title: t(one.dataset.name) });
  for (const one of root.querySelectorAll("[data-icon]")) one.prepend(sign(one.dataset.icon));
  for (const one of root.querySelectorAll("[data-label]")) one.setAttribute("aria-label", t(one.dataset.label));
  for (const one of root.querySelectorAll("[data-hint]")) one.setAttribute("placeholder", t(one.dataset.hint));
}
