// A talk as a tree of turns: which branch is on the screen, and what else was said.

import { button, h, oneLine } from "./dom.js";
import { t } from "./texts.js";

export class Tree {
  constructor(turns = []) {
    this.turns = new Map(turns.map((one) => [one.id, one]));
    this.index();
  }

  index() {
    this.below = new Map([[null, []]]);
    for (const one of this.turns.values()) {
      const after = this.turns.has(one.after) ? one.after : null;
      if (!this.below.has(after)) this.below.set(after, []);
      this.below.get(after).push(one);
    }
  }

  add(one) {
    this.turns.set(one.id, one);
    this.index();
  }

  get(id) {
    return this.turns.get(id);
  }

  // The turns that lead to one, the oldest first.
  path(id) {
    const found = new Set();
    for (let one = this.turns.get(id); one && !found.has(one); one = this.turns.get(one.after)) found.add(one);
    return [...found].reverse();
  }

  // What was said last of all that follows a turn, or the turn itself: turns stand in the order in which they were said.
  end(id) {
    const following = new Set([id]);
    let last = id;
    for (const one of this.turns.values()) {
      if (!following.has(one.after)) continue;
      following.add(one.id);
      last = one.id;
    }
    return last;
  }

  // Whether something was said at all.
  holds(question) {
    return [...this.turns.values()].some((one) => same(one.question, question));
  }

  // The newest turn in which most of some words were said; none: "".
  holding(words) {
    const wanted = words.toLocaleLowerCase().split(/\s+/);
    let found = { id: "", held: 0 };
    for (const { id, question, reply } of this.turns.values()) {
      const said = `${question}\n${reply}`.toLocaleLowerCase();
      const held = wanted.filter((word) => said.includes(word)).length;
      if (held && held >= found.held) found = { id, held };
    }
    return found.id;
  }

  // Other replies to the same question at the same place, and other questions there: the newest of each.
  replies(one) {
    return this.beside(one).filter((other) => same(other.question, one.question));
  }

  questions(one) {
    const found = new Map();
    for (const other of this.beside(one)) found.set(other.question.trim(), same(other.question, one.question) ? one : other);
    return [...found.values()];
  }

  beside(one) {
    return this.below.get(this.turns.has(one.after) ? one.after : null) ?? [];
  }
}

const same = (one, other) => one.trim() === other.trim();

// The tree as nested lists: a line a stretch without a branching, from its first question on.
export function treeList(tree, screen, show) {
  const shown = new Set(screen);
  const list = (starts) => starts.map((start) => stretch(tree, start, shown, show, list));
  return list(tree.below.get(null) ?? []);
}

function stretch(tree, start, shown, show, list) {
  let last = start;
  let count = 1;
  for (let next = tree.below.get(last.id); next?.length === 1; next = tree.below.get(last.id)) {
    last = next[0];
    count += 1;
  }
  const onScreen = shown.has(start.id);
  const words = oneLine(start.question || start.reply, 60);
  const reply = start.question ? oneLine(start.reply, 60) : "";
  const line = button([h("span", {}, words), h("small", {}, reply ? `${reply} · ` : "", t("turns", { n: count }))], () =>
    show(tree.end(last.id)), { class: "stretch", "aria-current": onScreen ? "true" : null });
  const next = tree.below.get(last.id) ?? [];
  return h("li", {}, line, next.length ? h("ul", {}, list(next)) : null);
}
