// A scene that is put together, or changed: what it is called, where it plays, how it begins, and who is in it.

import * as api from "./api.js";
import { button, h } from "./dom.js";
import { face } from "./faces.js";
import { field, tried } from "./gallery.js";
import { openDialog } from "./menu.js";
import { methodName } from "./methods.js";
import { t } from "./texts.js";

const FEW = 8; // characters that need no search
const MOST = 40; // that are shown before somebody searches

/* `scene` is the one that is changed, or an example, of which a copy is; `done` gets the id of what there is then. */
export function stageScene({ scene, roles, as, done }) {
  const { id, example, name = "", place, opening, user = as, cast: before = [] } = scene ?? {};
  const cast = new Map(before.map(({ role, hidden, absent, method }) => [role, { role, hidden, absent, method }]));
  const people = [...roles].sort((a, b) => cast.has(b.id) - cast.has(a.id)).map((role) => ({ role, item: player(role, cast) }));
  const search = h("input", { type: "search", maxlength: "100", autocomplete: "off", hidden: roles.length <= FEW, placeholder: t("search_roles"), "aria-label": t("search_roles"), oninput: () => look(), onkeydown: (event) => event.key === "Enter" && event.preventDefault() });
  const look = () => {
    const words = search.value.trim().toLocaleLowerCase();
    let left = MOST;
    for (const { role, item } of people) item.hidden = !cast.has(role.id) && (!`${role.name} ${role.id}`.toLocaleLowerCase().includes(words) || (left -= 1) < 0);
  };
  look();
  const said = h("div", { class: "said", role: "status" });
  const form = h("form", { class: "fields", onsubmit: async (event) => {
    event.preventDefault();
    const body = { ...Object.fromEntries(new FormData(form)), cast: [...cast.values()] };
    const made = () => (id && !example ? api.changeScene(id, body) : api.newScene({ ...body, like: id }));
    if (await tried(said, async () => done((await made()).id))) close();
  } },
  example ? h("p", { class: "faint" }, t("copy_scene_means")) : null,
  field("name", h("input", { name: "name", required: true, maxlength: "100", autocomplete: "off", value: example ? `${name} 2` : name })),
  field("scene_place", h("textarea", { name: "place", rows: "2", maxlength: "2000" }, place)),
  field("scene_opening", h("textarea", { name: "opening", rows: "2", maxlength: "5000" }, opening)),
  field("scene_user", h("input", { name: "user", maxlength: "80", autocomplete: "off", value: user })),
  h("fieldset", { class: "players" }, h("legend", {}, t("scene_cast")), search, h("ul", { class: "choices" }, people.map((one) => one.item))),
  said, h("div", { class: "tools" }, button(t(id && !example ? "save" : "create"), null, { type: "submit", class: "main" })));
  const close = openDialog(t(id ? (example ? "copy_scene" : "edit_scene") : "new_scene"), form);
}

// Somebody who may play; who does has more to choose.
function player(role, cast) {
  const item = h("li", {}, h("label", { class: "choice" }, h("input", { type: "checkbox", checked: cast.has(role.id), onchange: ({ target }) => {
    if (target.checked) cast.set(role.id, { role: role.id, hidden: false, absent: false, method: "profile" });
    else cast.delete(role.id);
    more();
  } }), face(role), role.name));
  const more = () => {
    item.querySelector("details")?.remove();
    const part = cast.get(role.id);
    if (!part) return;
    const tick = (what) => h("label", { class: "choice" }, h("input", { type: "checkbox", checked: part[what], onchange: ({ target }) => (part[what] = target.checked) }), t(`is_${what}`));
    const methods = [...new Set(["profile", ...role.methods, part.method])];
    item.append(h("details", {}, h("summary", {}, t("more_of", { name: role.name })), tick("absent"), tick("hidden"),
      field("method", h("select", { onchange: ({ target }) => (part.method = target.value) }, methods.map((one) => h("option", { value: one, selected: one === part.method }, methodName(one)))))));
  };
  more();
  return item;
}
