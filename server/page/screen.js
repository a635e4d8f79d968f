// How a talk looks: its turns, what can be done with each, and the reply that is coming.

import { $, button, h, oneLine } from "./dom.js";
import { face } from "./faces.js";
import { saidText, showText } from "./markdown.js";
import { askFor, openMenu } from "./menu.js";
import { sign } from "./signs.js";
import { t } from "./texts.js";

const A_PAGE = 100;

/* Draws the turns of a talk. Those that are drawn already stay, so that a long talk is not drawn anew with every word.
   `does` are the actions: edit, rewrite, swipe, goOn, show, copy, why, leaveOut. */
export class Screen {
  constructor(role, does) {
    this.role = role;
    this.does = does;
    this.drawn = new Map();
    this.coming = null;
    this.most = A_PAGE; // the newest turns of a talk that are drawn
  }

  draw(talk) {
    const path = talk.path;
    const left = Math.max(0, path.length - this.most);
    const items = path.slice(left).map((one, at) => this.item(talk, one, left + at === path.length - 1));
    this.showEarlier(left, talk);
    if (talk.coming) items.push(this.comingItem(talk.coming));
    else this.coming = null;
    const list = $("turns");
    list.classList.toggle("busy", Boolean(talk.coming)); // nothing can be done with what was said: it is not drawn anew
    items.forEach((item, at) => {
      if (list.children[at] !== item) list.insertBefore(item, list.children[at] ?? null);
    });
    while (list.children.length > items.length) list.lastChild.remove();
    const shown = new Set(path.map((one) => one.id));
    for (const id of this.drawn.keys()) if (!shown.has(id)) this.drawn.delete(id);
    toEnd();
  }

  // A long talk begins with its newest turns: a thousand at once take seconds to draw.
  showEarlier(left, talk) {
    const more = () => {
      const before = $("scroll").scrollHeight - $("scroll").scrollTop;
      this.most += A_PAGE;
      this.draw(talk);
      $("scroll").scrollTop = $("scroll").scrollHeight - before; // what was read stays where it was
    };
    $("earlier").replaceChildren(left ? button(t("earlier", { n: left }), more) : "");
  }

  item(talk, one, last) {
    const known = talk.known?.id === one.id;
    const marks = JSON.stringify([
      one.question, one.reply, one.lines, one.wish, one.cut, last, known,
      talk.tree.replies(one).map((other) => other.id), talk.tree.questions(one).map((other) => other.id),
    ]);
    const before = this.drawn.get(one.id);
    if (before?.marks === marks) return before.item;
    const item = h("li", { class: last ? "turn last" : "turn", "data-turn": one.id },
      one.question ? this.asked(talk, one) : null, this.replied(talk, one, last));
    if (before?.item.classList.contains("looked-at")) item.classList.add("looked-at");
    this.drawn.set(one.id, { marks, item });
    return item;
  }

  asked(talk, one) {
    const { does } = this;
    const questions = talk.tree.questions(one);
    const [kind, inside] = this.askedView(one);
    const box = h("div", { class: `asked ${kind}`, tabindex: "-1" }, inside);
    box.append(h("div", { class: "tools" },
      variants(questions, one, does.show, talk, "question_before", "question_next"),
      this.role.kept ? null : act("edit", "edit_question", () => editor(box, one.question, "save_question", (text) => does.edit(one.id, text)))));
    return box;
  }

  // A reply as a text.
  plain(one) {
    return one.reply;
  }

  // How a message looks: its kind, and what stands in it.
  askedView(one) {
    return ["", [h("span", { class: "unseen" }, t("you")), saidText(one.question)]];
  }

  replied(talk, one, last) {
    const box = h("div", { class: "words" }, h("span", { class: "who" }, this.role.name), saidText(one.reply));
    this.endOf(talk, one, last, box, (save) => editor(box, one.reply, "save", save));
    return h("div", { class: "reply", tabindex: "-1" }, face(this.role), box);
  }

  // Below a reply: what it rests on, and what can be done with it; `edited` has it written anew.
  endOf(talk, one, last, box, edited) {
    const { does } = this;
    const replies = talk.tree.replies(one);
    if (one.cut) box.append(h("p", { class: "warning" }, t("cut"), one.error ? ` ${one.error}` : null));
    const known = talk.known?.id === one.id;
    const { kept, scene } = this.role;
    if (one.wish && !known) box.append(h("p", { class: "faint" }, t("wished", { wish: oneLine(one.wish, 500) })));
    box.append(
      known ? button([sign("why"), h("span", {}, talk.known.why || t("no_evidence"))], () => does.why(one.id), { class: "ask-why because", "aria-controls": "why", title: t("why") }) : "",
      h("div", { class: "tools" },
        variants(replies, one, does.show, talk, "before", "next"),
        one.question && !kept ? [act("again", "again", () => does.swipe(one.id), "swipe"), wishes((wish) => does.swipe(one.id, wish))] : null,
        kept ? null : act("edit", "edit_reply", () => edited((text) => does.rewrite(one.id, text))),
        last && (one.question || scene) && !kept ? act("on", "go_on", () => does.goOn(one.id), "go-on") : null,
        act("copy", "copy", ({ currentTarget }) => does.copy(this.plain(one), currentTarget)),
        last || kept ? null : act("branch", "go_back", () => does.show(one.id), "go-back"),
        one.own || known ? null : act("why", "why", () => does.why(one.id), "ask-why"),
        scene ? null : act("delete", "leave_out", () => does.leaveOut(one.id), "leave-out")));
  }

  comingItem(going) {
    if (this.coming?.of !== going) {
      const text = saidText(going.reply);
      const thought = h("summary", { class: "thought" }, t("thinks", { name: this.role.name }));
      const lines = h("div", { class: "faint" });
      const thoughts = h("details", { class: "thoughts" }, thought, lines);
      const item = h("li", { class: "turn coming", "aria-busy": "true" },
        going.question ? h("div", { class: "asked" }, h("span", { class: "unseen" }, t("you")), saidText(going.question)) : null,
        h("div", { class: "reply" }, face(this.role), h("div", { class: "words" }, h("span", { class: "who" }, this.role.name), thoughts, text)));
      this.coming = { of: going, item, text, thought, thoughts, lines, seconds: this.seconds(going.since) };
      thoughts.after(this.coming.seconds);
    }
    return this.coming.item;
  }

  // A role may think for long: the seconds say that it still does.
  seconds(since) {
    const seconds = h("span", { class: "seconds", "aria-hidden": "true" });
    const timer = setInterval(() => {
      if (this.coming?.seconds === seconds && !seconds.hidden) seconds.textContent = t("waited", { n: Math.round((Date.now() - since) / 1000) });
      else clearInterval(timer);
    }, 1000);
    return seconds;
  }

  grow(going) {
    if (this.coming?.of !== going) return;
    this.paint(going);
    const speaks = going.reply.length > going.begun.length;
    this.coming.seconds.hidden = speaks;
    this.coming.thoughts.hidden = speaks && !going.thoughts.length;
    const last = speaks ? t("steps", { n: going.thoughts.length }) : going.thoughts[going.thoughts.length - 1] ?? t("thinks", { name: this.role.name });
    if (this.coming.thought.textContent !== last) this.coming.thought.textContent = last;
    this.coming.thoughts.classList.toggle("done", speaks);
    for (const line of going.thoughts.slice(this.coming.lines.children.length)) this.coming.lines.append(h("p", {}, line));
    toEnd();
  }

  // Once a frame, however many words come in it.
  paint(going) {
    const { coming } = this;
    if (coming.painting) return;
    coming.painting = requestAnimationFrame(() => {
      coming.painting = 0;
      showText(coming.text, going.reply, true);
      toEnd();
    });
  }

  // Show a turn of the branch, also one that is so far back that it is not drawn yet.
  reveal(talk, id) {
    const at = talk.path.findIndex((one) => one.id === id);
    this.most = Math.max(this.most, talk.path.length - at);
    this.draw(talk);
    for (const [of, { item }] of this.drawn) item.classList.toggle("revealed", of === id);
    this.drawn.get(id)?.item.scrollIntoView({ block: "center" });
  }

  lookedAt(id) {
    for (const [of, { item }] of this.drawn) item.classList.toggle("looked-at", of === id);
  }
}

// ‹ 2 of 3 ›: the others at this place, each with the newest of what followed it.
function variants(all, one, show, talk, before, next) {
  if (all.length < 2) return null;
  const at = all.indexOf(one);
  const to = (number) => () => show(talk.tree.end(all[number].id));
  return h("span", { class: "variants" },
    button(sign("before"), to(at - 1), { disabled: at === 0, "aria-label": t(before), title: t(before) }),
    h("span", {}, t("of", { n: at + 1, all: all.length })),
    button(sign("next"), to(at + 1), { disabled: at === all.length - 1, "aria-label": t(next), title: t(next) }));
}

// A sign that does something with what was said; its name stands in its title.
const act = (name, text, does, kind = "") => button(sign(name), does, { class: kind, "aria-label": t(text), title: t(text) });

/* How another reply is to be: in the words of the page, or in one's own. The model does not see the reply of before. */
const WISHES = { wish_shorter: "wish_shorter", wish_longer: "wish_longer", wish_other: "wish_unexpected" };
const wishes = (does) =>
  button(sign("down"), ({ currentTarget }) => openMenu(currentTarget, [
    ...Object.entries(WISHES).map(([name, wish]) => [t(name), () => does(t(wish))]),
    [t("wish_own"), () => askFor(t("wish"), { value: "", ok: t("again"), done: (wish) => wish && does(wish) })],
  ]), { class: "wish", "aria-label": t("wish"), title: t("wish"), "aria-haspopup": "menu" });

// A text that can be written anew in its place.
export function editor(box, text, save, saved) {
  const input = h("textarea", { rows: "4", "aria-label": t("edit") }, text);
  const inside = [...box.children];
  const back = () => box.replaceChildren(...inside);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") back();
  });
  const keep = () => {
    back();
    if (input.value.trim() && input.value !== text) saved(input.value.trim());
  };
  box.replaceChildren(...inside.filter((one) => !one.matches(".text, .tools, .because, .warning, .reply, .narrated")), input, h("div", { class: "tools" }, button(t(save), keep, { class: "main" }), button(t("cancel"), back)));
  input.focus();
}

/* Who reads the end goes on to read it, also where its place becomes smaller because something waits below it, or a turn
   that was not drawn before turns out higher. Who has scrolled back stays there. */
const NEAR = 100; // pixels from the end
let atEnd = true;
let before = 0; // where the talk stood

export function toEnd(wanted = false) {
  const box = $("scroll");
  atEnd ||= wanted;
  if (!atEnd || !$("turns").children.length) return;
  box.scrollTop = box.scrollHeight;
  before = box.scrollTop;
}

// Only who scrolls upwards leaves the end: what comes between a movement to it and the event of that moves the end.
$("scroll").addEventListener("scroll", ({ target }) => {
  const near = target.scrollHeight - target.scrollTop - target.clientHeight < NEAR;
  if (near || target.scrollTop < before) atEnd = near;
  before = target.scrollTop;
});
const moved = new ResizeObserver(() => toEnd());
moved.observe($("scroll"));
moved.observe($("turns"));
