// What is copied: that it was is said on the button, and to a screen reader.

import { $, h } from "./dom.js";
import { sign } from "./signs.js";
import { t } from "./texts.js";

const SEEN = 2000; // milliseconds in which a button says that it has copied

export async function copy(text, on) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // a page from another machine without TLS has no clipboard
    $("notice").replaceChildren(h("p", {}, t("not_copied")));
    return;
  }
  $("live").textContent = t("copied");
  if (on.dataset.copied) return;
  on.dataset.copied = "yes";
  const inside = [...on.childNodes];
  on.replaceChildren(on.querySelector(".sign") ? sign("done") : t("copied"));
  setTimeout(() => {
    delete on.dataset.copied;
    on.replaceChildren(...inside);
  }, SEEN);
}
