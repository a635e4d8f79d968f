// What was said, as people write it: Markdown and *actions*. The parser gives tokens, and each becomes an element of a
// closed list that is filled with text nodes: HTML is text, pictures are their descriptions, and nothing is fetched.

import MarkdownIt, { cjk } from "./vendor/markdown-it.js";
import { h } from "./dom.js";

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
    if (root.children[at]?.shows === key) return;
    const made = fill(h("div"), tokens).firstElementChild ?? h("p");
    made.shows = key;
    if (root.children[at]) root.children[at].replaceWith(made);
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
  return h(TAGS.has(one.tag) ? one.tag : "span");
}

function leaf(one) {
  if (one.type === "softbreak" || one.type === "hardbreak") return [h("br"), "\n"];
  if (one.type === "hr") return [h("hr")];
  if (one.type === "code_inline") return [h("code", {}, one.content)];
  if (one.type === "fence") return [h("pre", { tabindex: "0" }, h("code", {}, one.content))];
  return [one.content];
}

// What is open at the end of a text that grows is closed there.
function closed(text) {
  const whole = text.trimEnd().replace(/[*_~`]+$/, "");
  const last = whole.slice(whole.lastIndexOf("\n\n") + 1);
  const open = [];
  for (const [, mark, after] of last.matchAll(/(\*{1,3}|~~|`+)(?=([\s\S]?))/g)) {
    if (open[open.length - 1] === mark) open.pop();
    else if (after.trim() && !open.some((one) => one.startsWith("`"))) open.push(mark);
  }
  return whole + open.reverse().join("");
}
