// The list of talks: of all characters, by their titles, with a search and a menu each.

import * as api from "./api.js";
import { $, button, h, oneLine } from "./dom.js";
import { askFor, openMenu } from "./menu.js";
import { faceOf, unlisted } from "./scene.js";
import { sign } from "./signs.js";
import { language, t } from "./texts.js";

const STILL = 250; // milliseconds without a key until what was typed is looked for
const MOST = 60; // that are shown before somebody asks for more

const named = new Map(); // the titles of talks that were listed, by their names

// What a talk is called where its name is known alone.
export const titled = (name) => named.get(name) ?? name;

const titleOf = (one) => oneLine(one.title, 80) || t(one.role.startsWith("scene:") ? "untitled_scene" : "untitled");

export class Talks {
  /* `open` opens a talk where some words were said, `now` gives the one that is open, `trying` does something that may
     not work, and `gone` is called where a talk is no more. */
  constructor({ open, now, trying, gone }) {
    Object.assign(this, { open, now, trying, gone });
    this.roles = [];
    this.most = MOST;
    $("search-talks").addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.trying(() => this.read()), STILL);
    });
  }

  async read() {
    const words = $("search-talks").value.trim();
    const { data, more } = await api.talks(words, this.most);
    if (words !== $("search-talks").value.trim()) return;
    for (const one of data) named.set(one.id, titleOf(one));
    $("threads").replaceChildren(...data.map((one) => this.row(one)),
      more ? h("li", {}, button(t("more_talks"), () => ((this.most += MOST), this.trying(() => this.read())))) : "",
      data.length ? "" : h("li", { class: "faint none" }, t($("search-talks").value ? "nothing_found" : "no_talks")));
    this.mark();
  }

  row(one) {
    const role = this.roles.find((other) => other.id === one.role) ?? unlisted(one.role);
    const words = $("search-talks").value.trim();
    const open = button([faceOf(role), h("span", { class: "words" }, h("span", { class: "title" }, titleOf(one)), h("small", {}, role.name, one.last ? ` · ${ago(one.last)}` : ""), one.found ? h("small", { class: "found-here" }, marked(one.found, words)) : null),
      one.pinned ? sign("pin") : null], () => this.open(role, one.id, words), { class: "open-talk", "data-role": one.role, "data-thread": one.id });
    const more = button(sign("more"), () => this.menu(more, one, role), { class: "icon", "aria-haspopup": "menu", "aria-label": t("more_of", { name: titleOf(one) }) });
    return h("li", {}, open, more);
  }

  menu(anchor, one, role) {
    const changed = (work) => this.trying(async () => {
      await work();
      await this.read();
    });
    openMenu(anchor, [
      [t("rename"), () => askFor(t("rename"), { value: titleOf(one), ok: t("save"), done: (title) => title && changed(() => api.changeTalk(one, { title })) })],
      [t(one.pinned ? "unpin" : "pin"), () => changed(() => api.changeTalk(one, { pinned: !one.pinned }))],
      ...(role.scene ? [["export_script", "script"]] : [["export_talk", "chat"], ["export_lines", "jsonl"]]).map(([text, form]) =>
        [t(text), () => this.trying(() => api.download(api.talkFile(one, form)))]),
      [t("delete"), () => askFor(t("delete_talk"), { means: t(role.scene ? "delete_scene_means" : "delete_means", { title: titleOf(one), name: role.name }), ok: t("delete"), danger: true,
        done: () => changed(async () => {
          await api.deleteTalk(one);
          this.gone(one);
        }) }), { class: "danger" }],
    ]);
  }

  mark() {
    const { role, thread } = this.now();
    for (const one of $("threads").querySelectorAll(".open-talk")) {
      if (one.dataset.thread === thread && one.dataset.role === role) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    }
  }
}

// What a search has found, with its words marked.
function marked(text, words) {
  const any = new RegExp(`(${words.split(/\s+/).map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|")})`, "giu");
  return oneLine(text, 160).split(any).map((part, at) => (at % 2 ? h("mark", {}, part) : part));
}

// How long ago, in a few letters.
function ago(moment) {
  const seconds = (Date.parse(moment) - Date.now()) / 1000;
  if (!Number.isFinite(seconds)) return "";
  const steps = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3600], ["minute", 60]];
  const [unit, of] = steps.find(([, each]) => Math.abs(seconds) >= each) ?? ["minute", 60];
  return new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "narrow" }).format(Math.round(seconds / of), unit);
}
