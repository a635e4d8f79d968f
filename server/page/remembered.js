// What was said before: what came back of it into a reply, and all that the role remembers of a person.

import * as api from "./api.js";
import { button, h, lines, oneLine } from "./dom.js";
import { saidText } from "./markdown.js";
import { sceneName } from "./scene.js";
import { titled } from "./talks.js";
import { t } from "./texts.js";
import { badge, list, section, when } from "./views.js";

const STILL = 250; // milliseconds without a key until what was typed is looked for

const exchanges = (n) => t(n === 1 ? "exchange" : "exchanges", { n });

const said = (entry, name) => entry.said.map((line) =>
  [h("b", { class: "who" }, `${line.who === "human" ? oneLine(line.name, 80) || t("you") : name}: `), saidText(line.text)]);

/* What came back of the talk, as evidence has it; `go` shows a turn of a talk, "" is this one. */
export function talkViews({ talk }, go) {
  if (!talk) return null;
  const back = talk.filter((one) => !(one.place < 0)); // notes of the user stand before what was said
  if (!talk.length) return section(t("came_back"), [h("p", { class: "faint" }, t("came_back_none"))]);
  const others = new Map();
  for (const one of talk.filter((other) => other.talk)) others.set(one.talk, (others.get(one.talk) ?? 0) + 1);
  const of = [...others].map(([name, n]) => t("of_talk", { n, name: oneLine(titled(name), 60) }));
  return section(t("came_back"), [
    back.length ? h("p", {}, [exchanges(back.length), ...of].join(", ")) : null,
    list(talk.map((one) => h("li", {},
      h("div", { class: "marks" }, badge(one.when || t("just_now")), howFound(one)),
      lines(one.text).split("\n").map((line) => h("p", { class: "text" }, oneLine(line, 600))),
      one.talk ? h("p", { class: "faint" }, oneLine(titled(one.talk), 120)) : null,
      go && one.place >= 0 ? h("div", { class: "tools" }, button(t("show_where"), () => go(one.talk, one.turn))) : null))),
  ]);
}

function howFound(one) {
  const found = [["by_meaning", one.by_meaning], ["by_words", one.by_words]].filter(([, rank]) => Number.isInteger(rank));
  if (one.place < 0) return badge(t("note"), "some");
  if (!found.length && !one.pinned) return badge(t("beside"));
  return [one.pinned ? badge(t("pinned"), "some") : null, found.map(([how, rank]) => badge(t(how, { n: rank }), "good"))];
}

/* All that a role remembers of the person, the latest first, with a search. `go` shows a turn of a talk, `changed` is
   called where something was forgotten, and `refused` is asked what to do about an error, and gives true where it has
   done it. */
export class Remembered {
  constructor(root, { role, name, thread, turn, user, told, refused, go, changed }) {
    Object.assign(this, { role, name, thread, turn, user, told, refused, go, changed });
    this.asked = 0;
    this.search = h("input", { type: "search", id: "search-memory", maxlength: "200", autocomplete: "off", oninput: () => this.typed() });
    this.about = h("div", { class: "knowledge" });
    this.notes = h("ul", { class: "found" });
    this.status = h("p", { class: "faint", role: "status" });
    this.found = h("ul", { class: "found" });
    this.more = h("div", { class: "tools" });
    this.body = h("div", { class: "knowledge" },
      this.about, thread ? this.noting() : null, h("div", { class: "search" }, h("label", { for: "search-memory" }, t("search")), this.search), this.status, this.found, this.more);
    root.replaceChildren(h("h2", { tabindex: "-1" }, t("remembers", { name })), this.body);
  }

  // What the role is to keep in mind in this talk: a list, and a line for more.
  noting() {
    const input = h("input", { id: "new-note", maxlength: "500", autocomplete: "off" });
    const form = h("form", { class: "search" }, h("label", { for: "new-note" }, t("new_note")), input, button(t("keep_note"), null, { type: "submit" }));
    const keep = async () => {
      const kept = input.value.trim() && await this.change(form, () => api.note(this.role, this.thread, input.value), keep);
      if (!kept) return;
      form.querySelector(".card")?.remove();
      for (const one of form.querySelectorAll("button")) one.disabled = false;
      input.value = "";
      this.notes.append(this.noteRow(kept)); // nothing else is drawn anew: a question may stand open there
      this.told(t("noted"));
      input.focus();
    };
    form.addEventListener("submit", (event) => (event.preventDefault(), keep()));
    return section(t("notes"), [h("p", { class: "faint" }, t("notes_mean", { name: this.name })), this.notes, form]);
  }

  noteRow(one) {
    const row = h("li", {}, h("p", { class: "text" }, one.text),
      h("div", { class: "tools" }, button(t("forget"), () => this.weigh({ ...one, of: this.role, thread: this.thread }, row), { "aria-label": `${t("forget")} ${oneLine(one.text, 80)}` })));
    return row;
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), STILL);
  }

  open() {
    return this.read(0);
  }

  async read(skip) {
    this.asked += 1;
    const { asked } = this;
    const { role, thread, turn, user } = this;
    let told;
    try {
      told = await api.remembered(role, { thread, turn, user, q: this.search.value.trim(), skip });
    } catch (error) {
      if (asked === this.asked && this.body.isConnected && !this.refused(error, () => this.read(skip))) this.failed(error, () => this.read(skip));
      return;
    }
    if (asked !== this.asked || !this.body.isConnected) return;
    this.about.replaceChildren(h("p", { class: told.keeps ? "faint" : "warning" }, this.means(told)));
    this.status.textContent = told.total ? exchanges(told.total) : t(this.search.value.trim() ? "nothing_found" : "nothing_remembered");
    this.notes.replaceChildren(...told.notes.map((one) => this.noteRow(one)));
    const rows = told.data.map((one) => this.row(one));
    if (skip) this.found.append(...rows);
    else this.found.replaceChildren(...rows);
    const left = told.total - skip - rows.length;
    this.more.replaceChildren(left > 0 && rows.length ? button(t("more", { n: left }), () => this.read(skip + rows.length)) : "");
    if (skip) rows[0]?.querySelector("button")?.focus();
  }

  means(told) {
    if (!told.keeps) return t("keeps_nothing");
    return `${t("remembers_means", { name: this.name })} ${t(told.others ? "remembers_others" : "remembers_here", { name: this.name })}`;
  }

  failed(error, again) {
    const message = error instanceof api.Away ? t("away_now") : t("failed", { message: error.message });
    this.about.replaceChildren(h("p", { class: "warning", role: "alert" }, message), button(t("try_again"), again));
  }

  row(one) {
    const row = h("li", {},
      h("div", { class: "marks" }, badge(when(one.at)), one.pinned ? badge(t("pinned"), "some") : null, one.here ? null : badge(one.of === this.role ? titled(one.thread) : t("in_scene", { name: sceneName(one.of) }), "some")),
      said(one, this.name),
      h("div", { class: "tools" },
        button(t("show_where"), () => this.go(one.thread, one.turn, one.of)),
        button(t(one.pinned ? "unpin" : "pin"), () => this.pin(one, row), { title: t("pin_means") }),
        button(t("forget"), () => this.weigh(one, row))));
    return row;
  }

  // Something is changed; what does not work is said at the exchange, and can be tried again.
  async change(row, work, again) {
    for (const one of row.querySelectorAll("button")) one.disabled = true;
    try {
      return await work();
    } catch (error) {
      for (const one of row.querySelectorAll("button")) one.disabled = false;
      if (!this.body.isConnected || this.refused(error, again)) return null;
      const message = error instanceof api.Away ? t("away_now") : t("failed", { message: error.message });
      row.querySelector(".card")?.remove();
      row.append(h("div", { class: "card" }, h("p", { class: "warning", role: "alert" }, message), button(t("try_again"), again)));
      return null;
    }
  }

  async pin(one, row) {
    const pinned = !one.pinned;
    if (!(await this.change(row, () => api.pin(one.of, one.thread, [one.id], pinned), () => this.pin(one, row)))) return;
    const other = this.row({ ...one, pinned });
    row.replaceWith(other);
    other.querySelectorAll("button")[1].focus();
    this.told(t(pinned ? "pin_done" : "unpin_done"));
  }

  // What goes with it, and what that means, before anything does.
  async weigh(one, row) {
    const gone = await this.change(row, () => api.toForget(one.of, one.thread, [one.id]), () => this.weigh(one, row));
    if (!gone) return;
    for (const other of row.querySelectorAll("button")) other.disabled = false;
    row.querySelector(".card")?.remove();
    const others = gone.said.filter((other) => other.id !== one.id);
    const back = button(t("cancel"), () => (card.remove(), row.querySelector("button").focus()));
    const card = h("div", { class: "card", role: "group", "aria-label": t("forget") },
      h("p", {}, t("forget_means", { name: this.name }), one.of === this.role ? null : ` ${t("forget_in_scene")}`),
      others.length ? [h("p", {}, t("forget_too", { n: gone.total - 1 })), h("ul", { class: "found" }, others.map((other) => h("li", {}, said(other, this.name))))] : null,
      h("div", { class: "tools" }, button(t("forget_now"), () => this.forget(one, row), { class: "main" }), back));
    row.append(card);
    back.focus();
  }

  async forget(one, row) {
    const gone = await this.change(row, () => api.forget(one.of, one.thread, [one.id]), () => this.forget(one, row));
    if (!gone) return;
    await this.changed();
    await this.read(0);
    this.told(t("forgot", { n: gone.total }));
    this.search.focus();
  }
}
