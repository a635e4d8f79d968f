// Relations, drafts, identity and its gate.

import { h, oneLine } from "./dom.js";
import { graphView } from "./graph.js";
import { cited } from "./source.js";
import { titled } from "./talks.js";
import { t } from "./texts.js";
import { badge, difference, list, meter, num, section } from "./views.js";

const HIGH = 5; // of a score of two roles, or of a draft
const DRAWN = 12; // roles in a picture

export function relationViews(evidence, go, open) {
  const { relations, dialogues, records, earlier_records: earlier, drafts } = evidence;
  return [
    relations ? section(t("relations"), cliqueView(relations)) : null,
    dialogues?.length ? section(t("dialogues"), [list(dialogues.map((one) => dialogue(one, open)))]) : null,
    earlier?.length
      ? section(t("earlier_records"), [list(earlier.map((one) => h("li", {}, oneLine(one.text, 600), " ", badge(titled(one.talk)))))])
      : null,
    records?.length ? section(t("records"), [list(records.map((one) => h("li", {}, oneLine(one.text, 600))))]) : null,
    drafts?.length ? section(t("drafts"), draftViews(drafts, evidence.verification ?? {})) : null,
  ];
}

function cliqueView(relations) {
  const clique = relations.clique ?? [];
  if (!clique.length) return [h("p", {}, t("stranger"))];
  const edges = relations.edges ?? [];
  const two = [relations.user_role, relations.role];
  return [
    clique.length <= DRAWN ? sketch(new Map(clique.map((name) => [name, two.includes(name) ? "two" : "others"])),
      edges.map(({ roles = [], score: strength }) =>
        ({ source: roles[0], target: roles[1], strength, kind: typeof strength === "number" ? "" : "unscored" })),
      { two: "--own", others: "--faint" }, { strongest: HIGH, stroke: 4 }) : null,
    h("p", {}, t("clique", { n: clique.length, names: clique.join(", ") })),
    list(edges.map((one) => h("li", {},
      h("b", {}, (one.roles ?? []).join(" – ")), " ",
      typeof one.score === "number" ? meter(one.score, 0, HIGH, `${num(one.score)}`) : badge(t("no_score")),
      one.reason ? h("p", { class: "faint" }, oneLine(one.reason, 300)) : null))),
    relations.unscored ? h("p", { class: "warning" }, t("unscored", { n: relations.unscored })) : null,
  ];
}

const dialogue = (one, open) =>
  h("li", {},
    h("p", { class: "text" }, oneLine(one.text, 600)),
    h("p", { class: "faint" }, [one.speakers?.join(", "), one.scene, one.revision ? t("revision", { n: one.revision }) : "",
      typeof one.similarity === "number" ? t("score", { n: num(one.similarity) }) : ""].filter(Boolean).join(" · ")),
    cited(one, open));

function draftViews(drafts, outcome) {
  const shown = drafts.map((one, at) => h("li", {},
    h("div", { class: "marks" },
      h("b", {}, t("draft", { n: at + 1 })),
      at === outcome.spoken ? badge(t("spoken"), "good") : null,
      typeof one.score === "number" ? meter(one.score, 0, HIGH, `${num(one.score)} / ${HIGH}`) : badge(t("no_score"))),
    at === 0
      ? h("p", { class: "text" }, String(one.text ?? ""))
      : h("p", { class: "text", "aria-label": t("change"), role: "group" }, difference(drafts[at - 1].text ?? "", one.text ?? "")),
    one.reason ? h("p", { class: "faint" }, oneLine(one.reason, 400)) : null));
  return [
    typeof outcome.alpha === "number" ? h("p", { class: "faint" }, t("passes", { n: num(outcome.alpha) })) : null,
    list(shown),
    outcome.passed === false ? h("p", { class: "warning" }, t("none_passed")) : null,
  ];
}

export function identityViews(evidence) {
  const { identity, gate, episodes, plan, feeling, identity_changes: changes } = evidence;
  return [
    identity ? section(t("identity"), identityView(identity)) : null,
    episodes?.length ? section(t("episodes"), [list(episodes.map((one) => h("li", {},
      h("p", { class: "text" }, oneLine(one.text, 400)),
      h("p", { class: "faint" }, [one.at, t("salience", { n: num(one.salience) })].filter(Boolean).join(" · "))))),
      evidence.episodes_left_out ? h("p", { class: "warning" }, t("no_room", { n: evidence.episodes_left_out })) : null]) : null,
    plan ? section(t("plan"), [h("p", {}, oneLine(plan, 600))]) : null,
    feeling ? section(t("feeling"), [h("p", {}, oneLine(feeling, 300))]) : null,
    gate?.attempts?.length ? section(t("gate"), [list(gate.attempts.map(attempt))]) : null,
    changes?.length ? section(t("became"), [list(changes.map(change))]) : null,
    evidence.declined ? h("p", { class: "warning" }, t("declined", { n: evidence.declined })) : null,
  ];
}

function identityView(identity) {
  if (identity.text) return [h("p", { class: "text" }, String(identity.text))];
  const triples = identity.triples ?? [];
  const how = ["strategy", "similarity", "all", "inferred"].includes(identity.how) ? t(`how_${identity.how}`) : String(identity.how ?? "");
  return [
    h("p", { class: "faint" }, t("triples", { n: triples.length, how })),
    list(triples.map((one) => h("li", {},
      oneLine(one.sentence, 300), " ", one.core ? badge(t("core"), "good") : null, one.neighbour ? badge(t("neighbour")) : null, badge(one.kind),
      one.source ? h("p", { class: "faint" }, oneLine(one.source, 80)) : null))),
    identity.left_out ? h("p", { class: "warning" }, t("triples_left_out", { n: identity.left_out })) : null,
    identity.not_held?.triples?.length
      ? h("p", { class: "faint" }, t("not_held", { day: oneLine(identity.not_held.as_of, 200), n: identity.not_held.count ?? 0,
        triples: oneLine(identity.not_held.triples.map((one) => one.sentence ?? "").join(" "), 600) }))
      : null,
  ];
}

const KINDS = { allow: "good", revise: "some", block: "bad" };

const attempt = (one) =>
  h("li", {},
    h("div", { class: "marks" },
      badge(one.error ? t("unchecked") : one.verdict in KINDS ? t(one.verdict) : one.verdict, KINDS[one.verdict] ?? ""),
      typeof one.probability === "number" ? meter(one.probability, 0, 1, t("sure", { n: num(one.probability) })) : null),
    h("p", { class: "text" }, oneLine(one.text, 600)),
    one.triple ? h("p", {}, t("against", { triple: one.triple.sentence ?? "" }), " ", one.triple.core ? badge(t("core"), "good") : null) : null,
    one.reason ? h("p", { class: "faint" }, oneLine(one.reason, 400)) : null);

const change = (one) =>
  h("li", {},
    oneLine(one.sentence, 300),
    [one.replaces, one.replaces_too].filter(Boolean).map((old) => h("p", { class: "faint" }, t("instead_of", { triple: old.sentence ?? "" }))));

/* What belongs together, as a small graph: each of `types` {name: type} on a circle, and who is at the end of most lines
   in the middle. `edges` have a `source` and a `target`; one alone is not drawn. */
export function sketch(types, edges, colours, given = {}) {
  const names = [...types.keys()];
  if (names.length < 2) return null;
  const lines = edges.map((one) => ({ ...one, a: names.indexOf(one.source), b: names.indexOf(one.target) }))
    .filter(({ a, b }) => a >= 0 && b >= 0);
  const counts = names.map((_, at) => lines.filter(({ a, b }) => a === at || b === at).length);
  const most = Math.max(...counts);
  const middle = most > 2 && counts.indexOf(most) === counts.lastIndexOf(most) ? counts.indexOf(most) : -1;
  const around = names.filter((_, at) => at !== middle);
  const nodes = names.map((name, at) => {
    const angle = (2 * Math.PI * around.indexOf(name)) / around.length;
    const far = at === middle ? 0 : 70 + 5 * around.length;
    return { name, type: types.get(name), r: 9, x: -1.5 * far * Math.cos(angle), y: far * Math.sin(angle) };
  });
  return h("figure", {}, graphView({ nodes, edges: lines, types: colours, ...given }, t, null, true).element);
}
