// What was drafted of a role and waits: by kind, with where it is from, to be accepted, refused or written anew.

import * as api from "./api.js";
import { button, h, oneLine } from "./dom.js";
import { language, t } from "./texts.js";
import { badge } from "./views.js";
import { follow, progress } from "./working.js";

const A_PAGE = 20; // drafts of a kind
const LONG = 60; // characters from which on a field has several lines

/* `told` says a sentence to a screen reader; `refused` is asked what to do about an error, and gives true where it has
   done it; `changed` is called where the files of the role are others. `empty` stands where nothing waits. */
export class Drafts {
  constructor({ role, name, told, refused, changed, empty = "" }) {
    Object.assign(this, { role, name, told, refused, changed, empty });
    this.most = A_PAGE;
    this.body = h("div", { class: "drafts" });
  }

  get here() {
    return this.body.isConnected;
  }

  async open() {
    await this.trying(async () => {
      const found = await api.drafts(this.role, this.most);
      this.draw(found);
      if (found.work?.what !== "cast") return;
      const { shown } = progress(this.body, this.said, this.told);
      await follow(found.work, shown, () => this.here, async () => (await api.drafts(this.role, 1)).work);
      if (this.here) await this.open();
    }, () => this.open());
  }

  draw({ kinds }) {
    this.kinds = kinds;
    this.said = h("div", { class: "said" });
    const rows = kinds.map((one) => this.kind(one));
    if (!rows.length) this.body.replaceChildren(this.said, this.empty ? h("p", { class: "faint" }, this.empty) : "");
    else this.body.replaceChildren(this.said, h("h3", { tabindex: "-1" }, t("drafts_wait", { name: this.name })), h("p", { class: "faint" }, t("drafts_mean", { name: this.name })), ...rows);
  }

  kind(one) {
    const n = one.total.toLocaleString(language);
    const named = { kind: t(`kind_${one.kind}`), n };
    const refuse = button(t("refuse_kind"), () => this.weigh(one, tools, refuse), { "aria-label": t("refuse_all_of", named) });
    const tools = h("div", { class: "tools" },
      button(t("accept_kind"), () => this.decide(one, "accept"), { class: "main", "aria-label": t("accept_all_of", named) }), refuse);
    const left = one.total - one.drafts.length;
    return h("section", { "data-kind": one.kind, "aria-label": named.kind },
      h("h4", { tabindex: "-1" }, t("kind_count", named)), h("p", { class: "faint" }, t(`means_${one.kind}`)), tools,
      h("ul", { class: "found" }, one.drafts.map((draft) => this.row(one, draft))),
      left > 0 ? button(t("more", { n: left.toLocaleString(language) }), () => this.more(one.kind)) : null);
  }

  row(kind, draft) {
    const named = { kind: t(`kind_${kind.kind}`), n: draft.number };
    const row = h("li", {},
      draft.field ? badge(t(`card_${draft.field}`)) : null,
      h("p", { class: "text" }, draft.text),
      draft.source ? h("cite", {}, t("from", { source: oneLine(draft.source, 200) })) : null,
      h("div", { class: "tools" },
        button(t("accept"), () => this.decide(kind, "accept", draft.number), { "aria-label": t("accept_of", named) }),
        button(t("refuse_one"), () => this.decide(kind, "refuse", draft.number), { "aria-label": t("refuse_of", named) }),
        button(t("edit"), () => this.edit(kind, draft, row), { "aria-label": t("edit_of", named) })));
    return row;
  }

  async more(kind) {
    const before = this.kinds.find((one) => one.kind === kind).drafts.length;
    this.most += A_PAGE;
    await this.open();
    this.focus(kind, before + 1);
  }

  // What is refused does not come back: all of a kind is refused by a second click.
  weigh(one, tools, refuse) {
    const cancel = button(t("cancel"), () => (card.remove(), refuse.focus()));
    const sure = button(t("refuse_all_of", { kind: t(`kind_${one.kind}`), n: one.total.toLocaleString(language) }), () => this.decide(one, "refuse"), { class: "main" });
    const card = h("div", { class: "card" }, h("p", {}, t("refused_stays")), h("div", { class: "tools" }, sure, cancel));
    tools.after(card);
    cancel.focus();
  }

  decide(kind, decision, number) {
    const again = () => this.decide(kind, decision, number);
    return this.trying(async () => {
      const body = { kind: kind.kind, version: kind.version, decision, numbers: number ? [number] : null };
      const left = await api.decide(this.role, this.most, body);
      if (!this.here) return;
      this.draw(left);
      const sentence = t(decision === "accept" ? "accepted" : "was_refused", { n: left.decided, kind: t(`kind_${kind.kind}`) });
      this.said.replaceChildren(h("p", { class: "fine", role: "status" }, sentence));
      this.told(sentence);
      this.focus(kind.kind, number);
      if (decision === "accept") await this.changed();
    }, again);
  }

  // Who decides by keyboard goes on at the next draft of the kind, or with the next kind.
  focus(kind, number) {
    const section = this.body.querySelector(`[data-kind="${kind}"]`);
    const rows = [...(section?.querySelectorAll(".found > li") ?? [])];
    const next = number ? rows[Math.min(number, rows.length) - 1]?.querySelector("button") : null;
    (next ?? section?.querySelector("h4") ?? this.body.querySelector("h3") ?? this.body.parentElement?.querySelector("h2"))?.focus();
  }

  edit(kind, draft, row) {
    return this.trying(async () => {
      const whole = await api.draft(this.role, kind.kind, draft.number);
      if (whole.version !== kind.version) {
        await this.open();
        this.say(t("drafts_changed"));
        return;
      }
      const fields = Object.entries(whole.fields).filter(([, value]) => value !== null && value !== undefined);
      const inputs = fields.map(([name, value]) => (name === "lines" ? linesOf(value) : fieldOf(name, value)));
      const back = () => {
        const other = this.row(kind, draft);
        form.replaceWith(other);
        other.querySelector("button:last-child").focus();
      };
      const form = h("li", {}, h("form", { class: "card fields", onkeydown: (event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.stopPropagation();
        back();
      }, onsubmit: (event) => {
        event.preventDefault();
        this.save(kind, draft, Object.fromEntries(fields.map(([name], at) => [name, inputs[at].value()])));
      } }, inputs.map((one) => one.element),
      h("div", { class: "tools" }, button(t("keep_draft"), null, { type: "submit", class: "main" }), button(t("cancel"), back))));
      row.replaceWith(form);
      form.querySelector("input, textarea").focus();
    }, () => this.edit(kind, draft, row));
  }

  save(kind, draft, fields) {
    return this.trying(async () => {
      const left = await api.edit(this.role, this.most, kind.kind, draft.number, { version: kind.version, fields });
      if (!this.here) return;
      this.draw(left);
      this.told(t("draft_kept"));
      this.focus(kind.kind, draft.number);
    }, () => this.save(kind, draft, fields));
  }

  async trying(work, again) {
    try {
      await work();
    } catch (error) {
      if (!this.here || this.refused(error, again)) return;
      if (error.code === "changed" || error.code === "role_busy") {
        await this.open();
        this.say(error.code === "changed" ? t("drafts_changed") : t("failed", { message: error.message }));
      } else this.say(error instanceof api.Away ? t("away_now") : t("failed", { message: error.message }), again);
    }
  }

  say(message, again) {
    const told = [h("p", { class: "warning", role: "alert" }, message), again ? button(t("try_again"), again) : ""];
    (this.said?.isConnected ? this.said : this.body).replaceChildren(...told);
  }
}

let fields = 0; // that were made so far, by which each has an id

function fieldOf(name, value, label = t(`field_${name}`)) {
  const id = `field-${(fields += 1)}`;
  const long = value.length > LONG || ["text", "answer"].includes(name);
  const input = long ? h("textarea", { id, rows: Math.min(12, 2 + Math.ceil(value.length / 70)) }, value) : h("input", { id, value, autocomplete: "off" });
  return { element: h("div", { class: "field" }, h("label", { for: id }, label), input), value: () => input.value };
}

function linesOf(lines) {
  const rows = lines.map((one, at) => ({
    speaker: fieldOf("speaker", one.speaker, t("line_speaker", { n: at + 1 })), text: fieldOf("text", one.text, t("line_text", { n: at + 1 })),
  }));
  return {
    element: [h("p", { class: "faint" }, t("lines_mean")), rows.map((one) => h("div", { class: "spoken" }, one.speaker.element, one.text.element))],
    value: () => rows.map((one) => ({ speaker: one.speaker.value(), text: one.text.value() })),
  };
}
