// What a role knows: its documents and their graph, files that it is to learn, what can be taken back, and which names
// become one.

import * as api from "./api.js";
import { button, h, oneLine } from "./dom.js";
import { Drafts } from "./drafts.js";
import { explorer } from "./explore.js";
import { cited, openSource } from "./source.js";
import { language, t } from "./texts.js";
import { mergeView } from "./merges.js";
import { section, when } from "./views.js";
import { follow, progress, refusal, sent, size } from "./working.js";

export class Knowledge {
  /* Shows itself in `root`. `told` says a sentence to a screen reader; `refused` is asked what to do about an error, and
     gives true where it has done it; `changed` is called where the role has other files, `cast` where somebody is to be
     cast for it. */
  constructor(root, { role, name, method, methodName, told, refused, changed, cast }) {
    Object.assign(this, { root, role, name, method, methodName, told, refused, changed, cast });
    this.body = h("div", { class: "knowledge" });
    root.replaceChildren(h("h2", { tabindex: "-1" }, t("knows", { name })), this.body);
  }

  get here() {
    return this.body.isConnected;
  }

  async open(files) {
    this.body.replaceChildren(h("p", { class: "thought", role: "status" }, t("reading_knowledge")));
    let merges;
    try {
      [this.known, merges] = await Promise.all([api.knowledge(this.role, this.method), this.merges()]);
    } catch (error) {
      if (this.here && !this.refused(error, () => this.open(files))) this.failed(error, () => this.open(files));
      return;
    }
    if (!this.here) return;
    const { known } = this;
    this.said = h("div", { class: "said" });
    const { role, name, told, refused, changed } = this;
    const drafts = known.changes ? new Drafts({ role, name, told, refused, changed }) : null;
    this.body.replaceChildren(
      this.said,
      drafts?.body ?? "",
      this.documents(known),
      this.graph(known),
      this.adding(known),
      known.versions.length > 1 ? this.former(known.versions) : "",
      mergeView(merges, { ...this, may: known.changes, decide: (plan, approved) => this.work("merges", { plan, approved }) }),
    );
    if (!known.work) drafts?.open();
    if (known.work) this.follow(known.work);
    else if (files?.length && known.changes && known.reads) await this.weigh(files);
  }

  // A plan that cannot be read does not hide the documents.
  async merges() {
    try {
      return await api.merges(this.role);
    } catch (error) {
      if (error.code === "role") return { error: error.message };
      throw error;
    }
  }

  failed(error, again) {
    const message = error instanceof api.Away ? t("away_now") : t("failed", { message: error.message });
    this.say(message, again);
  }

  say(message, again) {
    const told = [h("p", { class: "warning", role: "alert" }, message), again ? button(t("try_again"), again) : ""];
    (this.said?.isConnected ? this.said : this.body).replaceChildren(...told);
  }

  documents({ documents }) {
    return section(t("documents"), [
      documents.length
        ? h("ul", { class: "found" }, documents.map((one) => h("li", {}, h("b", {}, oneLine(one.name, 120)), " ",
          h("small", {}, t("characters", { n: one.characters.toLocaleString(language) })))))
        : h("p", { class: "faint" }, t("no_documents", { name: this.name })),
    ]);
  }

  // All of the graph, drawn where somebody asks for it.
  graph({ graph: there, changes }) {
    if (!there) return section(t("graph"), [h("p", { class: "faint" }, t("graph_none", { role: this.role }))]);
    const opens = changes ? (one) => openSource(this.role, one, this.refused) : null;
    return section(t("graph"), [button(t("show_it"), async ({ target }) => {
      target.disabled = true;
      try {
        const data = await api.graph(this.role, this.method);
        const { picture, panel } = explorer(data, t, (one) => cited({ ...one, text: one.quote }, opens));
        if (!data.whole) target.before(h("p", { class: "faint" }, t("graph_map")));
        target.replaceWith(h("div", { class: "explorer" }, picture, panel));
        panel.querySelector("input").focus();
        picture.scrollIntoView({ block: "nearest" });
      } catch (error) {
        target.disabled = false;
        if (this.here && !this.refused(error, () => this.open())) this.failed(error);
      }
    })]);
  }

  adding(known) {
    if (!known.changes) return section(t("teach"), [h("p", { class: "warning" }, t("read_only"))]);
    if (!known.reads) return section(t("teach"), [h("p", { class: "warning" }, t("reads_none", { method: this.methodName }))]);
    const input = h("input", { type: "file", multiple: true, id: "files", accept: known.kinds.join(","), class: "unseen", onchange: () => this.weigh([...input.files]).then(() => (input.value = "")) });
    const zone = h("label", { class: "drop", for: "files" }, h("span", {}, t("drop")),
      h("small", {}, t("drop_kinds", { kinds: known.kinds.join(" "), size: size(known.most_bytes), n: known.most_files })));
    this.offer = h("div", { class: "offer" });
    return section(t("teach"), [input, zone, this.offer, h("p", {}, t("cast_instead"), " ", button(t("cast"), this.cast))]);
  }

  // What comes of files, before anything does.
  async weigh(files) {
    const { known } = this;
    const wrong = refusal(files, known);
    if (wrong) return this.say(wrong);
    if (!files.length) return undefined;
    this.said.replaceChildren();
    this.offer.replaceChildren(h("p", { class: "thought", role: "status" }, t("reading_files", { names: files.map((one) => one.name).join(", ") })));
    let body;
    let preview;
    try {
      body = { method: this.method, files: await Promise.all(files.map(sent)) };
      preview = await api.preview(this.role, body);
    } catch (error) {
      this.offer.replaceChildren();
      if (error instanceof DOMException || error instanceof TypeError) return this.say(t("not_a_file"));
      return this.refused(error, () => this.weigh(files)) ? undefined : this.failed(error, () => this.weigh(files));
    }
    if (!this.here) return undefined;
    const learn = button(t("learn"), () => this.work("knowledge", body), { class: "main" });
    this.offer.replaceChildren(h("div", { class: "card" },
      h("ul", { class: "found" }, preview.documents.map((one) => h("li", {}, h("b", {}, oneLine(one.document, 120)), " ",
        t(`change_${one.change}`, { added: one.added, removed: one.removed, n: one.after.toLocaleString(language) })))),
      preview.missing.map((line) => h("p", { class: "warning" }, oneLine(line, 300))),
      preview.costs.map((one) => h("p", {}, costLine(one))),
      h("p", {}, t("learning_means", { name: this.name })),
      h("div", { class: "tools" }, learn, button(t("cancel"), () => this.offer.replaceChildren()))));
    learn.focus();
    return undefined;
  }

  former(versions) {
    const now = versions.find((one) => one.served);
    const others = versions.filter((one) => !one.served);
    return section(t("versions"), [
      h("p", { class: "faint" }, t("undo_means", { name: this.name })),
      h("ul", { class: "found" }, others.map((one) => h("li", {},
        h("b", {}, when(one.created)), " ", h("small", {}, oneLine(one.documents.join(", "), 300)),
        one.restorable && this.known.changes
          ? h("div", { class: "tools" }, this.backTo(one, t(now && one.created > now.created ? "redo" : "undo")))
          : null))),
    ]);
  }

  backTo(one, does) {
    const to = () => this.work("knowledge/undo", { method: this.method, version: one.version });
    return button(does, to, { "aria-label": t("undo_to", { does, when: when(one.created) }) });
  }

  // What changes the role: how far it is, and then all of it anew. It goes on where nobody looks.
  async work(path, body) {
    const { shown, back } = progress(this.body, this.said, this.told);
    try {
      const done = await api.work(this.role, path, body, shown);
      if (!this.here) return;
      await this.open();
      const sentence = doneLine(path, done);
      this.said?.replaceChildren(h("p", { class: "fine", role: "status" }, sentence));
      this.told(sentence);
      this.root.querySelector("h2").focus();
    } catch (error) {
      if (!this.here) return;
      if (this.refused(error, () => this.open())) return;
      if (error.code === "role_busy" || error.code === "changed") await this.open();
      else back();
      this.failed(error, () => this.open());
    }
  }

  async follow(work) {
    const { shown } = progress(this.body, this.said, this.told);
    try {
      await follow(work, shown, () => this.here, async () => (await api.knowledge(this.role, this.method)).work);
    } catch (error) {
      if (!this.refused(error, () => this.open())) this.failed(error, () => this.open());
      return;
    }
    if (this.here) await this.open();
  }
}

function costLine(one) {
  const questions = one.questions ? t("cost_questions", { n: one.questions.toLocaleString(language) }) : t("cost_none");
  const embed = one.to_embed === null ? "" : t("cost_embed", { n: one.to_embed.toLocaleString(language) });
  return [t("cost_of", { index: one.index, documents: one.documents, pieces: one.pieces.toLocaleString(language) }), questions, embed].filter(Boolean).join(" ");
}

function doneLine(path, done) {
  if (path === "merges") return t("merged", { n: done.merged });
  const names = (done.documents ?? []).map((one) => one.document ?? one).join(", ");
  return t(path === "knowledge" ? "learned" : "undone", { names: oneLine(names, 300) });
}
