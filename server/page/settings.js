// What a person sets: the method with what it does and costs, a name, the language, and the connection to a model.

import * as api from "./api.js";
import { button, h, oneLine } from "./dom.js";
import { field } from "./gallery.js";
import { openDialog } from "./menu.js";
import { howIt, methodName } from "./methods.js";
import { language, NAMES, t } from "./texts.js";
import { badge } from "./views.js";

/* `methods` are those of the open role, or of the server; `chosen` the one that speaks. Each change is told at once. */
export function openSettings({ methods, chosen, as, worn, connection, pickMethod, pickName, pickLanguage, pickTheme, connected }) {
  const name = h("input", { id: "as", maxlength: "80", autocomplete: "off", value: as, placeholder: t("a_stranger"), onchange: () => pickName(name.value.trim()) });
  name.addEventListener("input", () => pickName(name.value.trim()));
  const tongue = h("select", { id: "language", onchange: () => pickLanguage(tongue.value) },
    Object.entries(NAMES).map(([id, called]) => h("option", { value: id, lang: id, selected: id === language }, called)));
  const theme = h("select", { id: "theme", onchange: () => pickTheme(theme.value) },
    ["", "light", "dark"].map((id) => h("option", { value: id, selected: id === worn }, t(`theme_${id || "system"}`))));
  openDialog(t("settings"), [
    methods.length ? h("fieldset", { class: "methods" }, h("legend", {}, t("method")), methods.map((one) => method(one, chosen, pickMethod))) : null,
    h("section", { class: "fields" }, field("you_are", name), h("p", { class: "faint" }, t("you_are_means")), field("language", tongue), field("theme", theme)),
    connection ? connectionView(connected) : null,
  ]);
}

function method(one, chosen, pick) {
  const lacks = one.lacks?.length ? t("lacks", { what: one.lacks.map((what) => t(`lacks_${what}`)).join(", ") }) : "";
  const radio = h("input", { type: "radio", name: "method", value: one.id, checked: one.id === chosen, disabled: Boolean(lacks), onchange: () => pick(one.id) });
  return h("label", { class: "choice" }, radio, h("span", {}, h("b", {}, one.title ?? methodName(one.id)),
    h("span", { class: "line" }, one.line ?? howIt(one.id).split(/(?<=[.。])\s*/)[0]), h("small", { class: "line" }, lacks)));
}

/* The model that plays: where it is, and what it can do. */
function connectionView(connected) {
  const body = h("section", { class: "fields", "aria-label": t("model") }, h("h3", {}, t("model")), h("p", { class: "thought" }, t("works")));
  const said = h("div", { class: "said", role: "status" });
  // What takes a while, and what comes of it or is wrong.
  const trying = async (text, work) => {
    const line = h("p", { class: "thought" }, t(text));
    said.replaceChildren(line);
    try {
      said.replaceChildren(await work(line));
    } catch (error) {
      if (!(error instanceof api.Refused || error instanceof api.Away)) throw error;
      said.replaceChildren(h("p", { class: "warning", role: "alert" }, error instanceof api.Away ? t("away_now") : t("failed", { message: error.message })));
    }
  };
  const changed = (text, work) => trying("works", async () => {
    show(await work());
    connected();
    return h("p", { class: "fine" }, t(text));
  });
  const check = () => trying("checking", async (line) => checked((await api.checkModel((far) => {
    if (far.total) line.textContent = t("far", { step: t("checking"), done: far.done, total: far.total });
  })).findings));
  const show = (known) => {
    const { changes = true } = known;
    const address = h("input", { id: "address", type: "url", required: true, maxlength: "500", autocomplete: "off", value: known.address ?? "", disabled: !changes });
    const key = h("input", { id: "model-key", type: "password", maxlength: "500", autocomplete: "off", placeholder: known.key ? t("key_kept") : "", disabled: !changes });
    const model = h("input", { id: "model", required: true, maxlength: "200", autocomplete: "off", value: known.model ?? "", disabled: !changes });
    const form = h("form", { class: "fields", onsubmit: (event) => {
      event.preventDefault();
      const given = { address: address.value.trim(), model: model.value.trim(), ...(key.value ? { key: key.value } : {}) };
      changed("connected", () => api.connect(given));
    } }, field("address", address), field("model_key", key), field("model_name", model),
    h("div", { class: "tools" }, changes ? button(t("connect"), null, { type: "submit", class: "main" }) : null, button(t("check_model"), check, { id: "check-model" }),
      changes && known.kept && known.embedded?.there ? button(t("use_embedded"), () => changed("disconnected", api.disconnect)) : null));
    body.replaceChildren(h("h3", {}, t("model")),
      changes ? "" : h("p", { class: "faint" }, t("connection_set")), known.embedded?.used ? h("p", { class: "faint" }, t("embedded")) : "", form, said);
  };
  api.connection().then(show, () => body.remove());
  return body;
}

// The doctor's table: what was asked of the model, and what came of it.
function checked(findings) {
  const mark = (ok) => badge(t(ok ? "passed" : ok === false ? "not_passed" : "not_asked"), ok ? "good" : ok === false ? "bad" : "");
  return h("ul", { class: "found" }, findings.map((one) => h("li", {}, mark(one.ok), " ", h("b", {}, oneLine(one.what, 120)), h("p", { class: "faint" }, oneLine(one.found, 400)))));
}
