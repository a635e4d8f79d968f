// Who knew what when: a row a line of a scene, a column a role, and of each cell why.

import * as api from "./api.js";
import { button, h, oneLine } from "./dom.js";
import { face } from "./faces.js";
import { t } from "./texts.js";

const A_PAGE = 250; // lines, the latest first, that are drawn before somebody asks for more
const HEARD = ["said", "heard", "whispered", "seen", "told"];
const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

/* The table of a scene until the turn on the screen. `go` shows a line where it was said, and `refused` is asked what
   to do about an error, and gives true where it has done it. */
export class Heard {
  constructor(root, { scene, thread, turn, refused, go }) {
    Object.assign(this, { scene, thread, turn, refused, go });
    this.most = A_PAGE;
    this.who = h("select", { id: "heard-by", onchange: () => this.draw() }, h("option", { value: "" }, t("heard_all")));
    this.status = h("p", { class: "faint", role: "status" });
    this.more = h("p", { class: "tools" });
    this.table = h("div", { class: "heard-table" });
    this.why = h("div", { class: "heard-why", "aria-live": "polite" });
    this.body = h("div", { class: "heard" },
      h("div", { class: "search" }, h("label", { for: "heard-by" }, t("heard_filter")), this.who, this.status), legend(), this.more, this.table, this.why);
    root.replaceChildren(h("h2", { tabindex: "-1" }, t("heard_view")), this.body);
  }

  async open() {
    try {
      this.told = this.thread ? await api.heard(this.scene.id, this.thread, this.turn) : { cast: [], lines: [] };
    } catch (error) {
      if (!this.body.isConnected || this.refused(error, () => this.open())) return;
      const message = error instanceof api.Away ? t("away_now") : t("failed", { message: error.message });
      this.table.replaceChildren(h("p", { class: "warning", role: "alert" }, message), button(t("try_again"), () => this.open()));
      return;
    }
    this.who.append(...this.told.cast.map((one) => h("option", { value: one.role }, t("heard_knows", { name: one.name }))));
    this.draw();
  }

  draw() {
    const { cast, lines } = this.told;
    const only = cast.findIndex((one) => one.role === this.who.value);
    const shown = lines.map((one, at) => ({ ...one, number: at + 1 })).filter((one) => only < 0 || HEARD.includes(one.cells[only]));
    const left = Math.max(0, shown.length - this.most);
    this.rows = shown.slice(left);
    this.looked = null;
    this.why.replaceChildren(h("p", { class: "faint" }, t("heard_hint")));
    this.status.textContent = lines.length ? t("heard_count", { n: shown.length, all: lines.length }) : t("heard_nothing");
    this.more.replaceChildren(left ? button(t("heard_earlier", { n: left }), () => ((this.most += 1000), this.draw())) : "");
    if (!this.rows.length) return this.table.replaceChildren();
    const people = cast.map((one) => this.scene.cast.find((other) => other.id === one.role) ?? one);
    const table = h("table", { role: "grid", "aria-label": t("heard_view") },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("heard_line")), people.map((one) => h("th", { scope: "col", title: one.name }, face(one), h("span", {}, one.name))))),
      h("tbody", {}, this.rows.map((one) => this.row(one, only))));
    table.addEventListener("click", ({ target }) => this.look(target.closest("td")));
    table.addEventListener("keydown", (event) => this.move(event));
    table.addEventListener("focusin", ({ target }) => this.look(target.closest("td"), false));
    this.table.replaceChildren(table);
    this.first = table.querySelector("tbody tr:last-child td");
    this.first.tabIndex = 0;
    this.table.scrollTop = this.table.scrollHeight;
    return undefined;
  }

  row(one, only) {
    const own = only < 0 || this.told.cast[only].role === one.by;
    const text = oneLine(own ? one.text : one.audible ?? one.text, 240);
    const { cast } = this.told;
    return h("tr", {}, h("th", { scope: "row" }, h("small", {}, `${one.number} `), one.name ? h("b", {}, `${one.name}: `) : null, one.to.length ? h("small", {}, `${t("whispers_to", { names: this.names(one.to) })}: `) : null, one.name ? text : h("i", {}, text)),
      one.cells.map((cell, at) => h("td", { class: classOf(one, cast[at].role, cell) }, t(`cell_${cell}`))));
  }

  names(roles) {
    return this.told.cast.filter((one) => roles.includes(one.role)).map((one) => one.name).join(", ");
  }

  // The arrows go from cell to cell: the table is one stop of the tabulator.
  move(event) {
    const step = STEPS[event.key];
    const from = event.target.closest("td");
    if (!step || !from) return;
    event.preventDefault();
    const rows = from.closest("tbody").rows;
    const row = rows[Math.min(rows.length - 1, Math.max(0, from.parentElement.sectionRowIndex + step[0]))];
    const to = row.cells[Math.min(row.cells.length - 1, Math.max(1, from.cellIndex + step[1]))];
    to.tabIndex = -1;
    to.focus();
  }

  look(cell, focus = true) {
    if (!cell || cell === this.looked) return;
    if (this.first) this.first.tabIndex = -1;
    this.first = cell;
    cell.tabIndex = 0;
    this.looked?.removeAttribute("aria-selected");
    this.looked = cell;
    cell.setAttribute("aria-selected", "true");
    if (focus) cell.focus({ preventScroll: true });
    const line = this.rows[cell.parentElement.sectionRowIndex];
    const { role, name } = this.told.cast[cell.cellIndex - 1];
    const code = line.cells[cell.cellIndex - 1];
    const thoughts = line.audible && HEARD.includes(code) && code !== "said" ? ` ${t("heard_thoughts")}` : "";
    const hides = line.hidden.includes(role) ? ` ${t("heard_hidden", { name })}` : "";
    this.why.replaceChildren(h("p", {}, t(`why_${code}`, { name }), thoughts, hides), h("p", { class: "faint" }, oneLine(line.name ? `${line.name}: ${line.text}` : line.text, 200)),
      line.turn ? h("div", { class: "tools" }, button(t("show_where"), () => this.go(line.turn))) : "");
  }
}

function classOf(line, role, cell) {
  const there = line.there.includes(role) ? "there" : "gone";
  return `is-${cell} ${there}${line.hidden.includes(role) ? " hides" : ""}`;
}

const legend = () =>
  h("ul", { class: "legend", "aria-label": t("heard_legend") }, ["heard", "said", "whispered", "seen", "to_others", "away"].map((one) =>
    h("li", {}, h("span", { class: `is-${one} ${one === "away" ? "gone" : "there"} cell`, "aria-hidden": "true" }), t(`cell_${one}`))),
  h("li", {}, h("span", { class: "there hides cell", "aria-hidden": "true" }), t("is_hidden")));
