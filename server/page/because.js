// Why a reply is as it is, in one plain sentence; and in three, how the method works that made it.

import { oneLine } from "./dom.js";
import { has, language, t } from "./texts.js";

const MARKS = [["ensemble", "parts"], ["id-rag", "gate"], ["id-rag", "identity"], ["drmr", "relations"], ["emotional-rag", "mood"],
  ["role-rag", "entities"], ["amadeus", "selection"], ["amadeus", "attributes"]];

export const methodOf = (evidence) => MARKS.find(([, name]) => evidence?.[name])?.[0] ?? "";
export const howIt = (method) => (has(`how_${method}`) ? t(`how_${method}`) : "");

const joined = (all) => new Intl.ListFormat(language, { type: "conjunction" }).format(all);
const array = (value) => (Array.isArray(value) ? value : []);
const file = (one) => oneLine(String(one?.source ?? "").split("/").pop(), 40);
const some = (names, most = 3) => {
  const all = [...new Set(names.filter(Boolean))];
  return all.length > most ? t("and_others", { names: all.slice(0, most).join(", "), n: all.length - most }) : joined(all);
};
const counted = (text, n) => t(n === 1 ? text : `${text}s`, { n });

// What a reply rests on, as parts of a sentence; a flow of several methods has them below its own names.
function rests(evidence, name) {
  const found = [];
  const kept = array(evidence.selection?.selected).length ? array(evidence.selection.selected) : array(evidence.retrieved).length ? array(evidence.retrieved) : array(evidence.knowledge);
  if (kept.length) found.push(t("rests_of", { what: counted("rests_passage", kept.length), of: some(kept.map(file)) }));
  const known = array(evidence.entities).filter((one) => one?.strategy !== "out of scope").map((one) => oneLine(one?.name, 40));
  if (known.length) found.push(t("rests_known", { names: some(known) }));
  if (array(evidence.memories).length) found.push(counted("rests_memory", evidence.memories.length));
  const others = array(evidence.relations?.clique).filter((one) => one !== evidence.relations.role);
  if (others.length) found.push(t("rests_relations", { name, names: some(others) }));
  if (array(evidence.dialogues).length) found.push(counted("rests_scene", evidence.dialogues.length));
  if (array(evidence.identity?.triples).length) found.push(counted("rests_fact", evidence.identity.triples.length));
  return found;
}

const within = (evidence) => Object.values(evidence).filter((one) => one && typeof one === "object" && !Array.isArray(one));

/* One sentence about a turn; `name` is the role's. */
export function because(turn, name) {
  const evidence = turn?.evidence && typeof turn.evidence === "object" ? turn.evidence : {};
  const found = rests(evidence, name);
  for (const one of within(evidence)) for (const line of rests(one, name)) if (!found.includes(line)) found.push(line);
  const talk = array(evidence.talk);
  const said = talk.filter((one) => !(one?.place < 0));
  if (said.length) found.push(said.length === 1 && said[0].when ? t("rests_said_when", { when: oneLine(said[0].when, 40) }) : counted("rests_said_time", said.length));
  if (talk.length > said.length) found.push(t("rests_note"));
  const sentences = [Object.keys(evidence).length || found.length ? (found.length ? t("rests_on", { things: joined(found) }) : t("rests_on_profile", { name })) : t("no_evidence")];
  const outside = array(evidence.entities).filter((one) => one?.strategy === "out of scope").map((one) => oneLine(one.name, 40));
  if (outside.length) sentences.push(t("cannot_know", { name, names: some(outside) }));
  const all = [evidence, ...within(evidence)];
  const refused = all.reduce((sum, one) => sum + Math.max(0, array(one.drafts).length - 1) + array(one.gate?.attempts).filter((other) => ["revise", "block"].includes(other?.verdict)).length, 0);
  if (refused) sentences.push(counted("rejected_draft", refused));
  return sentences.join(" ");
}
