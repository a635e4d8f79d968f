// Memories, and the wheel of emotions that they lie on against the question.

import { h, oneLine, svg } from "./dom.js";
import { t } from "./texts.js";
import { cited } from "./source.js";
import { badge, list, num, section } from "./views.js";

// The emotions in the order of Emotional RAG, which is also their order around Plutchik's circle.
const EMOTIONS = ["joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation"];
const TOP = 10;
const DRAWN = 4; // memories; more lines than these are a tangle
const RADIUS = 78;

const place = (at, score) => {
  const angle = ((90 - 45 * at) * Math.PI) / 180;
  const far = (Math.min(TOP, Math.max(0, score)) / TOP) * RADIUS;
  return [far * Math.cos(angle), -far * Math.sin(angle)];
};
const points = (scores) => EMOTIONS.map((name, at) => place(at, scores[name] ?? 0).map((one) => one.toFixed(1)).join(",")).join(" ");
const strongest = (scores, most = 2) =>
  EMOTIONS.filter((name) => scores[name] > 0).sort((a, b) => scores[b] - scores[a]).slice(0, most).map((name) => `${t(name)} ${scores[name]}`).join(", ");

export function memoryViews(evidence, go, open) {
  const { mood, memories, episodes } = evidence;
  if (!mood && !memories) return null;
  const felt = Object.fromEntries(Object.entries(mood?.emotions ?? {}).map(([name, one]) => [name, one?.score ?? 0]));
  const found = memories ?? [];
  return [
    section(t("mood"), [
      Object.keys(felt).length || found.some((one) => one.emotions) ? wheel(felt, found) : null,
      Object.keys(felt).length ? h("p", {}, strongest(felt, 4)) : null,
    ]),
    section(t("memories"), [
      found.length ? list(found.map((one, at) => memory(one, at, open))) : null,
      evidence.memories_left_out ? h("p", { class: "warning" }, t("no_room", { n: evidence.memories_left_out })) : null,
      evidence.lost_memories ? h("p", { class: "warning" }, t("lost", { n: evidence.lost_memories })) : null,
    ]),
  ];
}

function wheel(felt, found) {
  const drawn = found.filter((one) => one.emotions).slice(0, DRAWN);
  const label = t("wheel", { question: strongest(felt, 3), n: drawn.length });
  return h("figure", {},
    svg("svg", { viewBox: "-130 -100 260 200", role: "img", "aria-label": label, class: "wheel" },
      [2.5, 5, 7.5, 10].map((ring) => svg("circle", { r: (ring / TOP) * RADIUS, class: "ring" })),
      EMOTIONS.map((name, at) => {
        const [x, y] = place(at, TOP);
        const anchor = { "-1": "end", 0: "middle", 1: "start" }[Math.sign(Math.round(x / 10))];
        return [
          svg("line", { x2: x, y2: y, class: "ring" }),
          svg("text", { x: x * 1.08, y: y * 1.12 + 3, "text-anchor": anchor }, t(name)),
        ];
      }),
      drawn.map((one, at) => svg("polygon", { points: points(one.emotions), class: `mood memory m${at}` })),
      Object.keys(felt).length ? svg("polygon", { points: points(felt), class: "mood asked" }) : null));
}

function memory(one, at, open) {
  const canon = one.canon ?? true;
  return h("li", {},
    at < DRAWN && one.emotions ? h("span", { class: `dot m${at}`, "aria-hidden": "true" }) : null,
    h("div", { class: "marks" },
      canon ? null : badge(t("from_here")), one.pinned ? badge(t("pinned")) : null,
      badge(one.emotions ? strongest(one.emotions) : t("unknown_mood"))),
    h("p", { class: "text" }, oneLine(one.text ?? one.memory, 600)),
    h("p", { class: "faint" },
      t("distances", { semantic: num(one.semantic), emotional: num(one.emotional), score: num(one.score) }),
      one.when ? ` · ${oneLine(one.when, 80)}` : ""),
    canon ? cited(one, open) : null);
}
