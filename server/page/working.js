// What takes its time: files that are sent, and a bar in the place of what could be done meanwhile.

import { h, oneLine } from "./dom.js";
import { t } from "./texts.js";

const LOOKS = 2000; // milliseconds between two looks at what another window has begun

export const size = (bytes) => `${(bytes / 1_000_000).toFixed(1)} MB`;

// Why files are not even read; empty: they may be. Without kinds, any may be.
export function refusal(files, { most_files: most, most_bytes: bytes, kinds }) {
  if (files.length > most) return t("too_many", { n: most });
  for (const one of kinds ? files : []) {
    const dot = one.name.lastIndexOf(".");
    if (dot > 0 && !kinds.includes(one.name.slice(dot).toLowerCase())) return t("wrong_kind", { name: oneLine(one.name, 80), kinds: kinds.join(" ") });
  }
  const sum = files.reduce((all, one) => all + one.size, 0);
  return sum > bytes ? t("too_large", { size: size(sum), most: size(bytes) }) : "";
}

export async function sent(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return { name: file.name, data: btoa(text) };
}

/* A bar in `said`, in the place of everything else in `body`. `shown` is told how far it is, `back` brings the rest back. */
export function progress(body, said, told) {
  const rest = [...body.children].filter((one) => one !== said && !one.hidden);
  for (const one of rest) one.hidden = true;
  const bar = h("progress", { "aria-label": t("works") });
  const line = h("p", { class: "thought", role: "status" }, t("works"));
  said.replaceChildren(line, bar, h("p", { class: "faint" }, t("works_on")));
  let step = "";
  const shown = (far) => {
    const words = t(`step_${far.step}`);
    line.textContent = far.total ? t("far", { step: words, done: far.done, total: far.total }) : words;
    if (far.total) Object.assign(bar, { max: far.total, value: far.done });
    if (far.step !== step) told(words);
    step = far.step;
  };
  return { shown, back: () => rest.forEach((one) => (one.hidden = false)) };
}

// Another window has begun it: it is looked at until it is over, or nobody is here any more.
export async function follow(work, shown, here, look) {
  for (let far = work; far && here(); far = here() && (await look())) {
    shown(far);
    await new Promise((done) => setTimeout(done, LOOKS));
  }
}
