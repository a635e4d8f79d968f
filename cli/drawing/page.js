"use strict";

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const picture = byId("picture");
const view = { x: 0, y: 0, k: 1 }; // a place p of the graph is drawn at p * k + (x, y)
const state = { chosen: null, edge: null, hits: null, off: new Set() };
const LETTER = 13;
const MOST_LABELS = 150;

function shape(parent, tag, attributes, text) {
  const made = document.createElementNS(picture.namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function shortened(text) {
  const letters = [...text.replace(/\s+/g, " ")];
  return letters.length > 32 ? letters.slice(0, 31).join("") + "…" : letters.join("");
}

function width(text) {
  return [...text].reduce((sum, letter) => sum + (letter.codePointAt(0) > 0x2e7f ? 1 : 0.58) * LETTER, 0);
}

for (const edge of data.edges) {
  const [a, b] = [data.nodes[edge.a], data.nodes[edge.b]];
  const ends = { x1: a.x, y1: a.y, x2: b.x, y2: b.y };
  const thick = 0.3 + ((edge.strength ?? 0) / data.strongest) * data.stroke;
  edge.line = shape(byId("edges"), "line", { ...ends, "stroke-width": thick, class: edge.kind ?? "" });
}

data.nodes.forEach((node, index) => {
  const place = { cx: node.x, cy: node.y };
  const colour = data.types[node.type];
  node.related = data.edges.filter((edge) => edge.a === index || edge.b === index);
  node.shapes = [shape(byId("nodes"), "circle", { ...place, r: node.r, fill: colour })];
  shape(node.shapes[0], "title", {}, node.name);
  node.reach = index === data.role ? node.r + 5 : node.r;
  if (index === data.role) node.shapes.push(shape(byId("nodes"), "circle", { ...place, r: node.reach, class: "own" }));
  const text = shortened(node.name);
  node.width = width(text);
  node.label = shape(byId("labels"), "text", { x: node.x, class: "off" }, text);
});

const other = (edge, index) => (edge.a === index ? edge.b : edge.a);
const hidden = (index) => state.off.has(data.nodes[index].type);
const byWeight = data.nodes.map((_, index) => index).sort((a, b) => data.nodes[b].r - data.nodes[a].r);

/** The entities that are looked at, or null for all. */
function lit() {
  if (state.edge !== null) return new Set([state.edge.a, state.edge.b]);
  if (state.chosen !== null) {
    return new Set([state.chosen, ...data.nodes[state.chosen].related.map((edge) => other(edge, state.chosen))]);
  }
  return state.hits && new Set(state.hits);
}

function refresh() {
  const shown = lit();
  data.nodes.forEach((node, index) => {
    for (const one of node.shapes) {
      one.classList.toggle("off", hidden(index));
      one.classList.toggle("dim", shown !== null && !shown.has(index));
      one.classList.toggle("chosen", index === state.chosen);
    }
  });
  for (const edge of data.edges) {
    const related = edge === state.edge || edge.a === state.chosen || edge.b === state.chosen;
    const free = state.chosen === null && state.edge === null;
    const between = shown === null || (free && shown.has(edge.a) && shown.has(edge.b));
    edge.line.classList.toggle("off", hidden(edge.a) || hidden(edge.b));
    edge.line.classList.toggle("related", related);
    edge.line.classList.toggle("dim", !related && !between);
  }
  move();
}

function move() {
  byId("world").setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`);
  byId("labels").setAttribute("font-size", LETTER / view.k);
  cancelAnimationFrame(move.frame);
  move.frame = requestAnimationFrame(placeLabels);
}

/** Write the names that have room above or below, the most important first. */
function placeLabels() {
  const shown = lit();
  const ends = state.edge === null ? [] : [state.edge.a, state.edge.b];
  const first = [...ends, state.chosen, data.role].filter((index) => index !== null);
  const boxes = [];
  for (const index of new Set([...first, ...byWeight])) {
    const node = data.nodes[index];
    const wanted = !hidden(index) && (shown === null || shown.has(index)) && boxes.length < MOST_LABELS;
    const free = (side) => ((box) => inSight(box) && !boxes.some((taken) => overlap(box, taken)))(labelBox(node, side));
    const side = wanted ? [-1, 1].find(free) : undefined;
    node.label.classList.toggle("off", side === undefined);
    if (side === undefined) continue;
    boxes.push(labelBox(node, side));
    node.label.setAttribute("y", node.y + side * node.reach);
    node.label.setAttribute("dy", side < 0 ? "-.35em" : "1.1em");
  }
}

/** Where the name of an entity is written: above it (-1) or below (1). */
function labelBox(node, side) {
  const x = node.x * view.k + view.x;
  const y = (node.y + side * node.reach) * view.k + view.y;
  const top = side < 0 ? y - 1.5 * LETTER : y;
  return [x - node.width / 2 - 3, top, x + node.width / 2 + 3, top + 1.5 * LETTER];
}

const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
const inSight = (box) => overlap(box, [0, 0, picture.clientWidth, picture.clientHeight]);

function zoom(factor, x = picture.clientWidth / 2, y = picture.clientHeight / 2) {
  const k = Math.min(Math.max(view.k * factor, 0.02), 20);
  view.x = x - ((x - view.x) * k) / view.k;
  view.y = y - ((y - view.y) * k) / view.k;
  view.k = k;
  move();
}

function centre(x, y, k) {
  Object.assign(view, { x: picture.clientWidth / 2 - x * k, y: picture.clientHeight / 2 - y * k, k });
  move();
}

function showAll() {
  const [xs, ys] = [data.nodes.map((node) => node.x), data.nodes.map((node) => node.y)];
  if (!xs.length) return;
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const across = picture.clientWidth / (right - left + 120);
  const down = picture.clientHeight / (bottom - top + 120);
  centre((left + right) / 2, (top + bottom) / 2, Math.max(Math.min(across, down, 1.5), 0.02));
}

/** The entity at a place of the screen; a finger or a small circle need not be exact. */
function entityAt(x, y) {
  let [found, nearest] = [null, Infinity];
  data.nodes.forEach((node, index) => {
    const away = Math.hypot(node.x * view.k + view.x - x, node.y * view.k + view.y - y) - node.r * view.k;
    if (!hidden(index) && away < Math.min(nearest, 8)) [found, nearest] = [index, away];
  });
  return found;
}

/** The relation whose line is nearest to a place of the screen; one that is faint cannot be meant. */
function relationAt(x, y) {
  let [found, nearest] = [null, 5];
  for (const edge of data.edges) {
    const away = fromLine(x, y, edge.a, edge.b);
    const drawn = !hidden(edge.a) && !hidden(edge.b) && !edge.line.classList.contains("dim");
    if (drawn && away < nearest) [found, nearest] = [edge, away];
  }
  return found;
}

/** How far a place of the screen is from the line between two entities. */
function fromLine(x, y, a, b) {
  const [ax, ay, bx, by] = [a, b].flatMap((at) => [data.nodes[at].x * view.k + view.x, data.nodes[at].y * view.k + view.y]);
  const along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2 || 1);
  const t = Math.min(Math.max(along, 0), 1);
  return Math.hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay));
}
