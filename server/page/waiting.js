// Changes of who the role is: those that a turn waits for, and those that a person writes into the role's chronicle.

import { button, h, oneLine } from "./dom.js";
import { t } from "./texts.js";
import { badge, num } from "./views.js";

/* What waits on a thread, with what comes of each answer said before the buttons; nothing where nothing waits.
   `answered` gets the numbers that are approved. */
export function waitingView(waiting, name, answered) {
  const { changes, others } = waiting;
  if (!changes.length) return others ? [h("p", { class: "warning" }, t("waits_otherwise"))] : [];
  const [rows, approve] = choices(changes, "approve", answered, (one) => [
    [one.replaces, one.replaces_too].filter(Boolean).map(insteadOf),
    h("small", { class: "line" }, t("shown_by", { text: oneLine(one.evidence, 300), salience: num(one.salience), sure: num(one.confidence) })),
  ]);
  return [
    h("h2", {}, t("waits_for_you", { name })),
    rows,
    h("p", {}, t("approving_means", { name })),
    h("div", { class: "tools" }, approve, button(t("refuse"), () => answered([]))),
  ];
}

/* What the role has become in a talk and its chronicle does not say, for who may write it there; `accepted` gets the
   numbers of what is ticked. */
export function becameView(became, name, accepted) {
  if (!became.changes || !became.data.length) return [];
  const [rows, save] = choices(became.data, "save_chronicle", accepted, (one) => [
    one.replaces.map(insteadOf),
    h("small", { class: "line" }, t("since", { day: oneLine(one.since, 20) })),
  ]);
  return [
    h("details", {},
      h("summary", {}, t("became_here", { name, n: became.data.length })),
      rows,
      h("p", {}, t("saving_means", { name })),
      h("div", { class: "tools" }, save)),
  ];
}

const insteadOf = (old) =>
  h("span", { class: "line" }, t("instead_of", { triple: oneLine(old.sentence, 400) }), " ", old.core ? badge(t("core"), "some") : null);

// Changes to be ticked, and the button that is about those that are.
function choices(changes, text, done, below) {
  const chosen = new Set();
  const go = button("", () => done([...chosen]), { class: "main" });
  const label = () => {
    go.textContent = t(text, { n: chosen.size });
    go.disabled = !chosen.size;
  };
  const rows = changes.map((one) => {
    const tick = h("input", { type: "checkbox", onchange: () => (tick.checked ? chosen.add(one.number) : chosen.delete(one.number), label()) });
    return h("li", {}, h("label", { class: "choice" }, tick, h("span", {}, h("b", {}, oneLine(one.sentence, 400)), below(one))));
  });
  label();
  return [h("ul", { class: "choices" }, rows), go];
}
