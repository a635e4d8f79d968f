// What a reply rests on, where it stands: the whole document in a dialog, with the passage marked. A long one comes part
// by part.

import * as api from "./api.js";
import { button, h, oneLine } from "./dom.js";
import { openDialog } from "./menu.js";
import { language, t } from "./texts.js";

const QUOTED = 200; // characters by which a passage is found again in a document that was edited
const FILE = /\.(md|jsonl:\d+(–\d+)?)$/i;

/* Where a piece of evidence is from, to be opened where that can be: not in the web, and not in a chat. `open` is
   missing where nobody may see more than what is quoted. */
export function cited(one, open) {
  const where = oneLine([one.source, ...(one.headings ?? []).slice(1)].filter(Boolean).join(" › "), 200);
  if (!where) return null;
  const opens = open && FILE.test(one.source ?? "") && !/^[a-z]+:/i.test(one.source);
  return h("cite", {}, opens ? button(where, () => open(one), { class: "source", title: t("open_source") }) : where);
}

/* Show where a passage stands: `one` is a piece of evidence with a source; `refused` is asked about an error, and gives
   true where it has done something about it. */
export async function openSource(role, one, refused) {
  const [, begin, end] = String(one.passage ?? "").match(/:(\d+)-(\d+)$/) ?? [0, one.start ?? "", one.end ?? ""];
  const place = { name: one.source, quote: [...String(one.text ?? "").slice(0, 2 * QUOTED)].slice(0, QUOTED).join(""), begin, end };
  const body = h("div", { class: "document", tabindex: "0", role: "region", "aria-label": one.source }, h("p", { class: "faint", role: "status" }, t("reading_source")));
  openDialog(oneLine(one.source, 80), body, "large");
  try {
    show(role, body, await api.source(role, place));
  } catch (error) {
    if (refused(error)) return;
    body.replaceChildren(h("p", { class: "warning", role: "alert" }, error instanceof api.Away ? t("away_now") : t("failed", { message: error.message })));
  }
}

function show(role, body, first) {
  const mark = first.marked ? h("mark", { tabindex: "-1" }, first.marked) : null;
  const text = h("div", { class: "part-of" }, first.before, mark, first.after);
  const [before, after] = [h("div", { class: "tools" }), h("div", { class: "tools" })];
  const seen = { start: first.start, end: first.end };
  const count = h("p", { class: "faint" });
  const buttons = () => {
    before.replaceChildren(seen.start > 0 ? button(t("source_before"), () => more({ to: seen.start }, before)) : "");
    after.replaceChildren(seen.end < first.total ? button(t("source_after"), () => more({ from: seen.end }, after)) : "");
    const n = (one) => one.toLocaleString(language);
    count.textContent = seen.start > 0 || seen.end < first.total ? t("source_part", { start: n(seen.start + 1), end: n(seen.end), total: n(first.total) }) : "";
  };
  const more = async (asked, tools) => {
    tools.firstChild.disabled = true;
    const got = await api.source(role, { name: first.name, ...asked }).catch(() => null);
    if (!got) return buttons();
    const part = h("div", { class: "part-of" }, got.before, got.marked, got.after);
    const from = body.scrollHeight - body.scrollTop;
    if (asked.to) before.after(part);
    else after.before(part);
    if (asked.to) body.scrollTop = body.scrollHeight - from; // what was read stays where it is
    Object.assign(seen, asked.to ? { start: got.start } : { end: got.end });
    return buttons();
  };
  body.replaceChildren(...[first.found ? null : h("p", { class: "warning" }, t("source_edited")), count, before, text, after].filter(Boolean));
  buttons();
  mark?.scrollIntoView({ block: "center" });
  body.focus({ preventScroll: true });
}
