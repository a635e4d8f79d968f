// What a turn waits for: changes of who the role is, which a person approves or refuses.

import { button, h, oneLine } from "./dom.js";
import { t } from "./texts.js";
import { badge, num } from "./views.js";

/* What waits on a thread, with what comes of each answer said before the buttons; nothing where nothing waits.
   `answered` gets the numbers that are approved. */
export function waitingView(waiting, name, answered) {
  const { changes, others } = waiting;
  if (!changes.length) return others ? [h("p", { class: "warning" }, t("waits_otherwise"))] : [];
  const chosen = new Set();
  const approve = button("", () => answered([...chosen]), { class: "main" });
  const label = () => {
    approve.textContent = t("approve", { n: chosen.size });
    approve.disabled = !chosen.size;
  };
  const rows = changes.map((one) => {
    const tick = h("input", { type: "checkbox", onchange: () => (tick.checked ? chosen.add(one.number) : chosen.delete(one.number), label()) });
    return h("li", {}, h("label", { class: "choice" }, tick, h("span", {},
      h("b", {}, oneLine(one.sentence, 400)),
      [one.replaces, one.replaces_too].filter(Boolean).map((old) => h("span", { class: "line" },
        t("instead_of", { triple: oneLine(old.sentence, 400) }), " ", old.core ? badge(t("core"), "some") : null)),
      h("small", { class: "line" }, t("shown_by", { text: oneLine(one.evidence, 300), salience: num(one.salience), sure: num(one.confidence) })))));
  });
  label();
  return [
    h("h2", {}, t("waits_for_you", { name })),
    h("ul", { class: "choices" }, rows),
    h("p", {}, t("approving_means", { name })),
    h("div", { class: "tools" }, approve, button(t("refuse"), () => answered([]))),
  ];
}
