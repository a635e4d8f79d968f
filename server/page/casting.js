// A character is cast from texts: who is in them, what is asked of which model, how far it is, and the drafts.

import * as api from "./api.js";
import { button, h, oneLine } from "./dom.js";
import { Drafts } from "./drafts.js";
import { language, t } from "./texts.js";
import { badge, section } from "./views.js";
import { progress, refusal, sent, size } from "./working.js";

const number = (n) => n.toLocaleString(language);

export class Casting {
  /* Shows itself in `root`. `roles` are those that texts may be added to, `role` the one that is meant; `told` says a
     sentence to a screen reader; `refused` is asked what to do about an error, and gives true where it has done it;
     `talk` opens a role, `changed` is called where there is another one, or its files are others. */
  constructor(root, { roles, role, told, refused, talk, changed }) {
    Object.assign(this, { root, roles, role, told, refused, talk, changed });
    this.body = h("div", { class: "knowledge" });
    root.replaceChildren(h("h2", { tabindex: "-1" }, t("cast")), this.body);
  }

  get here() {
    return this.body.isConnected;
  }

  async open(files) {
    this.said = h("div", { class: "said" });
    this.body.replaceChildren(this.said);
    await this.trying(async () => {
      this.known = await api.casting();
      if (!this.here) return;
      if (!this.known.changes) {
        this.body.replaceChildren(h("p", { class: "warning" }, t("read_only")));
        return;
      }
      this.offer = h("div", { class: "offer" });
      this.body.replaceChildren(this.said, this.choosing(), this.waiting(this.known.waiting) ?? "", this.offer);
      if (files?.length) await this.look(files);
    }, () => this.open(files));
  }

  choosing() {
    const { known } = this;
    const input = h("input", { type: "file", multiple: true, id: "cast-files", class: "unseen", onchange: () => this.look([...input.files]).then(() => (input.value = "")) });
    return h("div", { class: "offer" }, h("p", {}, t("cast_means")), input, h("label", { class: "drop", for: "cast-files" }, h("span", {}, t("drop")),
      h("small", {}, t("cast_kinds", { size: size(known.most_bytes), n: known.most_files }))));
  }

  waiting(roles) {
    return section(t("cast_before"), roles.length ? [h("ul", { class: "found" }, roles.map((one) => h("li", {},
      h("b", {}, oneLine(one.name, 80)), " ", one.work ? badge(t("is_cast"), "some") : h("small", {}, t("n_drafts", { n: number(one.drafts) })),
      one.error ? h("p", { class: "warning" }, oneLine(one.error, 300)) : null,
      one.drafts || one.work ? h("div", { class: "tools" }, button(t("see_drafts"), () => this.drafts(one.role, one.name), { "aria-label": `${t("see_drafts")}: ${oneLine(one.name, 80)}` })) : null)))] : []);
  }

  // Who is in the texts: nothing is kept of them yet.
  async look(files) {
    const wrong = refusal(files, { ...this.known, kinds: null });
    if (wrong) return this.say(wrong);
    if (!files.length) return undefined;
    this.said.replaceChildren();
    this.offer.replaceChildren(h("p", { class: "thought", role: "status" }, t("looking_at", { names: files.map((one) => one.name).join(", ") })));
    return this.trying(async () => {
      try {
        this.files = await Promise.all(files.map(sent));
      } catch {
        this.offer.replaceChildren();
        return this.say(t("not_a_file"));
      }
      const found = await api.people({ files: this.files });
      if (!this.here) return undefined;
      this.offer.replaceChildren(this.choice(found));
      this.told(t("people_found", { n: found.people.length + found.more }));
      return this.offer.querySelector("input").focus();
    }, () => this.look(files));
  }

  choice(found) {
    const own = found.texts.every((one) => one.form === "diary");
    const name = h("input", { id: "cast-name", maxlength: "200", autocomplete: "off" });
    const first = h("input", { type: "checkbox", id: "cast-first", checked: own });
    const until = h("input", { id: "cast-until", maxlength: "200", autocomplete: "off" });
    const asks = h("input", { type: "checkbox", id: "cast-asks", checked: true });
    const role = h("select", { id: "cast-role" }, h("option", { value: "" }, t("own_role")), this.roles.map((one) => h("option", { value: one.id, selected: one.id === this.role }, one.name)));
    const kinds = this.known.kinds.map((kind) => ({ kind, tick: h("input", { type: "checkbox", checked: true }) }));
    const writer = () => (name.placeholder = first.checked ? found.writer : "");
    first.addEventListener("change", writer);
    writer();
    this.cost = h("div", { class: "offer" });
    const wish = () => ({
      files: this.files, character: name.value.trim(), first_person: first.checked, until: until.value.trim(), asks: asks.checked,
      drafts: kinds.filter((one) => one.tick.checked).map((one) => one.kind), role: role.value,
    });
    const form = h("form", { class: "fields",
      oninput: () => this.cost.replaceChildren(),
      onsubmit: (event) => {
        event.preventDefault();
        this.weigh(wish());
      } },
    h("ul", { class: "found" }, found.texts.map((one) => h("li", {}, h("b", {}, oneLine(one.name, 120)), " ", badge(t(`form_${one.form}`)), " ",
      h("small", {}, t("characters", { n: number(one.characters) })), one.missing.map((line) => h("p", { class: "faint" }, oneLine(line, 300)))))),
    this.table(found, name),
    h("label", { class: "field" }, t("who_is_cast"), name),
    h("label", { class: "choice" }, first, t("first_person")),
    h("details", {}, h("summary", {}, t("cast_more")), h("div", { class: "fields" },
      h("label", { class: "field" }, t("cast_for"), role),
      h("label", { class: "field" }, t("cast_until"), until),
      h("fieldset", {}, h("legend", {}, t("cast_what")), kinds.map((one) => h("label", { class: "choice" }, one.tick, t(`kind_${one.kind}`)))),
      h("label", { class: "choice" }, asks, t("cast_asks")))),
    h("div", { class: "tools" }, button(t("what_it_asks"), null, { type: "submit", class: "main" })));
    return h("div", { class: "offer" }, form, this.cost);
  }

  table(found, name) {
    if (!found.people.length) return h("p", { class: "warning" }, t("nobody_speaks"));
    const rows = found.people.map((one) => {
      const radio = h("input", { type: "radio", name: "who", onchange: () => (name.value = one.name) });
      return h("tr", {},
        h("th", { scope: "row" }, h("label", { class: "choice" }, radio, oneLine(one.name, 80))),
        h("td", { class: "words" }, oneLine(one.aliases.join(", "), 120)), h("td", {}, number(one.lines)), h("td", {}, one.mentions ? number(one.mentions) : ""));
    });
    const heads = ["who", "also", "says", "is_named"].map((one) => h("th", { scope: "col" }, t(`col_${one}`)));
    return h("div", { class: "wide" }, h("table", { class: "people" }, h("caption", {}, t("who_is_there")), h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)),
      found.more ? h("p", { class: "faint" }, t("more", { n: number(found.more) })) : null);
  }

  // What is asked of whom, before anything is.
  async weigh(wish) {
    this.said.replaceChildren();
    this.cost.replaceChildren(h("p", { class: "thought", role: "status" }, t("counting")));
    await this.trying(async () => {
      const cost = await api.castCost(wish);
      if (!this.here) return;
      const start = button(t("cast_start"), () => this.start(wish, cost), { class: "main" });
      this.cost.replaceChildren(h("div", { class: "card" },
        h("p", {}, t(cost.new ? "cast_new" : "cast_adds", { name: oneLine(cost.character, 80), role: cost.role })),
        h("p", cost.questions && !cost.embedded && wish.asks ? { class: "warning" } : {}, costLine(cost)),
        h("p", { class: "faint" }, t("cast_waits")),
        h("div", { class: "tools" }, start, button(t("cancel"), () => this.cost.replaceChildren()))));
      start.focus();
    }, () => this.weigh(wish), () => this.cost.replaceChildren());
  }

  async start(wish, cost) {
    const { shown, back } = progress(this.body, this.said, this.told);
    await this.trying(async () => {
      const done = await api.cast(wish, shown);
      if (!this.here) return;
      this.changed();
      this.drafts(done.role, cost.character, done.cast);
    }, () => this.start(wish, cost), back);
  }

  // What waits of a role, and the way to it.
  drafts(role, name, report) {
    this.said = h("div", { class: "said" });
    const { told, refused } = this;
    const drafts = new Drafts({ role, name, told, refused, changed: () => this.changed(), empty: t("no_drafts") });
    const made = report ? h("p", { class: "fine", role: "status" }, reportLine(report)) : null;
    this.body.replaceChildren(this.said, made ?? "", failures(report) ?? "",
      h("div", { class: "tools" }, button(t("talk_to"), () => this.talk(role), { "aria-label": `${t("talk_to")}: ${oneLine(name, 80)}` }), button(t("cast_another"), () => this.open())),
      drafts.body);
    if (report) told(reportLine(report));
    this.root.querySelector("h2").focus();
    return drafts.open();
  }

  async trying(work, again, undo) {
    try {
      return await work();
    } catch (error) {
      if (!this.here || this.refused(error, again)) return undefined;
      undo?.();
      return this.say(error instanceof api.Away ? t("away_now") : t("failed", { message: error.message }), again);
    }
  }

  say(message, again) {
    this.offer?.querySelector(":scope > .thought")?.remove();
    this.said.replaceChildren(h("p", { class: "warning", role: "alert" }, message), again ? button(t("try_again"), again) : "");
    this.said.scrollIntoView({ block: "nearest" });
  }
}

function costLine(cost) {
  const n = Object.values(cost.questions).reduce((all, one) => all + one, 0);
  if (!n) return t("asks_nothing");
  const given = { n: number(n), characters: number(cost.characters), names: oneLine(cost.texts.join(", "), 300), model: cost.model, address: cost.address || t("its_provider") };
  return t(cost.embedded ? "asks_here" : "asks_there", given);
}

function reportLine({ new: made, unattributed }) {
  const kinds = Object.entries(made).filter(([, n]) => n).map(([kind, n]) => t("kind_count", { kind: t(`kind_${kind}`), n: number(n) }));
  return [kinds.length ? t("drafted", { kinds: kinds.join(", ") }) : t("drafted_none"), unattributed ? t("unattributed", { n: number(unattributed) }) : ""].filter(Boolean).join(" ");
}

function failures(report) {
  if (!report?.failed.length) return null;
  return h("details", { class: "warning" }, h("summary", {}, t("cast_failed")), h("ul", {}, report.failed.map((one) =>
    h("li", {}, oneLine([t(`kind_${one.kind}`), one.document, one.place, one.error].filter(Boolean).join(" · "), 300)))));
}
