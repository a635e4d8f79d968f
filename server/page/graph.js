// A graph on a canvas, to move, to zoom and to choose from. `dramaturg graph` and `relations` write it, too.

import { button, h, oneLine } from "./dom.js";

const LETTER = 13;
const LABELS = 150; // names at once
const MANY = 1500; // nodes and edges: more than are drawn in a frame
const REST = 120; // milliseconds without a movement
const MOVES = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
const ZOOMS = { "+": 1.3, "=": 1.3, "-": 1 / 1.3 };

const redraw = () => document.querySelectorAll(".graph canvas").forEach((one) => one.dispatchEvent(new Event("refresh")));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });

const ends = (one) => (one.a ? [one.a, one.b] : [one, ...one.edges.flatMap((edge) => [edge.a, edge.b])]);

/* Draw `nodes` {name, type, x, y, r} and `edges` {a, b, strength, kind}, whose ends come as numbers and become nodes.
   `types` has colours, or variables of the style; `role` is the number of who is marked. `choose` is told what is
   chosen: a node, an edge or null. What is `small` leaves the wheel to what it stands in until it has the focus. */
export function graphView({ nodes, edges, types, role, strongest = 10, stroke = 1.5 }, t, choose, small) {
  const picture = h("canvas", { tabindex: "0", role: "application", "aria-label": t("graph_hint") });
  const brush = picture.getContext("2d");
  const still = h("canvas"); // what was drawn last, and the view of it
  const view = { x: 0, y: 0, k: 1 }; // a place p of the graph is drawn at p * k + (x, y)
  const state = { chosen: null, hits: null, off: new Set() };
  const held = new Map(); // where fingers are
  const font = `${LETTER}px system-ui, sans-serif`;
  let [across, down, far, drawn, frame, rest, ink, seen, lines] = [0, 0, 0];

  brush.font = font;
  for (const node of nodes) {
    const text = oneLine(node.name, 32);
    const half = brush.measureText(text).width / 2 + 3;
    Object.assign(node, { edges: [], text, half, ring: node === nodes[role] ? 5 : 0 });
  }
  for (const edge of edges) {
    const thick = 0.3 + ((edge.strength ?? 0) / strongest) * stroke;
    Object.assign(edge, { a: nodes[edge.a], b: nodes[edge.b], thick });
    for (const end of new Set(ends(edge))) end.edges.push(edge);
  }
  const byWeight = [...nodes].sort((a, b) => b.ring - a.ring || b.r - a.r);
  const lit = () => (state.chosen ? new Set(ends(state.chosen)) : state.hits && new Set(state.hits));
  const at = (node) => [node.x * view.k + view.x, node.y * view.k + view.y];
  const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

  // Decide what is drawn, and how.
  function refresh() {
    const [shown, { chosen, off }] = [lit(), state];
    const style = getComputedStyle(picture);
    const known = {};
    ink = (name) => (known[name] ??= name.startsWith("--") ? style.getPropertyValue(name) : name);
    seen = nodes.filter((one) => !off.has(one.type));
    lines = edges.filter((one) => !ends(one).some((end) => off.has(end.type)));
    for (const node of seen) Object.assign(node, { dim: shown && !shown.has(node), colour: ink(types[node.type]) });
    for (const edge of lines) {
      const related = chosen && [edge, edge.a, edge.b].includes(chosen);
      const [clique, unscored] = ["clique", "unscored"].map((kind) => edge.kind?.includes(kind));
      edge.dim = shown && !related && (chosen || !ends(edge).every((end) => shown.has(end)));
      edge.dash = unscored ? [5, 4] : [];
      edge.look = {
        globalAlpha: (clique ? 1 : related || unscored ? 0.9 : 0.5) * (edge.dim ? 0.12 : 1),
        strokeStyle: ink(related ? "--own" : clique ? "--good" : "#8a94a0"), lineWidth: unscored ? 1 : edge.thick };
    }
    drawn = null;
    move();
  }

  // Draw after the view has changed; of a large graph the last picture is moved until the hand rests.
  function move() {
    cancelAnimationFrame(frame);
    clearTimeout(rest);
    frame = requestAnimationFrame(drawn ? slide : draw);
    if (drawn) rest = setTimeout(draw, REST);
  }

  function clear(...to) {
    brush.resetTransform();
    brush.clearRect(0, 0, picture.width, picture.height);
    brush.setTransform(...to);
  }

  function slide() {
    const [sharp, by] = [devicePixelRatio, view.k / drawn.k];
    clear(by, 0, 0, by, (view.x - drawn.x * by) * sharp, (view.y - drawn.y * by) * sharp);
    brush.drawImage(still, 0, 0);
  }

  function draw() {
    clear(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    for (const { a, b, look, dash } of lines) {
      Object.assign(brush, look);
      brush.setLineDash(dash);
      brush.beginPath(); // line by line: one path of thousands that cross is slow to fill
      brush.moveTo(...at(a));
      brush.lineTo(...at(b));
      brush.stroke();
    }
    brush.setLineDash([]);
    for (const node of seen) {
      const chosen = node === state.chosen;
      brush.globalAlpha = node.dim ? 0.12 : 1;
      Object.assign(brush, { strokeStyle: ink(chosen ? "--own" : "--ink"), fillStyle: node.colour });
      for (const ring of node.ring ? [node.ring, 0] : [0]) {
        brush.lineWidth = chosen ? 4 : ring ? 3 : 0.7;
        brush.beginPath();
        brush.arc(...at(node), (node.r + ring) * view.k, 0, 7);
        if (!ring) brush.fill();
        brush.stroke();
      }
    }
    drawNames();
    if (nodes.length + edges.length < MANY) return;
    drawn = { ...view };
    Object.assign(still, { width: picture.width, height: picture.height });
    still.getContext("2d").drawImage(picture, 0, 0);
  }

  // Write the names that have room above (-1) or below (1), the most important first.
  function drawNames() {
    const [shown, boxes] = [lit(), []];
    Object.assign(brush, { font, textAlign: "center", lineJoin: "round", globalAlpha: 1 });
    Object.assign(brush, { fillStyle: ink("--ink"), strokeStyle: ink("--raised"), lineWidth: LETTER / 4 });
    for (const node of new Set([...(shown && state.chosen ? shown : []), ...byWeight])) {
      if (boxes.length >= LABELS) break;
      if (state.off.has(node.type) || (shown && !shown.has(node))) continue;
      const [x, y] = at(node);
      for (const side of [-1, 1]) {
        const top = y + side * (node.r + node.ring) * view.k - (side < 0 ? 1.5 * LETTER : 0);
        const box = [x - node.half, top, x + node.half, top + 1.5 * LETTER];
        if (!overlap(box, [0, 0, across, down]) || boxes.some((taken) => overlap(box, taken))) continue;
        boxes.push(box);
        brush.strokeText(node.text, x, top + 1.1 * LETTER);
        brush.fillText(node.text, x, top + 1.1 * LETTER);
        break;
      }
    }
  }

  function zoom(by, x = across / 2, y = down / 2) {
    const k = Math.min(Math.max(view.k * by, 0.02), 20);
    Object.assign(view, { x: x - ((x - view.x) * k) / view.k, y: y - ((y - view.y) * k) / view.k, k });
    move();
  }

  function centre(x, y, k) {
    Object.assign(view, { x: across / 2 - x * k, y: down / 2 - y * k, k });
    move();
  }

  function showAll() {
    const [xs, ys] = ["x", "y"].map((one) => nodes.map((node) => node[one]));
    const [left, right, top, bottom] = [xs, ys].flatMap((all) => [Math.min(...all), Math.max(...all)]);
    const k = Math.min(across / (right - left + 120), down / (bottom - top + 120), 1.5);
    if (nodes.length) centre((left + right) / 2, (top + bottom) / 2, Math.max(k, 0.02));
  }

  // Light up a node or an edge, or with null all; a node is brought to the middle where that is wished.
  function light(one, middle) {
    state.chosen = one;
    if (middle) centre(one.x, one.y, Math.max(view.k, 0.8));
    refresh();
  }

  // What is at a place of the screen: it need not be exact, and what is faint cannot be meant by its line.
  const nearest = (all, most, away) => all.reduce((found, one) => {
    const far = away(one);
    return far < found[1] ? [one, far] : found;
  }, [null, most])[0];
  const nodeAt = (x, y) => nearest(seen, 8, (node) => Math.hypot(at(node)[0] - x, at(node)[1] - y) - node.r * view.k);
  const edgeAt = (x, y) => nearest(lines.filter((one) => !one.dim), 5, (edge) => {
    const [[ax, ay], [bx, by]] = [at(edge.a), at(edge.b)];
    const along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2 || 1);
    const part = Math.min(Math.max(along, 0), 1);
    return Math.hypot(x - ax - part * (bx - ax), y - ay - part * (by - ay));
  });

  const does = {
    refresh,
    keydown(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const [x, y] = MOVES[event.key] ?? [];
      if (MOVES[event.key]) Object.assign(view, { x: view.x + x, y: view.y + y });
      else if (ZOOMS[event.key]) zoom(ZOOMS[event.key]);
      else if (event.key === "0") showAll();
      else return;
      event.preventDefault();
      move();
    },
    wheel(event) {
      if (small && !event.ctrlKey && document.activeElement !== picture) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.offsetX, event.offsetY);
    },
    pointerdown({ pointerId, offsetX, offsetY }) {
      picture.setPointerCapture(pointerId);
      if (!held.size) far = 0;
      held.set(pointerId, [offsetX, offsetY]);
    },
    pointermove({ pointerId, offsetX: x, offsetY: y }) {
      const was = held.get(pointerId);
      if (!was) {
        picture.title = nodeAt(x, y)?.name ?? "";
        picture.style.cursor = picture.title && "pointer";
        return undefined;
      }
      const other = [...held].find(([id]) => id !== pointerId)?.[1]; // of two fingers, the one that rests
      const apart = ([one, two]) => Math.hypot(one - other[0], two - other[1]) || 1;
      held.set(pointerId, [x, y]);
      far += Math.hypot(x - was[0], y - was[1]);
      if (other) return zoom(apart([x, y]) / apart(was), ...other);
      if (far < 4) return undefined;
      Object.assign(view, { x: view.x + x - was[0], y: view.y + y - was[1] });
      return move();
    },
    pointerup({ pointerId, offsetX: x, offsetY: y }) {
      if (held.delete(pointerId) && !held.size && far < 4) (choose ?? light)(nodeAt(x, y) ?? edgeAt(x, y));
    },
    pointercancel: ({ pointerId }) => held.delete(pointerId),
  };
  for (const [name, what] of Object.entries(does)) picture.addEventListener(name, what, { passive: false });
  new ResizeObserver(([{ contentRect: { width, height } }]) => {
    const first = !across;
    if (!width) return; // it was taken away
    [across, down] = [width, height];
    [picture.width, picture.height] = [width, height].map((one) => Math.round(one * devicePixelRatio));
    refresh();
    if (first) showAll();
  }).observe(picture);
  const tools = h("div", { class: "tools" }, button("+", () => zoom(1.3), { "aria-label": t("closer") }),
    button("−", () => zoom(1 / 1.3), { "aria-label": t("farther") }), button(t("show_all"), showAll));
  return { element: h("div", { class: "graph" }, picture, tools), state, byWeight, refresh, light };
}
