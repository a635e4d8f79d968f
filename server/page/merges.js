// A plan of which names become one: what the model said yes and no to, and what comes of a decision.

import { button, h, oneLine } from "./dom.js";
import { t } from "./texts.js";
import { badge, meter, num, section } from "./views.js";

export function mergeView(told, { role, name, may, decide }) {
  const title = t("merges");
  if (told.error) return section(title, [h("p", { class: "warning", role: "alert" }, t("plan_broken", { message: told.error }))]);
  if (!told.plan) return section(title, [h("p", { class: "faint" }, t("no_plan", { role }))]);
  const chosen = new Set();
  const merge = button("", () => decide(told.plan, [...chosen]), { class: "main" });
  const label = () => {
    merge.textContent = t("merge", { n: chosen.size });
    merge.disabled = !chosen.size;
  };
  label();
  const rows = told.merges.map((one) => {
    const tick = h("input", { type: "checkbox", disabled: !may, onchange: () => (tick.checked ? chosen.add(one.number) : chosen.delete(one.number), label()) });
    return h("li", {},
      h("label", { class: "choice" }, tick, h("span", {}, h("b", {}, oneLine(one.name, 120)), h("span", { class: "line" }, t("one_of", { names: one.names.join(", ") })))),
      one.why.length ? h("details", {}, h("summary", {}, t("what_was_said", { n: one.why.length })), h("ul", { class: "found" }, one.why.map(pair))) : null);
  });
  return section(title, [
    h("p", {}, t("plan_waits", { n: told.merges.length, name })),
    h("ul", { class: "choices" }, rows),
    told.apart.length ? h("details", {}, h("summary", {}, t("kept_apart", { n: told.apart.length })), h("ul", { class: "found" }, told.apart.map(pair))) : null,
    may ? h("p", {}, t("merging_means")) : h("p", { class: "warning" }, t("read_only")),
    may ? h("div", { class: "tools" }, merge, button(t("merge_none"), () => decide(told.plan, []))) : null,
  ], { class: "merges" });
}

// What was said of two names.
const pair = (one) => h("li", {},
  h("div", { class: "marks" }, h("b", {}, one.names.map((name) => oneLine(name, 80)).join(" = ")), badge(t(one.same ? "same" : "not_same"), one.same ? "good" : "bad"),
    typeof one.certainty === "number" ? meter(one.certainty, 0, 1, t("sure", { n: num(one.certainty) })) : null,
    typeof one.similarity === "number" ? meter(one.similarity, 0, 1, t("alike", { n: num(one.similarity) })) : null),
  one.reason ? h("p", { class: "faint" }, oneLine(one.reason, 300)) : null);
