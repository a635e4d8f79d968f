// The same question to two methods, side by side: each answers in a talk of its own, with its reasons below.

import * as api from "./api.js";
import { $, button, h } from "./dom.js";
import { saidText, showText } from "./markdown.js";
import { methodName, methodSelect } from "./methods.js";
import { t } from "./texts.js";
import { sends } from "./typed.js";
import { whyView } from "./why.js";

export function compareView({ role, name, methods, chosen, user, threadName, told }) {
  const other = methods.find((one) => one.id !== chosen && !one.lacks.length)?.id ?? methods[0].id;
  const sides = [chosen, other].map((method, at) => {
    const select = h("select", { "aria-label": `${t(at ? "second" : "first")}: ${t("method")}` });
    methodSelect(select, methods, method);
    const reply = h("div", { class: "reply", "aria-live": "off" });
    return { select, reply, why: h("div", { class: "why-here" }), talk: null };
  });
  const question = h("textarea", { rows: "2", id: "both-say", placeholder: t("say"), "aria-label": t("question") });
  const ask = button(t("ask_both"), () => null, { type: "submit", class: "main" });
  const form = h("form", { class: "both-form" }, question, ask);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = question.value.trim();
    if (!text || ask.disabled) return;
    ask.disabled = true;
    await Promise.all(sides.map((side) => answer(side, text, { role, name, user, threadName, told })));
    ask.disabled = false;
  });
  question.addEventListener("keydown", (event) => sends(event, form));
  $("both").replaceChildren(
    h("p", { class: "faint" }, t("both_hint")),
    form,
    h("div", { class: "columns" }, sides.map((side, at) =>
      h("section", { "aria-label": t(at ? "second" : "first") }, side.select, side.reply, side.why))),
  );
  question.focus();
}

async function answer(side, question, { role, name, user, threadName, told }) {
  const method = side.select.value;
  const text = saidText("");
  let said = "";
  const thought = h("p", { class: "thought" }, t("thinks", { name }));
  const thread = threadName();
  const words = h("div", { class: "words" }, h("span", { class: "who" }, `${name} · ${methodName(method)}`), thought, text);
  side.reply.replaceChildren(words);
  side.why.replaceChildren();
  try {
    const { turn: id } = await api.speak({
      model: `${role}:${method}`, thread, user, kind: "normal", messages: [{ role: "user", content: question }],
      heard: (part) => {
        thought.hidden = true;
        said += part;
        showText(text, said, true);
      },
      thought: (line) => {
        thought.textContent = line;
      },
    });
    thought.hidden = true;
    showText(text, said);
    told(t("said", { name: methodName(method), text: said }));
    side.why.replaceChildren(...whyView(await api.turn(role, thread, id)));
  } catch (error) {
    thought.hidden = true;
    words.append(h("p", { class: "warning", role: "alert" }, error instanceof api.Away ? t("away") : t("failed", { message: error.message })));
  }
}
