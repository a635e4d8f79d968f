// A graph to look things up in, with what is told of what is chosen. `dramaturg graph` and `relations` write it, too.

import { button, h } from "./dom.js";
import { graphView } from "./graph.js";

const HITS = 200; // that are listed
const plain = (text) => text.normalize("NFKC").toLowerCase();

/* `cite` makes what says where a statement is from; `level` is the heading of what is chosen. */
export function explorer(data, t, cite, level = "h4") {
  const { nodes, types, role } = data;
  const view = graphView(data, t, choose);
  const { state } = view;
  const [hits, found] = [h("ul", { class: "hits" }), h("p", { role: "status" })];
  const detail = h("section", { class: "detail", "aria-live": "polite" });
  const boxes = new Map();
  const search = t("graph_search");
  const input = h("input", { type: "search", autocomplete: "off", spellcheck: "false", "aria-label": search,
    placeholder: search, oninput: find, onkeydown });
  for (const node of nodes) {
    node.called = [...node.names, node.name].map(plain);
    node.words = [...node.called, plain(node.description)].join("\n");
  }

  function onkeydown({ key, isComposing }) {
    if (key === "Enter" && !isComposing && state.hits?.length) choose(state.hits[0], true);
    if (key === "ArrowDown") hits.querySelector("button")?.focus();
  }

  function dot(type) {
    const made = h("span", { class: "dot" });
    made.style.background = types[type];
    return made;
  }

  const link = (node) => button([dot(node.type), node.name], () => choose(node, true));
  const strength = ({ strength: n }) => h("small", {}, n === null ? t("no_score") : t("strength", { n }));
  const folded = (title, items, open) =>
    items.length > 0 && h("details", { open }, h("summary", {}, `${t(title)}: ${items.length}`), h("ul", {}, items));
  const statements = (one, open) => folded("statements", one.statements.map((said) => h("li", {},
    h("p", {}, said.text), said.quote && said.quote !== said.text && h("blockquote", {}, said.quote), cite(said))), open);

  function also({ name, names }) {
    const others = names.filter((one) => one !== name).join(", ");
    return others && h("p", { class: "faint" }, `${t("col_also")}: ${others}`);
  }

  const toldOfNode = (node) => [
    h("p", { class: "faint" }, dot(node.type), node.type, node === nodes[role] && ` · ${t("role")}`),
    also(node), h("p", {}, node.description),
    folded("relations", node.edges.map((edge) => h("li", {}, link(edge.a === node ? edge.b : edge.a), " ",
      strength(edge), h("p", {}, edge.description), statements(edge))), true),
    statements(node, true)];
  const toldOfEdge = (edge) =>
    [link(edge.a), " ", link(edge.b), " ", strength(edge), h("p", {}, edge.description), statements(edge, true)];

  // Show what is told of a node or an edge; null shows all of the graph.
  function choose(one, middle) {
    const reading = detail.contains(document.activeElement);
    const box = boxes.get(one?.type);
    if (box?.checked === false) box.click();
    const [name, told] = one?.a ? [`${one.a.name} – ${one.b.name}`, toldOfEdge] : [one?.name, toldOfNode];
    detail.replaceChildren(...(one ? [h(level, { tabindex: "-1" }, name), h("div", {}, told(one))] : []));
    view.light(one, middle);
    if (one) detail.scrollIntoView({ block: "nearest" });
    if (one && reading) detail.firstChild.focus(); // the button that was pressed is gone
  }

  // How well a node fits: by the whole name, its beginning, a part of it, or the description.
  const fit = ({ called }, query) => called.includes(query) ? 0
    : called.some((one) => one.startsWith(query)) ? 1 : called.some((one) => one.includes(query)) ? 2 : 3;

  function find() {
    const words = plain(input.value).split(/\s+/).filter(Boolean);
    const query = words.join(" ");
    const fitting = view.byWeight.filter((node) => words.every((word) => node.words.includes(word)));
    state.hits = query ? fitting.sort((a, b) => fit(a, query) - fit(b, query)) : null;
    found.textContent = query && t("retrieved", { action: fitting.length });
    hits.replaceChildren(...fitting.slice(0, HITS).map((node) => h("li", {}, link(node), also(node))));
    if (fitting.length > HITS) hits.append(h("li", { class: "faint" }, t("more", { n: fitting.length - HITS })));
    choose(null);
  }

  const legend = Object.keys(types).map((type) => {
    const n = nodes.filter((node) => node.type === type).length;
    const box = h("input", { type: "checkbox", checked: true, onchange: () => {
      state.off[box.checked ? "delete" : "add"](type);
      view.refresh();
    } });
    boxes.set(type, box);
    return n > 0 && h("label", { class: "choice" }, box, h("span", {}, dot(type), `${type} ${n}`));
  });
  const clear = () => {
    input.value = "";
    find();
    input.focus();
  };
  find();
  const panel = h("div", { class: "panel" }, input, h("fieldset", {}, h("legend", {}, t("types")), legend),
    found, hits, detail);
  return { picture: view.element, panel, clear };
}
