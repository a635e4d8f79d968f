// Why a reply is as it is: a view for each kind of evidence, in words; what has another form is named and left aside.

import { h, oneLine } from "./dom.js";
import { identityViews, relationViews, sketch } from "./persons.js";
import { howIt, methodName, methodOf } from "./methods.js";
import { memoryViews } from "./moods.js";
import { talkViews } from "./remembered.js";
import { cited } from "./source.js";
import { t } from "./texts.js";
import { badge, capped, list, meter, num, section } from "./views.js";

const HOW = "dramaturg-how"; // whether how a method works stands open
const MECHANISMS = [
  "dialogues", "entities", "episodes", "identity", "knowledge", "memories", "relations", "retrieved", "selection", "slips",
  "talk",
];

/* A sentence first, then how the method works, then the parts; what machines count is folded. Where
   they are given, `go` shows a turn of a talk, and `open` the document that a piece of evidence is from. */
export function whyView(turn, go = null, open = null, of = {}) {
  const evidence = turn.evidence && typeof turn.evidence === "object" ? turn.evidence : {};
  const parts = of.scene ? lineViews(evidence, of, go, open) : partViews(evidence, go, open);
  const cost = tried("usage", () => costView(turn.usage ?? {}));
  const sentence = h("p", { class: "because" }, turn.why || t("no_evidence"));
  if (!parts.length && !cost) return [sentence];
  const method = methodOf(evidence);
  const how = howIt(method) ? h("details", { class: "how", open: localStorage.getItem(HOW) !== "closed", ontoggle: ({ target }) => localStorage.setItem(HOW, target.open ? "open" : "closed") }, h("summary", {}, t("how_it_works", { method: methodName(method) })), h("p", {}, howIt(method))) : null;
  const rest = h("details", { class: "rest" }, h("summary", {}, t("rest")));
  rest.addEventListener("toggle", () => {
    if (rest.open && rest.children.length === 1) {
      rest.append(h("pre", { tabindex: "0" }, JSON.stringify({ evidence, usage: turn.usage }, null, 1).slice(0, 200_000)));
    }
  });
  return [sentence, how, ...parts, h("details", { class: "rest counted" }, h("summary", {}, t("details")), cost, rest)].filter(Boolean);
}

// Of a scene, each line has its own reasons, and what was kept from who says it.
function lineViews(evidence, scene, go, open) {
  const entries = Object.entries(evidence);
  const ofLines = entries.filter(([, value]) => value && typeof value === "object");
  return [fellBack(Object.fromEntries(entries.filter((one) => !ofLines.includes(one)))), ...ofLines.map(([name, value]) => {
    const id = name.split(" ")[0];
    const kept = value.not_heard ?? [];
    const who = scene.cast.find((one) => one.id === id)?.name ?? id;
    const inside = [kept.length ? h("p", {}, t("not_heard", { name: who, n: kept.length })) : null, partViews(value, go, open && ((one) => open(one, id)))].flat().filter(Boolean);
    return section(oneLine(name.replace(id, who), 60), inside.length ? inside : [h("p", { class: "faint" }, t("line_alone", { name: who }))], { class: "part" });
  })].filter(Boolean);
}

function partViews(evidence, go, open) {
  const found = [];
  for (const [name, view] of Object.entries(VIEWS)) {
    found.push(tried(name, () => view(evidence, go, open)));
  }
  for (const [name, value] of Object.entries(evidence)) {
    if (!value || typeof value !== "object" || Array.isArray(value)) continue;
    if (MECHANISMS.some((one) => one in value) && !MECHANISMS.includes(name)) {
      found.push(section(oneLine(name, 60), partViews(value, go, open), { class: "part" }));
    } else if (name !== "gate" && Array.isArray(value.attempts)) {
      found.push(tried(name, () => checkedView(name, value.attempts)));
    }
  }
  return found.flat().filter(Boolean);
}

function tried(name, view) {
  try {
    return view();
  } catch {
    return h("p", { class: "warning" }, t("not_shown", { name }));
  }
}

/* What went wrong, wherever it stands in the evidence, first. */
function fellBack(evidence) {
  const found = [];
  const look = (value, place, depth) => {
    if (depth > 6 || found.length > 20 || !value || typeof value !== "object") return;
    for (const [name, one] of Object.entries(value)) {
      const says = name.replaceAll("_", " ");
      const error = says === "error" || says.endsWith(" error");
      if (error && typeof one === "string" && one) {
        const what = says.replace(/ ?error$/, "") || place;
        found.push(h("li", {}, t("fell", { what, message: oneLine(one, 400) })));
      } else if (!MECHANISMS.some((kind) => one && typeof one === "object" && kind in one)) {
        look(one, Array.isArray(value) ? place : says, depth + 1);
      }
    }
  };
  look(evidence, "", 0);
  for (const name of ["warning", "graph_warning", "documents_warning", "speakers_warning"]) if (evidence[name]) found.push(h("li", {}, oneLine(evidence[name], 400)));
  return found.length ? section(t("fell_back"), [h("ul", {}, found)], { class: "warning" }) : null;
}

function joined(evidence) {
  const { parts, grounds, not_yet, not_told } = evidence;
  const counted = (...kinds) => kinds.flatMap((one) => Object.values(one ?? {})).reduce((sum, one) => sum + Number(one), 0);
  const [later, secret] = [counted(not_yet?.later, not_yet?.not_comparable), counted(not_told)];
  return [
    later ? h("p", { class: "faint" }, t("not_yet", { day: oneLine(not_yet.as_of, 200), n: later })) : null,
    secret ? h("p", { class: "faint" }, t("not_told", { n: secret })) : null,
    parts?.length ? h("p", { class: "faint" }, t("parts", { names: parts.join(", ") })) : null,
    grounds ? h("p", { class: "faint" }, t("grounds", { n: Number(grounds.tokens).toLocaleString() })) : null,
  ];
}

// A passage: how it was scored, what was said of it, and where it stands; all of it when it is opened.
function passage(one, verdict, open) {
  const text = String(one.text ?? "");
  const points = one.confidence ?? one.score;
  return h("li", {},
    h("div", { class: "marks" },
      badge(verdict ? t("helps") : one.verdict, "good"),
      typeof points === "number" ? meter(points, 0, 1, t("score", { n: num(points) })) : null,
      verdict && typeof verdict.certainty === "number" ? meter(verdict.certainty, 0, 1, t("sure", { n: num(verdict.certainty) })) : null),
    text.length > 240
      ? h("details", { class: "quoted" }, h("summary", {}, h("span", { class: "start" }, oneLine(text, 200))), h("blockquote", { class: "text" }, text))
      : h("blockquote", { class: "text" }, text),
    cited(one, open));
}

function passages(evidence, go, open) {
  const { selection, retrieved, knowledge } = evidence;
  const found = [];
  if (retrieved) {
    found.push(h("p", {}, t("retrieved", { action: String(evidence.action ?? retrieved.length) })), list(retrieved.map((one) => passage(one, null, open))));
    if (evidence.web_search) found.push(h("p", { class: "faint" }, t("web", { text: oneLine(evidence.web_search) })));
  }
  const nearest = knowledge?.length ? list(knowledge.map((one) => passage(one, null, open))) : null;
  if (nearest && !selection) found.push(h("h4", {}, t("nearest")), nearest);
  if (selection) {
    const verdicts = new Map((selection.verdicts ?? []).map((one) => [one.passage, one]));
    const kept = new Set(selection.selected.map((one) => one.passage));
    const others = [...verdicts.values()].filter((one) => !kept.has(one.passage));
    if (selection.fallback) found.push(h("p", { class: "warning" }, t("stand_in", { fallback: selection.fallback })));
    found.push(list(selection.selected.map((one) => passage(one, verdicts.get(one.passage), open))));
    found.push(h("p", { class: "faint" }, t("judged", { n: selection.judged, chosen: selection.selected.length })));
    if (others.length) {
      found.push(h("details", {}, h("summary", {}, t("refused_passages", { n: others.length })),
        list(others.map((one) => h("li", {}, oneLine(one.passage), " ", badge(t("helps_not"), "bad"),
          typeof one.certainty === "number" ? meter(one.certainty, 0, 1, t("sure", { n: num(one.certainty) })) : null)))));
    }
  }
  if (nearest && selection) found.push(h("details", {}, h("summary", {}, `${t("nearest")}: ${knowledge.length}`), nearest));
  return found.length ? section(t("passages"), found) : null;
}

function attributes(evidence) {
  const now = evidence.attributes ?? [];
  const known = now.map((one) => one.attribute);
  const before = (evidence.role_memory ?? []).filter((one) => !known.includes(one.attribute));
  return [
    now.length ? section(t("attributes"), [list(now.map((one) => h("li", {}, one.attribute, " ", badge(String(one.kind).replaceAll("_", " ")))))]) : null,
    before.length ? section(t("role_memory"), [list(before.map((one) => h("li", {}, one.attribute)))]) : null,
  ];
}

function scope(evidence, go, open) {
  const found = [];
  for (const name of ["question", "hypothetical"]) {
    if (evidence[name]) found.push(h("p", {}, h("b", {}, `${t(name === "question" ? "understood" : name)}: `), oneLine(evidence[name], 600)));
  }
  found.push(touched(evidence));
  if (evidence.entities) found.push(list(evidence.entities.map(entity)));
  for (const one of evidence.asked_again ?? []) {
    found.push(h("p", { class: "faint" }, t("asked_again", { name: one.name, outcome: t(one.stands ? "stands_out" : "stands_in") })));
  }
  if (evidence.missing?.length) found.push(h("p", { class: "warning" }, t("missing", { names: evidence.missing.join(", ") })));
  const recalled = ["specific", "general", "reached"].flatMap((name) => evidence[name] ?? []);
  if (recalled.length) found.push(h("h4", {}, t("recalled")), list(recalled.map(recalledOne)));
  if (evidence.followed?.length) {
    found.push(h("h4", {}, t("followed")), list(evidence.followed.map((one) => h("li", {},
      h("b", {}, `${one.source} – ${one.target}`), " ", meter(one.strength, 0, 10, t("strength", { n: num(one.strength) })), h("p", { class: "text" }, oneLine(one.description, 400))))));
  }
  if (evidence.sentences?.length) {
    found.push(h("h4", {}, t("sentences")), list(evidence.sentences.map((one) => h("li", {},
      one.score === null ? null : meter(one.score, 0, 1, t("score", { n: num(one.score) })), h("p", { class: "text" }, one.text), cited(one, open)))));
  }
  return found.length ? section(t("scope"), found) : null;
}

// The part of the graph that the reply touched: what the message is about, what was recalled, and how it is related.
function touched({ entities = [], specific = [], general = [], reached = [], followed = [] }) {
  const recalled = capped([...specific, ...general, ...reached]);
  const edges = capped([...followed, ...recalled.map((one) => one.relation)].filter(Boolean));
  const called = ({ name }) => recalled.find((one) => one.how === "name" && one.asked === name)?.entity ?? name;
  const names = [...edges.flatMap((one) => [one.source, one.target]), ...recalled.map((one) => one.entity)];
  const types = new Map(names.map((name) => [name, "recalled"]));
  for (const one of capped(entities)) types.set(called(one), one.strategy === "out of scope" ? "out" : "in");
  const drawn = sketch(types, edges, { in: "--good", out: "--bad", recalled: "--faint" });
  const seen = new Set(types.values());
  const signs = [["in", "stands_in", "good"], ["out", "out", "bad"], ["recalled", "recalled", ""]].filter(([type]) => seen.has(type));
  return drawn && [drawn, h("p", { class: "marks" }, signs.map(([, name, kind]) => badge(t(name), kind)))];
}

function entity(one) {
  const out = one.strategy === "out of scope";
  const kind = out ? t("out") : ["specific", "general"].includes(one.strategy) ? t(one.strategy) : one.strategy;
  return h("li", { class: out ? "outside" : null },
    h("b", {}, one.name), " ", badge(kind, out ? "bad" : "good"), " ", badge(one.type),
    typeof one.certainty === "number" ? meter(one.certainty, 0, 1, t("knows", { n: num(one.certainty) })) : null,
    one.reason ? h("p", { class: "faint" }, oneLine(one.reason, 300)) : null);
}

const recalledOne = (one) =>
  h("li", {},
    h("b", {}, one.entity), " ", one.score === null || one.score === undefined ? null : meter(one.score, 0, 1, t("score", { n: num(one.score) })),
    h("p", { class: "text" }, oneLine(one.description, 400)),
    one.relation && one.relation.description !== one.description
      ? h("p", { class: "faint" }, `${t("strength", { n: one.relation.strength })}: ${oneLine(one.relation.description, 300)}`) : null);

function slips(evidence) {
  if (!evidence.slips?.length) return null;
  const named = { dropped: "dropped", spoken: "slip_spoken", cut: "slip_cut", ended: "slip_ended" };
  return section(t("slips"), [list(evidence.slips.map((one) => h("li", {}, badge(t(named[one.outcome] ?? "dropped")), " ", h("q", {}, oneLine(one.text, 300)))))]);
}

const checkedView = (name, attempts) =>
  section(t("checked", { name }), [list(attempts.map((one) => h("li", {}, badge(one.verdict), " ", h("q", {}, oneLine(one.text, 300)), h("p", { class: "faint" }, oneLine(one.reason, 300)))))]);

const fitted = ({ fitted: gone }) =>
  gone && typeof gone === "object" ? section(t("fitted"), [h("p", { class: "faint" }, Object.entries(gone).map(([kind, n]) => `${kind}: ${Number(n)}`).join(", "))]) : null;

const thoughts = ({ thoughts: text }) =>
  text ? h("details", { class: "rest" }, h("summary", {}, t("thoughts")), h("p", { class: "text" }, String(text))) : null;

const noted = ({ facts, summary }) => [
  facts?.length ? section(t("facts"), [list(facts.map((one) => h("li", {},
    oneLine(one.text, 400), one.replaces.map((old) => h("p", { class: "faint" }, t("instead_of", { triple: oneLine(old, 400) }))))))]) : null,
  summary ? section(t("summary"), [h("p", { class: "text" }, String(summary))]) : null,
];

const VIEWS = { errors: fellBack, parts: joined, talk: talkViews, passages, attributes, scope, memories: memoryViews, relations: relationViews, identity: identityViews, slips, thoughts, fitted, noted };

const COSTS = ["calls", "cached", "failures", "prompt_tokens", "completion_tokens", "thought_tokens", "seconds"];

// What each node asked of the model, as a table.
function costView(usage) {
  const nodes = Object.entries(usage).filter(([, one]) => one && typeof one === "object");
  if (!nodes.length) return null;
  const shown = COSTS.filter((name) => name !== "thought_tokens" || nodes.some(([, one]) => one.thought_tokens));
  const cell = (name, value) => (typeof value === "number" ? value.toLocaleString(undefined, { maximumFractionDigits: name === "seconds" ? 2 : 0 }) : "–");
  return section(t("cost"), [
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": t("cost") },
      h("table", {},
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("node")), shown.map((name) => h("th", { scope: "col" }, t(name))))),
        h("tbody", {}, capped(nodes, 60).map(([node, one]) => h("tr", {}, h("th", { scope: "row" }, node), shown.map((name) => h("td", {}, cell(name, one[name])))))))),
  ]);
}
