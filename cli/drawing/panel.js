"use strict";

const MOST_HITS = 200;
const plain = (text) => text.normalize("NFKC").toLowerCase();

function add(parent, tag, text = "", kind = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  parent.append(made);
  return made;
}

function dot(parent, type) {
  const made = add(parent, "span", "", "dot");
  if (type) made.style.background = data.types[type];
  else made.classList.add("ring");
}

const also = (node) => node.names.filter((name) => name !== node.name);

function link(parent, index) {
  const button = add(parent, "button");
  button.type = "button";
  dot(button, data.nodes[index].type);
  add(button, "span", data.nodes[index].name);
  button.addEventListener("click", () => choose(index, true));
  return button;
}

/** Show an entity and what the documents say of it; null shows all. */
function choose(index, moving = false) {
  const reading = byId("detail").contains(document.activeElement);
  Object.assign(state, { chosen: index, edge: null });
  if (index !== null && hidden(index)) turn(data.nodes[index].type, true);
  byId("detail").replaceChildren();
  if (index !== null) describe(byId("detail"), data.nodes[index], index);
  else if (data.nodes.length) add(byId("detail"), "p", data.words.choose, "faint");
  if (moving) centre(data.nodes[index].x, data.nodes[index].y, Math.max(view.k, 0.8));
  if (index !== null) byId("detail").scrollIntoView({ block: "nearest" });
  if (index !== null && reading) byId("detail").querySelector("h2").focus(); // the button that was pressed is gone
  refresh();
}

/** Show a relation and what the documents say of it. */
function chooseRelation(edge) {
  choose(null);
  state.edge = edge;
  byId("detail").replaceChildren();
  add(byId("detail"), "h2", `${data.nodes[edge.a].name} – ${data.nodes[edge.b].name}`).tabIndex = -1;
  for (const index of [edge.a, edge.b]) link(add(byId("detail"), "p"), index);
  add(byId("detail"), "p", strength(edge), "faint");
  add(byId("detail"), "p", edge.description);
  add(byId("detail"), "h3", `${data.words.statements} (${edge.statements.length})`);
  statements(byId("detail"), edge.statements);
  byId("detail").scrollIntoView({ block: "nearest" });
  refresh();
}

const strength = (edge) => (edge.strength === null ? data.words.unscored : `${edge.strength} of ${data.strongest}`);

function describe(panel, node, index) {
  add(panel, "h2", node.name).tabIndex = -1;
  const type = add(panel, "p", "", "faint");
  dot(type, node.type);
  add(type, "span", index === data.role ? `${node.type}, the role` : node.type);
  if (also(node).length) add(panel, "p", `also: ${also(node).join(", ")}`);
  add(panel, "p", node.description);
  add(panel, "h3", `Relations (${node.related.length})`);
  const relations = add(panel, "ol");
  for (const edge of node.related) relation(add(relations, "li"), edge, index);
  add(panel, "h3", `${data.words.statements} (${node.statements.length})`);
  statements(panel, node.statements);
}

function relation(item, edge, index) {
  link(item, other(edge, index));
  add(item, "span", ` ${strength(edge)}`, "faint");
  add(item, "p", edge.description);
  const sources = add(item, "details");
  add(sources, "summary", `${data.words.statements} (${edge.statements.length})`);
  statements(sources, edge.statements);
}

function statements(parent, found) {
  const list = add(parent, "ul");
  for (const one of found) {
    const item = add(list, "li");
    add(item, "p", one.text);
    const quote = one.quote ?? data.dialogues[one.dialogue];
    if (quote && quote !== one.text) add(item, "blockquote", quote);
    const place = one.start === undefined ? "" : `, characters ${one.start}–${one.end}`;
    add(item, "p", `${one.source}${place}`, "faint");
  }
}

for (const node of data.nodes) {
  node.plainNames = node.names.concat(node.name).map(plain);
  node.words = node.plainNames.concat(plain(node.description)).join("\n");
}

/** How well an entity fits: by the whole name, its beginning, a part of it, or the description. */
function fit(node, query) {
  if (node.plainNames.includes(query)) return 0;
  if (node.plainNames.some((name) => name.startsWith(query))) return 1;
  return node.plainNames.some((name) => name.includes(query)) ? 2 : 3;
}

function find(text) {
  const query = plain(text).trim().replace(/\s+/g, " ");
  if (!query) return null;
  const words = query.split(" ");
  const found = byWeight.filter((index) => words.every((word) => data.nodes[index].words.includes(word)));
  return found.sort((a, b) => fit(data.nodes[a], query) - fit(data.nodes[b], query));
}

function search() {
  state.hits = find(byId("search").value);
  byId("hits").replaceChildren();
  byId("found").textContent = state.hits ? `${state.hits.length} found` : "";
  for (const index of (state.hits || []).slice(0, MOST_HITS)) {
    const item = add(byId("hits"), "li");
    link(item, index);
    if (also(data.nodes[index]).length) add(item, "p", `also: ${also(data.nodes[index]).join(", ")}`, "faint");
  }
  if (state.hits && state.hits.length > MOST_HITS) add(byId("hits"), "li", "The first are listed, all are shown.");
  choose(null);
}

const boxes = new Map();

function turn(type, on) {
  boxes.get(type).checked = on;
  if (on) state.off.delete(type);
  else state.off.add(type);
  refresh();
}

for (const type of Object.keys(data.types)) {
  const number = data.nodes.filter((node) => node.type === type).length;
  if (!number) continue;
  const label = add(byId("legend"), "label");
  const box = add(label, "input");
  Object.assign(box, { type: "checkbox", checked: true });
  box.addEventListener("change", () => turn(type, box.checked));
  boxes.set(type, box);
  dot(label, type);
  add(label, "span", `${type} ${number}`);
}
if (data.role !== null) {
  const own = add(byId("legend"), "span");
  dot(own, null);
  add(own, "span", "the role");
}

function chooseAt(x, y) {
  const index = entityAt(x, y);
  const edge = index === null ? relationAt(x, y) : null;
  if (edge === null) choose(index);
  else chooseRelation(edge);
}

const steps = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
picture.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in steps) Object.assign(view, { x: view.x + steps[event.key][0], y: view.y + steps[event.key][1] });
  else if (event.key === "+" || event.key === "=") zoom(1.3);
  else if (event.key === "-") zoom(1 / 1.3);
  else if (event.key === "0") showAll();
  else return;
  event.preventDefault();
  move();
});

/** Say what lies under the pointer. */
function hint(event) {
  const index = entityAt(event.offsetX, event.offsetY);
  picture.title = index === null ? "" : data.nodes[index].name;
  picture.classList.toggle("over", index !== null);
}

let held = null;
picture.addEventListener("pointerdown", (event) => {
  picture.setPointerCapture(event.pointerId);
  held = { id: event.pointerId, x: event.clientX, y: event.clientY, far: 0 };
});
picture.addEventListener("pointermove", (event) => {
  if (held === null) hint(event);
  if (held === null || held.id !== event.pointerId) return;
  const [x, y] = [event.clientX - held.x, event.clientY - held.y];
  held = { id: held.id, x: event.clientX, y: event.clientY, far: held.far + Math.hypot(x, y) };
  if (held.far < 4) return;
  Object.assign(view, { x: view.x + x, y: view.y + y });
  move();
});
picture.addEventListener("pointerup", (event) => {
  const at = picture.getBoundingClientRect();
  if (held !== null && held.far < 4) chooseAt(event.clientX - at.left, event.clientY - at.top);
  held = null;
});
picture.addEventListener("pointercancel", () => (held = null));
picture.addEventListener("wheel", (event) => {
  const at = picture.getBoundingClientRect();
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - at.left, event.clientY - at.top);
}, { passive: false });

byId("search").addEventListener("input", search);
byId("search").addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "Enter" && state.hits && state.hits.length) choose(state.hits[0], true);
  else if (event.key === "ArrowDown") byId("hits").querySelector("button")?.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing) return;
  byId("search").value = "";
  search();
  byId("search").focus();
});
byId("closer").addEventListener("click", () => zoom(1.3));
byId("farther").addEventListener("click", () => zoom(1 / 1.3));
byId("all").addEventListener("click", showAll);
window.addEventListener("resize", move);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);

byId("title").textContent = document.title;
byId("counts").textContent = data.words.counts;
for (const note of data.notes) add(byId("notes"), "p", note, "faint");
byId("empty").hidden = data.nodes.length > 0;
choose(null);
showAll();
byId("search").focus();
