// What the page says, in the language of the person: a file a language, with the same names in each.

import { h } from "./dom.js";
import { sign } from "./signs.js";
import en from "./texts/en.js";
import ko from "./texts/ko.js";
import zh from "./texts/zh.js";

const LANGUAGES = { en, zh, ko };
export const NAMES = { en: "English", zh: "中文", ko: "한국어" };
const KEY = "dramaturg-language";

const wanted = () => {
  const given = [localStorage.getItem(KEY), ...navigator.languages.map((one) => one.slice(0, 2))];
  return given.find((one) => one in LANGUAGES) ?? "en";
};

export let language = wanted();

export function speakIn(chosen) {
  language = chosen in LANGUAGES ? chosen : "en";
  localStorage.setItem(KEY, language);
}

export function t(name, values = {}) {
  const text = LANGUAGES[language][name] ?? en[name] ?? name;
  return text.replace(/\{(\w+)\}/g, (_, key) => String(values[key] ?? ""));
}

export const has = (name) => name in en;

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
