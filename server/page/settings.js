// What a person sets: the method with what it does and costs, a name, the language, and the connection to a model.

import * as api from "./api.js";
import { button, h, oneLine } from "./dom.js";
import { field } from "./gallery.js";
import { openDialog } from "./menu.js";
import { methodName } from "./methods.js";
import { has, language, NAMES, t } from "./texts.js";

/* `methods` are those of the open role, or of the server; `chosen` the one that speaks. Each change is told at once. */
export function openSettings({ methods, chosen, as, connection, pickMethod, pickName, pickLanguage, connected }) {
  const name = h("input", { id: "as", maxlength: "80", autocomplete: "off", value: as, placeholder: t("a_stranger"), onchange: () => pickName(name.value.trim()) });
  name.addEventListener("input", () => pickName(name.value.trim()));
  const tongue = h("select", { id: "language", onchange: () => pickLanguage(tongue.value) },
    Object.entries(NAMES).map(([id, called]) => h("option", { value: id, lang: id, selected: id === language }, called)));
  openDialog(t("settings"), [
    methods.length ? h("fieldset", { class: "methods" }, h("legend", {}, t("method")), methods.map((one) => method(one, chosen, pickMethod))) : null,
    h("section", { class: "fields" }, field("you_are", name), h("p", { class: "faint" }, t("you_are_means")), field("language", tongue)),
    connection ? connectionView(connected) : null,
  ]);
}

function method(one, chosen, pick) {
  const lacks = one.lacks?.length ? t("lacks", { what: one.lacks.map((what) => t(`lacks_${what}`)).join(", ") }) : "";
  const does = has(`how_${one.id}`) ? t(`how_${one.id}`).split(/(?<=[.。])\s*/)[0] : one.line ?? "";
  const costs = Number.isFinite(one.questions) ? t("asks_model", { n: one.questions }) : has(`costs_${one.id}`) ? t(`costs_${one.id}`) : "";
  const radio = h("input", { type: "radio", name: "method", value: one.id, checked: one.id === chosen, disabled: Boolean(lacks), onchange: () => pick(one.id) });
  return h("label", { class: "choice" }, radio, h("span", {}, h("b", {}, one.title ?? methodName(one.id)),
    h("span", { class: "line" }, does), h("small", { class: "line" }, [costs, lacks].filter(Boolean).join(" · "))));
}

/* The model that plays: where it is, and what it can do. */
function connectionView(connected) {
  const body = h("section", { class: "fields", "aria-label": t("model") }, h("h3", {}, t("model")), h("p", { class: "thought" }, t("works")));
  const said = h("div", { class: "said", role: "status" });
  const failed = (error) => {
    if (!(error instanceof api.Refused || error instanceof api.Away)) throw error;
    said.replaceChildren(h("p", { class: "warning", role: "alert" }, error instanceof api.Away ? t("away_now") : t("failed", { message: error.message })));
  };
  const show = (known) => {
    const address = h("input", { id: "address", type: "url", required: true, maxlength: "500", autocomplete: "off", value: known.address ?? "" });
    const key = h("input", { id: "model-key", type: "password", maxlength: "500", autocomplete: "off", placeholder: known.key ? t("key_kept") : "" });
    const model = h("input", { id: "model", required: true, maxlength: "200", autocomplete: "off", value: known.model ?? "" });
    const form = h("form", { class: "fields", onsubmit: async (event) => {
      event.preventDefault();
      said.replaceChildren(h("p", { class: "thought" }, t("works")));
      try {
        const done = await api.connect({ address: address.value.trim(), model: model.value.trim(), ...(key.value ? { key: key.value } : {}) });
        said.replaceChildren(h("p", { class: "fine" }, t("connected")));
        connected(done);
      } catch (error) {
        failed(error);
      }
    } }, field("address", address), field("model_key", key), field("model_name", model),
    h("div", { class: "tools" }, button(t("connect"), null, { type: "submit", class: "main" }), button(t("check_model"), check)));
    body.replaceChildren(h("h3", {}, t("model")), known.embedded?.there && !known.address ? h("p", { class: "faint" }, t("embedded")) : "", form, said);
  };
  const check = async () => {
    said.replaceChildren(h("p", { class: "thought" }, t("checking")));
    try {
      said.replaceChildren(checked(await api.checkModel()));
    } catch (error) {
      failed(error);
    }
  };
  api.connection().then(show, () => body.remove());
  return body;
}

// The doctor's table: what was asked of the model, and what came of it.
function checked(found) {
  const rows = found.data ?? found.rows ?? [];
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": t("check_model") }, h("table", {}, h("tbody", {},
    rows.map((one) => h("tr", {}, h("th", { scope: "row" }, oneLine(one.title ?? one.name ?? "", 80)), h("td", { class: "words" }, oneLine(one.outcome ?? one.found ?? one.text ?? "", 300)))))),
  (found.lines ?? []).map((one) => h("p", {}, oneLine(one, 400))));
}
