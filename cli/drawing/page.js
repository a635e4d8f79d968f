"use strict";

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const picture = byId("picture");
const brush = picture.getContext("2d");
const ink = {}; // the page's colours, light or dark
const lines = new Map(); // the relations that are drawn, by how they look
const view = { x: 0, y: 0, k: 1 }; // a place p of the graph is drawn at p * k + (x, y)
const state = { chosen: null, edge: null, hits: null, off: new Set() };
const LETTER = 13;
const MOST_LABELS = 150;
const MANY = data.nodes.length + data.edges.length > 1500; // then a picture takes longer than a frame
const REST = 120; // milliseconds without a movement
const still = { picture: document.createElement("canvas"), current: false }; // what was drawn last, and the view of it

function shortened(text) {
  const letters = [...text.replace(/\s+/g, " ")];
  return letters.length > 32 ? letters.slice(0, 31).join("") + "…" : letters.join("");
}

function width(text) {
  return [...text].reduce((sum, letter) => sum + (letter.codePointAt(0) > 0x2e7f ? 1 : 0.58) * LETTER, 0);
}

data.nodes.forEach((node, index) => {
  node.related = [];
  node.reach = index === data.role ? node.r + 5 : node.r;
  node.text = shortened(node.name);
  node.width = width(node.text);
});
for (const edge of data.edges) {
  edge.thick = 0.3 + ((edge.strength ?? 0) / data.strongest) * data.stroke;
  for (const end of new Set([edge.a, edge.b])) data.nodes[end].related.push(edge);
}

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

/** Decide how each line and each circle looks; those that look the same are drawn together. */
function refresh() {
  const shown = lit();
  const free = state.chosen === null && state.edge === null;
  const colours = getComputedStyle(document.documentElement);
  for (const name of ["paper", "ink", "line", "accent", "clique"]) ink[name] = colours.getPropertyValue(`--${name}`).trim();
  data.nodes.forEach((node, index) => {
    node.dim = shown !== null && !shown.has(index);
  });
  lines.clear();
  for (const edge of data.edges) {
    const related = edge === state.edge || edge.a === state.chosen || edge.b === state.chosen;
    const kinds = (edge.kind ?? "").split(" ");
    edge.dim = !related && shown !== null && !(free && shown.has(edge.a) && shown.has(edge.b));
    if (hidden(edge.a) || hidden(edge.b)) continue;
    const [clique, unscored] = ["clique", "unscored"].map((kind) => kinds.includes(kind));
    const alpha = (clique ? 1 : related || unscored ? 0.9 : 0.5) * (edge.dim ? 0.12 : 1);
    const look = { colour: ink[related ? "accent" : clique ? "clique" : "line"], alpha, thick: unscored ? 1 : edge.thick, dash: unscored ? [5, 4] : [] };
    const key = JSON.stringify(look);
    if (!lines.has(key)) lines.set(key, { ...look, edges: [] });
    lines.get(key).edges.push(edge);
  }
  still.current = false;
  move();
}

/** Draw after the view has changed; of a large graph the last picture is moved until the hand rests. */
function move() {
  cancelAnimationFrame(move.frame);
  clearTimeout(move.rest);
  move.frame = requestAnimationFrame(still.current ? slide : draw);
  if (still.current) move.rest = setTimeout(draw, REST);
}

function slide() {
  const [sharp, by] = [window.devicePixelRatio || 1, view.k / still.k];
  brush.setTransform(1, 0, 0, 1, 0, 0);
  brush.clearRect(0, 0, picture.width, picture.height);
  brush.setTransform(by, 0, 0, by, (view.x - still.x * by) * sharp, (view.y - still.y * by) * sharp);
  brush.drawImage(still.picture, 0, 0);
}

function draw() {
  const sharp = window.devicePixelRatio || 1;
  const [across, down] = [picture.clientWidth, picture.clientHeight];
  if (picture.width !== Math.round(across * sharp) || picture.height !== Math.round(down * sharp)) {
    Object.assign(picture, { width: Math.round(across * sharp), height: Math.round(down * sharp) });
  }
  brush.setTransform(sharp, 0, 0, sharp, 0, 0);
  brush.clearRect(0, 0, across, down);
  for (const node of data.nodes) Object.assign(node, { sx: node.x * view.k + view.x, sy: node.y * view.k + view.y });
  for (const look of lines.values()) {
    Object.assign(brush, { globalAlpha: look.alpha, strokeStyle: look.colour, lineWidth: look.thick });
    brush.setLineDash(look.dash);
    for (const edge of look.edges) {
      const [a, b] = [data.nodes[edge.a], data.nodes[edge.b]];
      if (Math.max(a.sx, b.sx) < 0 || Math.min(a.sx, b.sx) > across || Math.max(a.sy, b.sy) < 0 || Math.min(a.sy, b.sy) > down) continue;
      brush.beginPath(); // line by line: one path of thousands that cross is slow to fill
      brush.moveTo(a.sx, a.sy);
      brush.lineTo(b.sx, b.sy);
      brush.stroke();
    }
  }
  brush.setLineDash([]);
  data.nodes.forEach(drawNode);
  brush.globalAlpha = 1;
  drawLabels();
  if (!MANY) return;
  Object.assign(still, view, { current: true });
  Object.assign(still.picture, { width: picture.width, height: picture.height });
  still.picture.getContext("2d").drawImage(picture, 0, 0);
}

function drawNode(node, index) {
  const r = node.r * view.k;
  if (hidden(index) || !inSight([node.sx - r - 9, node.sy - r - 9, node.sx + r + 9, node.sy + r + 9])) return;
  const chosen = index === state.chosen;
  brush.globalAlpha = node.dim ? 0.12 : 1;
  circle(node, r, chosen ? 4 : 0.7, ink[chosen ? "accent" : "ink"]);
  brush.fillStyle = data.types[node.type];
  brush.fill();
  brush.stroke();
  if (index !== data.role) return;
  circle(node, node.reach * view.k, chosen ? 4 : 3, ink[chosen ? "accent" : "ink"]);
  brush.stroke();
}

function circle(node, r, thick, colour) {
  Object.assign(brush, { lineWidth: thick, strokeStyle: colour });
  brush.beginPath();
  brush.arc(node.sx, node.sy, r, 0, 2 * Math.PI);
}

/** Write the names that have room above or below, the most important first. */
function drawLabels() {
  const shown = lit();
  const ends = state.edge === null ? [] : [state.edge.a, state.edge.b];
  const first = [...ends, state.chosen, data.role].filter((index) => index !== null);
  const boxes = [];
  Object.assign(brush, { font: `${LETTER}px system-ui, sans-serif`, textAlign: "center", textBaseline: "alphabetic", lineJoin: "round" });
  Object.assign(brush, { fillStyle: ink.ink, strokeStyle: ink.paper, lineWidth: LETTER / 4 });
  for (const index of new Set([...first, ...byWeight])) {
    if (boxes.length >= MOST_LABELS) break;
    const node = data.nodes[index];
    if (hidden(index) || !(shown === null || shown.has(index))) continue;
    const side = [-1, 1].find((one) => {
      const box = labelBox(node, one);
      return inSight(box) && !boxes.some((taken) => overlap(box, taken));
    });
    if (side === undefined) continue;
    boxes.push(labelBox(node, side));
    const y = (node.y + side * node.reach) * view.k + view.y + (side < 0 ? -0.35 : 1.1) * LETTER;
    brush.strokeText(node.text, node.sx, y);
    brush.fillText(node.text, node.sx, y);
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
    const drawn = !hidden(edge.a) && !hidden(edge.b) && !edge.dim;
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
