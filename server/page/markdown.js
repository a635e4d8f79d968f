// What was said, as people write it: Markdown and *actions*. The parser gives tokens, and each becomes an element of a
// closed list that is filled with text nodes: HTML is text, pictures are their descriptions, and nothing is fetched.

import MarkdownIt, { cjk } from "./vendor/markdown-it.js";
import { copy } from "./copying.js";
import { button, h, oneLine } from "./dom.js";
import { t } from "./texts.js";

const parser = new MarkdownIt({ html: false, linkify: false, breaks: true })
  .use(cjk) // *他笑了。*你好: no space stands after an action in Chinese
  .disable(["code", "lheading", "reference"]); // who indents a line, or underlines it, means no program and no heading
const TAGS = new Set(["p", "em", "strong", "s", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td"]);
const LINK = /^https?:\/\//i;

/* Show a text in `root`. While it grows, blocks that are there already stay as they are, and a mark that is still open
   counts as closed at the end, so that no asterisk comes and goes. */
export function showText(root, text, growing = false) {
  const source = growing ? closed(text) : text;
  const lines = source.split("\n");
  const blocks = [...grouped(parser.parse(source, {}))];
  blocks.forEach((tokens, at) => {
    const key = tokens[0].type + lines.slice(...(tokens[0].map ?? [0])).join("\n");
    const before = root.children[at];
    if (before?.shows === key) return;
    if (before?.matches(".code") && tokens[0].type === "fence") {
      before.shows = key; // a program that grows keeps its place, and its button
      return retold(before, tokens[0]);
    }
    const made = fill(h("div"), tokens).firstElementChild ?? h("p");
    made.shows = key;
    if (before) before.replaceWith(made);
    else root.append(made);
  });
  while (root.children.length > blocks.length) root.lastElementChild.remove();
}

export function saidText(text) {
  const root = h("div", { class: "text" });
  showText(root, String(text ?? ""));
  return root;
}

// The tokens of each block that stands in no other.
function* grouped(tokens) {
  let found = [];
  let depth = 0;
  for (const one of tokens) {
    found.push(one);
    depth += one.nesting;
    if (depth) continue;
    yield found;
    found = [];
  }
}

// Fill an element with what tokens mean.
function fill(root, tokens) {
  const open = [root];
  for (const one of tokens) {
    const into = open[open.length - 1];
    if (one.type === "inline") fill(into, one.children);
    else if (one.nesting < 0) open.pop();
    else if (one.nesting > 0) {
      open.push(one.hidden ? into : element(one)); // the paragraphs of a list without gaps are hidden
      if (!one.hidden) into.append(open[open.length - 1]);
    } else into.append(...leaf(one));
  }
  return root;
}

function element(one) {
  if (one.type === "heading_open") return h("p", { class: "heading" });
  if (one.type === "link_open") {
    const href = one.attrGet("href") ?? "";
    return LINK.test(href) ? h("a", { href, title: href, target: "_blank", rel: "noopener noreferrer nofollow" }) : h("span");
  }
  if (one.tag === "ol") return h("ol", { start: one.attrGet("start") });
  const side = one.attrGet("style")?.match(/^text-align:(left|center|right)$/)?.[1]; // of a column; the page has no styles inline
  return h(TAGS.has(one.tag) ? one.tag : "span", side ? { class: `to-${side}` } : {});
}

function leaf(one) {
  if (one.type === "softbreak" || one.type === "hardbreak") return [h("br"), "\n"];
  if (one.type === "hr") return [h("hr")];
  if (one.type === "code_inline") return [h("code", {}, one.content)];
  if (one.type === "fence") return [program(one)];
  return [one.content];
}

// A program: what it is written in, a button that copies it, and its lines.
function program(fence) {
  const code = h("code");
  const copies = button(t("copy_code"), () => copy(code.textContent, copies));
  const root = h("div", { class: "code" }, h("div", { class: "head" }, h("span"), copies), h("pre", { tabindex: "0" }, code));
  return retold(root, fence);
}

function retold(root, fence) {
  root.querySelector(".head span").textContent = oneLine(fence.info.trim().split(/\s/)[0], 30);
  root.querySelector("code").textContent = fence.content;
  return root;
}

// What is open at the end of a text that grows is closed there; a program ends by itself.
function closed(text) {
  if (inProgram(text)) return text.replace(/\n *[`~]{1,2}$/, "");
  const whole = text.trimEnd().replace(/[*_~`]+$/, "");
  const last = whole.slice(whole.lastIndexOf("\n\n") + 1);
  const open = [];
  for (const [, mark, after] of last.matchAll(/(\*{1,3}|~~|`+)(?=([\s\S]?))/g)) {
    if (open[open.length - 1] === mark) open.pop();
    else if (after.trim() && !open.some((one) => one.startsWith("`"))) open.push(mark);
  }
  return whole + open.reverse().join("");
}

function inProgram(text) {
  let open = "";
  for (const [, mark, rest] of text.matchAll(/^[ \t>]*(`{3,}|~{3,})(.*)$/gm)) {
    if (!open) open = mark;
    else if (mark.startsWith(open) && !rest.trim()) open = "";
  }
  return Boolean(open);
}
