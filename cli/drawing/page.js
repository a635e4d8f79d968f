// What stands around the graph; the page's own modules stand before this.

const data = JSON.parse($("data").textContent);
const t = (name, values = {}) => data.words[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);

for (const one of [...data.nodes, ...data.edges].flatMap((of) => of.statements)) one.quote ??= data.dialogues[one.dialogue];
const place = ({ source, start, end }) => h("p", { class: "faint" }, start === undefined ? source : `${source}, characters ${start}–${end}`);
const shown = explorer(data, t, place, "h2");

$("counts").textContent = data.words.counts;
$("notes").append(...data.notes.map((note) => h("p", { class: "faint" }, note)));
$("empty").hidden = data.nodes.length > 0;
document.querySelector("main").prepend(shown.picture);
document.querySelector("aside").append(shown.panel);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.isComposing) shown.clear();
});
shown.clear();
