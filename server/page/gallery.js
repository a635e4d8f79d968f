// The characters, and how another one is made: by a form, from a card, or from a text.

import * as api from "./api.js";
import { $, button, h, oneLine } from "./dom.js";
import { face } from "./faces.js";
import { openDialog } from "./menu.js";
import { methodName } from "./methods.js";
import { sceneCards } from "./scene.js";
import { sign } from "./signs.js";
import { language, NAMES, t } from "./texts.js";
import { badge } from "./views.js";
import { refusal, sent } from "./working.js";

const MOST = 60; // that are drawn before somebody asks for more

/* `talk` opens a character, `make` begins another one, where that is allowed. */
export function galleryView({ roles, scenes, about, talk, make, cast, stage, connect }) {
  const list = h("ul", { class: "roles" });
  const more = h("p", { class: "tools" });
  const search = h("input", { type: "search", id: "search-roles", maxlength: "100", autocomplete: "off", placeholder: t("search_roles"), "aria-label": t("search_roles"), oninput: () => draw(MOST) });
  const status = h("p", { class: "unseen", role: "status" });
  const draw = (most) => {
    const words = search.value.trim().toLocaleLowerCase();
    const found = roles.filter((one) => `${one.name} ${lineOf(one)} ${one.id}`.toLocaleLowerCase().includes(words));
    list.replaceChildren(...found.slice(0, most).map((one) => card(one, talk)));
    const left = found.length - most;
    more.replaceChildren(left > 0 ? button(t("more", { n: left }), () => draw(most + MOST)) : "");
    status.textContent = words ? t("n_characters", { n: found.length }) : "";
    if (!found.length) list.append(h("li", { class: "faint none" }, t(words ? "nothing_found" : "nobody")));
  };
  draw(MOST);
  $("gallery").replaceChildren(h("div", { class: "in" },
    h("h2", {}, t(roles.length ? "welcome" : "nobody")),
    about.embedded ? h("p", { class: "faint" }, t("embedded"), about.connection ? [" ", button(t("connect_model"), connect)] : null) : null,
    h("div", { class: "search" }, search,
      scenes.length ? button(t("scenes"), () => {
        const title = $("gallery").querySelector(".scenes-title");
        title.scrollIntoView();
        title.focus();
      }, { id: "to-scenes" }) : null,
      about.changes ? button([sign("plus"), t("new_character")], make, { id: "new-character", class: "main" }) : button(t("cast"), () => cast(), { id: "cast-here" })),
    status, list, more, scenes.length || about.changes ? [h("h3", { class: "scenes-title", tabindex: "-1" }, t("scenes")), h("p", { class: "faint" }, t("scenes_mean")),
      about.changes ? h("p", {}, button(t("new_scene"), stage, { id: "new-scene" })) : null, sceneCards(scenes, talk)] : null));
}

const lineOf = (one) => one.line || one.profile || "";

function card(one, talk) {
  if (one.error) return h("li", { class: "broken" }, face(one, "large"), h("h3", {}, one.name), h("p", { class: "faint" }, t("broken", { message: oneLine(one.error, 200) })));
  return h("li", { class: "character" },
    face(one, "large"),
    h("div", { class: "words" },
      h("h3", {}, button(one.name, () => talk(one))),
      h("p", { class: "line" }, oneLine(lineOf(one), 130)),
      h("p", { class: "marks" }, badge(NAMES[one.language] ?? one.language), one.example ? badge(t("example")) : null,
        one.story_of.length ? badge(t("story")) : one.methods?.length ? h("small", {}, one.methods.filter((id) => id !== "ensemble").map(methodName).join(" · ")) : null)));
}

/* A new character, in a dialog. `made` gets its role; `cast` goes on to casting from a text. */
export function newCharacter({ made, cast, about, files }) {
  const said = h("div", { class: "said", role: "status" });
  const form = h("form", { class: "fields", onsubmit: (event) => {
    event.preventDefault();
    const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value));
    work(async () => made((await api.newRole(given)).role));
  } },
  field("name", h("input", { name: "name", id: "role-name", required: true, maxlength: "100", autocomplete: "off" })),
  field("role_line", h("textarea", { name: "profile", id: "role-profile", required: true, rows: "3", maxlength: "4000" })),
  field("role_greeting", h("textarea", { name: "greeting", id: "role-greeting", rows: "2", maxlength: "4000" })),
  field("role_persona", h("textarea", { name: "persona", id: "role-persona", rows: "5", maxlength: "200000" })),
  field("language", h("select", { name: "language", id: "role-language" }, Object.entries(NAMES).map(([id, name]) => h("option", { value: id, lang: id, selected: id === language }, name)))),
  h("div", { class: "tools" }, button(t("create"), null, { type: "submit", class: "main" })));
  const input = h("input", { type: "file", id: "card-file", class: "unseen", accept: ".png,.json,.charx,.zip,.yaml", onchange: () => take(input.files[0]) });
  const card = h("div", { class: "fields" }, input, h("label", { class: "drop", for: "card-file" }, h("span", {}, t("drop_card")), h("small", {}, t("card_kinds"))), said);
  const close = openDialog(t("new_character"), [
    h("section", { class: "fields" }, h("h3", {}, t("from_card")), card),
    h("section", { class: "fields" }, h("h3", {}, t("from_text")), h("p", { class: "faint" }, t("cast_means")), h("div", { class: "tools" }, button(t("cast"), () => (close(), cast()), { id: "cast-here" }))),
    h("section", { class: "fields" }, h("h3", {}, t("from_form")), form),
  ]);
  const work = async (does) => (await tried(said, does)) && close();
  // What a card would become, before it does.
  async function take(file) {
    if (!file) return;
    const refused = refusal([file], about);
    if (refused) {
      said.replaceChildren(h("p", { class: "warning", role: "alert" }, refused));
      return;
    }
    said.replaceChildren(h("p", { class: "thought" }, t("reading_files", { names: file.name })));
    await tried(said, async () => {
      const given = await sent(file);
      const told = await api.importRole(given, true);
      said.replaceChildren(h("div", { class: "card" }, h("p", {}, h("b", {}, oneLine(told.name || told.role, 100))), h("ul", { class: "found" }, told.lines.map((one) => h("li", {}, h("b", {}, oneLine(one.part, 80)), ` → ${oneLine(one.where, 120)} `, h("small", {}, oneLine(one.size, 80))))),
        h("div", { class: "tools" }, button(t("import"), () => work(async () => made((await api.importRole(given)).role)), { class: "main" }), button(t("cancel"), () => said.replaceChildren()))));
      said.querySelector("button").focus();
    });
  }
  if (files?.length) take(files[0]);
}

/* Do something for a dialog; what does not work is said in it. Gives whether it has worked. */
export async function tried(said, does) {
  try {
    await does();
    return true;
  } catch (error) {
    if (!(error instanceof api.Refused || error instanceof api.Away)) throw error;
    const line = h("p", { class: "warning", role: "alert" }, error instanceof api.Away ? t("away_now") : t("failed", { message: error.message }));
    said.replaceChildren(line);
    line.scrollIntoView({ block: "nearest" });
    return false;
  }
}

export const field = (text, input) => h("label", { class: "field" }, t(text), input);
