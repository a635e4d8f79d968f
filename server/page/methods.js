// The methods, as a person chooses among them.

import { h } from "./dom.js";
import { has, t } from "./texts.js";

const NAMES = { amadeus: "AMADEUS", "role-rag": "RoleRAG", "emotional-rag": "Emotional RAG", drmr: "DRMR", "id-rag": "ID-RAG", ensemble: "Ensemble", profile: "Profile" };

export const methodName = (id) => NAMES[id] ?? id;

// By which method a reply was made: its evidence says so by what it has.
const MARKS = [["ensemble", "parts"], ["id-rag", "gate"], ["id-rag", "identity"], ["drmr", "relations"], ["emotional-rag", "mood"],
  ["role-rag", "entities"], ["amadeus", "selection"], ["amadeus", "attributes"]];

export const methodOf = (evidence) => MARKS.find(([, name]) => evidence?.[name])?.[0] ?? "";
export const howIt = (method) => (has(`how_${method}`) ? t(`how_${method}`) : "");

// The methods of a role, and that which needs nothing but its profile.
export const withProfile = (methods) => (methods.some((one) => one.id === "profile") ? methods : [...methods, { id: "profile", lacks: [] }]);

export const fitting = (methods, chosen) =>
  (methods.find((one) => one.id === chosen && !one.lacks.length) ?? methods.find((one) => !one.lacks.length) ?? methods[0])?.id ?? chosen;

export function methodSelect(select, methods, chosen) {
  select.replaceChildren(...methods.map((one) => {
    const does = has(`does_${one.id}`) ? ` · ${t(`does_${one.id}`)}` : "";
    const lacks = one.lacks.length ? ` (${t("lacks", { what: one.lacks.map((what) => t(`lacks_${what}`)).join(", ") })})` : "";
    return h("option", { value: one.id, disabled: Boolean(one.lacks.length) }, `${methodName(one.id)}${does}${lacks}`);
  }));
  select.value = fitting(methods, chosen);
}
