// What opens above the page: a menu at a button, and a dialog that asks for something.

import { $, button, h } from "./dom.js";
import { sign } from "./signs.js";
import { t } from "./texts.js";

/* `items` are [name of a text, what is done, attributes]; those that are false are left out. */
export function openMenu(anchor, items) {
  const menu = $("menu");
  menu.replaceChildren(...items.filter(Boolean).map(([text, does, given]) =>
    button(text, () => {
      menu.hidePopover();
      does();
    }, { role: "menuitem", ...given })));
  menu.showPopover();
  const at = anchor.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(at.left, innerWidth - menu.offsetWidth - 8))}px`;
  menu.style.top = `${Math.max(8, Math.min(at.bottom + 4, innerHeight - menu.offsetHeight - 8))}px`;
  menu.firstElementChild?.focus();
  menu.onkeydown = (event) => {
    const all = [...menu.children];
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) event.preventDefault();
    if (by) all[(all.indexOf(document.activeElement) + by + all.length) % all.length].focus();
    if (event.key === "Escape") anchor.focus();
    if (event.key === "Escape") event.stopPropagation();
  };
}

/* A dialog with a title; gives the function that closes it. */
export function openDialog(title, inside, kind = "") {
  const dialog = $("dialog");
  const close = () => dialog.close();
  dialog.className = kind;
  dialog.replaceChildren(
    h("div", { class: "head" }, h("h2", { id: "dialog-title", tabindex: "-1" }, title),
      button(sign("close"), close, { class: "icon", "aria-label": t("close") })),
    h("div", { class: "inside" }, inside));
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("#dialog-title").focus();
  return close;
}

/* Ask for one line, or for a yes; `done` gets what was written. */
export function askFor(title, { means = "", value = null, ok, danger = false, done }) {
  const input = value === null ? null : h("input", { id: "asked-line", maxlength: "200", autocomplete: "off", value, "aria-label": title });
  const form = h("form", { class: "fields", onsubmit: (event) => {
    event.preventDefault();
    close();
    done(input?.value.trim() ?? true);
  } }, means ? h("p", {}, means) : null, input,
  h("div", { class: "tools" }, button(ok, null, { type: "submit", class: danger ? "danger" : "main" }), button(t("cancel"), () => close())));
  const close = openDialog(title, form, "small");
  if (input) input.select();
}
