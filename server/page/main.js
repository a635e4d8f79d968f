// The page: what is chosen, what is shown, and what happens when something does not work.

import * as api from "./api.js";
import { treeList } from "./branches.js";
import { Casting } from "./casting.js";
import { compareView, sends } from "./compare.js";
import { $, button, h, oneLine } from "./dom.js";
import { Knowledge } from "./knowledge.js";
import { methodName, methodSelect } from "./methods.js";
import { Remembered } from "./remembered.js";
import { Screen, toEnd } from "./screen.js";
import { Talk } from "./talk.js";
import { language, NAMES, speakIn, t, translate } from "./texts.js";
import { becameView, waitingView } from "./waiting.js";
import { whyView } from "./why.js";

const METHOD = "dramaturg-method";
const AS = "dramaturg-as";
const ASKED_AGAIN = 2500; // milliseconds between two looks for a server that is away

const now = { roles: [], about: null, role: null, methods: [], talk: null, screen: null, why: null };
const told = (text) => ($("live").textContent = text);

/* Errors: what stands in the alert, and what can be done there. */

function notice(text, ...tools) {
  $("notice").replaceChildren(...(text ? [h("p", {}, text), ...tools] : []));
}

async function trying(work) {
  try {
    notice("");
    return await work();
  } catch (error) {
    if (keyWanted(error, work)) return undefined;
    if (error instanceof api.Away) away(work);
    else if (error instanceof api.Refused) notice(t("failed", { message: error.message }), again(work));
    return undefined;
  }
}

// What nobody has asked for: it is tried another time.
async function quietly(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof api.Refused || error instanceof api.Away)) throw error;
  }
}

const again = (work) => button(t("try_again"), () => trying(work));

function away(work) {
  notice(t("away"), again(work));
  clearTimeout(away.timer);
  away.timer = setTimeout(async function look() {
    try {
      await api.health();
    } catch {
      away.timer = setTimeout(look, ASKED_AGAIN);
      return;
    }
    if (!now.about) await trying(work);
    else if (await trying(async () => (await now.talk?.look(), true))) {
      await quietly(look);
      notice(t("back"), work === now.asking ? again(work) : "");
    }
  }, ASKED_AGAIN);
}

function keyWanted(error, work) {
  const wanted = error instanceof api.Refused && error.status === 401;
  if (wanted) askKey(work);
  else if (!(error instanceof api.Refused || error instanceof api.Away)) throw error;
  return wanted;
}

function askKey(work) {
  $("key-wrong").textContent = api.hasKey() ? t("key_wrong") : "";
  api.dropKey();
  if (!$("ask-key").open) $("ask-key").showModal();
  $("key-form").onsubmit = (event) => {
    event.preventDefault();
    api.keepKey($("key").value.trim());
    $("key").value = "";
    $("ask-key").close();
    trying(work);
  };
}

/* What is chosen stands in the address, so that a talk can be opened again. */

const chosen = () => new URLSearchParams(location.hash.slice(1));

function remember() {
  const { talk } = now;
  const given = new URLSearchParams();
  if (now.role) given.set("role", now.role.id);
  if (talk && !talk.fresh) given.set("thread", talk.thread);
  if (talk && !talk.fresh && talk.at && talk.at !== talk.head && !talk.tree.get(talk.at)?.own) given.set("turn", talk.at);
  const hash = `#${given}`;
  if (location.hash !== hash) history.replaceState(null, "", hash);
}

// A name that says when the talk began and with what; people meet it again in `dramaturg chat --thread`.
function threadName(question) {
  const when = new Date().toLocaleString("sv").replace(":", ".").slice(0, 16);
  const words = question.replace(/[^\p{L}\p{N} ]+/gu, " ");
  return `${when} ${oneLine(words, 40).replace("…", "")} ${crypto.getRandomValues(new Uint16Array(1))[0].toString(36)}`.trim();
}

async function readRoles() {
  now.about = await api.roles();
  now.roles = now.about.data;
  $("role").replaceChildren(h("option", { value: "" }, "…"), ...now.roles.map((one) =>
    h("option", { value: one.id, disabled: Boolean(one.error) }, one.example ? `${one.name} (${t("example")})` : one.name)));
  $("role").value = now.role?.id ?? "";
}

async function start() {
  await readRoles();
  const role = now.roles.find((one) => one.id === chosen().get("role") && !one.error);
  if (role) await openRole(role, chosen().get("thread"), chosen().get("turn"));
  else welcome();
}

function welcome() {
  Object.assign(now, { role: null, talk: null, methods: [] });
  $("role").value = "";
  $("turns").replaceChildren();
  $("earlier").replaceChildren();
  $("threads").replaceChildren();
  $("tree").replaceChildren();
  $("method").replaceChildren();
  showWhy(null);
  $("form").hidden = true;
  $("scroll").scrollTop = 0;
  showWaiting(null, null);
  $("welcome").replaceChildren(
    h("h2", {}, t(now.roles.length ? "welcome" : "nobody")),
    now.about.embedded ? h("p", { class: "faint" }, t("embedded")) : "",
    h("ul", { class: "roles" }, now.roles.map((one) => h("li", {},
      h("h3", {}, one.name, one.example ? h("small", {}, ` ${t("example")}`) : null),
      h("p", {}, one.error ? t("broken", { message: oneLine(one.error, 200) }) : oneLine(one.profile, 200)),
      one.error ? null : button(t("talk_to"), () => trying(() => openRole(one)), { class: "main", "aria-label": `${t("talk_to")}: ${one.name}` })))),
    h("p", { class: "search" }, t("cast_instead"), button(t("cast"), () => show("casting"))),
  );
}

async function openRole(role, thread = "", turn = "") {
  now.role = role;
  $("role").value = role.id;
  now.methods = (await api.role(role.id)).methods;
  methodSelect($("method"), now.methods, localStorage.getItem(METHOD) ?? now.about.method);
  await Promise.all([listThreads(), openTalk(thread, turn)]);
}

async function listThreads() {
  const names = await api.threads(now.role.id);
  $("threads").replaceChildren(...(names.length ? names.map((name) => h("li", {},
    button(oneLine(name, 60), () => (show("talk"), trying(() => openTalk(name))), { "aria-current": name === now.talk?.thread ? "true" : null })))
    : [h("li", { class: "faint" }, t("no_talks"))]));
}

async function openTalk(thread = "", turn = "") {
  now.talk?.stop();
  now.waiting = null;
  $("waiting").replaceChildren();
  showBecame(null, null);
  showWhy(null);
  $("welcome").replaceChildren();
  $("form").hidden = false;
  document.body.classList.remove("side-open");
  const talk = new Talk({
    role: now.role.id, thread: thread || "", fresh: !thread,
    draw: () => talk === now.talk && draw(),
    grow: (going) => talk === now.talk && now.screen.grow(going),
  });
  now.talk = talk;
  now.screen = new Screen(now.role.name, {
    edit: (id, text) => take((how) => talk.ask(id, text, how)),
    rewrite: (id, text) => talk.rewrite(id, text),
    swipe: (id) => take((how) => talk.swipe(id, how)),
    goOn: (id) => take((how) => talk.goOn(id, how)),
    show: (id) => talk.show(id),
    why: (id) => openWhy(id, true),
  });
  $("turns").replaceChildren();
  await talk.open(turn);
  toEnd(true);
  $("say").focus({ preventScroll: true });
  await quietly(look);
}

function draw() {
  const { talk } = now;
  now.screen.draw(talk);
  $("stop").hidden = !talk.coming;
  $("send").hidden = Boolean(talk.coming);
  $("no-branches").hidden = talk.tree.turns.size > 0;
  $("tree").replaceChildren(...treeList(talk.tree, talk.path.map((one) => one.id), (id) => talk.show(id)));
  for (const one of $("threads").querySelectorAll("button")) {
    if (one.textContent === oneLine(talk.thread, 60)) one.setAttribute("aria-current", "true");
    else one.removeAttribute("aria-current");
  }
  if (talk.further) notice(t("further"), button(t("show_it"), () => (notice(""), talk.show(talk.head))));
  const last = talk.path[talk.path.length - 1];
  if (!last && !talk.coming && talk.fresh) $("welcome").replaceChildren(greeting());
  else $("welcome").replaceChildren();
  for (const one of [$("waiting"), $("became")]) one.hidden = Boolean(talk.coming) || !one.children.length;
  if (last && !last.own && !talk.coming && wide()) openWhy(last.id, false);
  if (!last) showWhy(null);
  remember();
}

const greeting = () =>
  h("div", { class: "greeting" }, h("h2", {}, now.role.name), h("p", {}, oneLine(now.role.profile, 500)),
    now.about.embedded ? h("p", { class: "faint" }, t("embedded")) : null);
const wide = () => matchMedia("(min-width: 70em)").matches;

/* What waits for a person on this talk: asked for when it is opened, after each turn, and when a window is looked at. */

async function look() {
  const { talk } = now;
  clearTimeout(look.timer);
  if (!talk || talk.fresh || talk.coming) {
    showBecame(talk, null);
    return showWaiting(talk, null);
  }
  const waiting = await api.waiting(talk.role, talk.thread);
  if (talk !== now.talk || talk.coming) return undefined;
  if (waiting.going) look.timer = setTimeout(() => quietly(look), ASKED_AGAIN); // another window's turn
  const became = waiting.turn || waiting.going ? null : await api.became(talk.role, talk.thread);
  if (talk !== now.talk || talk.coming) return undefined;
  showBecame(talk, became);
  return showWaiting(talk, waiting);
}

function showBecame(talk, became) {
  const shown = became?.became ?? null;
  if (shown && shown === now.became && $("became").children.length) return; // what was ticked stays so
  now.became = shown;
  $("became").replaceChildren(...(became ? becameView(became, now.role.name, (accepted) => save(talk, became.became, accepted)) : []));
  $("became").hidden = !$("became").children.length;
}

function showWaiting(talk, waiting) {
  const turn = waiting?.turn ?? null;
  if (turn && turn === now.waiting && $("waiting").children.length) return; // what was ticked stays so
  now.waiting = turn;
  $("waiting").replaceChildren(...(turn ? waitingView(waiting, now.role.name, (approved) => answer(talk, turn, approved)) : []));
  $("waiting").hidden = !turn;
  if (turn) told(t("waits_for_you", { name: now.role.name }));
}

const answer = (talk, turn, approved) =>
  decided(talk, () => api.answer(talk.role, talk.thread, turn, approved),
    (done) => t("answered", { name: now.role.name, n: done.approved, declined: done.declined }));

const save = (talk, became, accepted) =>
  decided(talk, () => api.write(talk.role, talk.thread, became, accepted), (done) => t("saved_chronicle", { name: now.role.name, n: done.written }));

function decided(talk, send, sentenceOf) {
  const doors = [...document.querySelectorAll("#waiting button, #waiting input, #became button, #became input")];
  const open = doors.filter((one) => !one.disabled);
  return trying(async () => {
    for (const one of doors) one.disabled = true;
    let done = null; // where it stays so, that was decided elsewhere
    try {
      done = await send();
    } catch (error) {
      for (const one of open) one.disabled = false; // what was ticked stays so
      if (error.code !== "changed") throw error;
    }
    if (talk !== now.talk) return;
    now.waiting = now.became = null;
    $("waiting").replaceChildren();
    const sentence = done ? sentenceOf(done) : t("answered_elsewhere");
    talk.known = null;
    now.why = null;
    await quietly(() => talk.look());
    await quietly(look);
    draw();
    if (!done) notice(sentence);
    told(sentence);
    $("say").focus({ preventScroll: true });
  });
}

/* Taking turns. */

async function take(work) {
  const { talk } = now;
  if (talk.coming) return;
  const { fresh } = talk;
  told(t("thinks", { name: now.role.name }));
  const asking = async () => {
    await work({ method: $("method").value, user: $("as").value.trim() });
    const last = talk.path[talk.path.length - 1];
    if (last && talk === now.talk) told(last.own ? t("stopped") : t("said", { name: now.role.name, text: last.reply }));
    if (fresh && !talk.fresh) await listThreads();
  };
  now.asking = asking;
  await trying(asking);
  if (talk.unsaid && talk === now.talk) {
    $("say").value ||= talk.unsaid.question; // what could not be said is not lost
    talk.unsaid = null;
  }
  await quietly(look);
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("say").value.trim();
  const { talk } = now;
  if (!text || talk.coming) return;
  $("say").value = "";
  talk.thread ||= threadName(text);
  take((how) => {
    if ($("say").value.trim() === text) $("say").value = "";
    return talk.say(text, how);
  });
});
$("say").addEventListener("keydown", (event) => sends(event, $("form")));
$("stop").addEventListener("click", () => now.talk?.stop());

/* Why. */

async function openWhy(id, wanted) {
  const { talk } = now;
  if (now.why === id && !wanted) return;
  now.why = id;
  now.screen.lookedAt(id);
  if (wanted) {
    document.body.classList.add("why-open");
    $("why").focus();
  }
  $("why-body").replaceChildren(h("p", { class: "faint" }, t("waits")));
  let view;
  try {
    view = whyView(talk.known?.id === id ? talk.known : await api.turn(talk.role, talk.thread, id), goTo);
  } catch (error) {
    const message = error instanceof api.Away ? t("away") : t("failed", { message: error.message });
    view = [h("p", { class: "warning" }, message), button(t("try_again"), () => openWhy(id, true))];
  }
  if (now.why !== id || talk !== now.talk) return;
  $("why-body").replaceChildren(...view);
  $("why").scrollTop = 0;
}

function showWhy(view) {
  now.why = null;
  document.body.classList.remove("why-open");
  $("why-body").replaceChildren(...(view ?? [h("p", { class: "faint" }, t("why_empty"))]));
}

function closeWhy() {
  document.body.classList.remove("why-open");
  document.querySelector(".looked-at .ask-why")?.focus();
}
$("close-why").addEventListener("click", closeWhy);

/* What is chosen in the bar. */

$("role").addEventListener("change", () => {
  const role = now.roles.find((one) => one.id === $("role").value);
  show("talk");
  trying(() => (role ? openRole(role) : welcome()));
});
$("as").value = localStorage.getItem(AS) ?? "";
$("as").addEventListener("change", () => localStorage.setItem(AS, $("as").value.trim()));
$("method").addEventListener("change", () => {
  localStorage.setItem(METHOD, $("method").value);
  if (!$("knowledge").hidden) openKnowledge();
});
$("new").addEventListener("click", () => {
  show("talk");
  trying(() => (now.role ? openTalk() : welcome()));
});
$("open-side").addEventListener("click", () => {
  const open = document.body.classList.toggle("side-open");
  $("open-side").setAttribute("aria-expanded", String(open));
});

/* What stands in the middle: the talk, two methods side by side, what the role knows or remembers, or casting another. */

const BESIDE = [["compare", "both"], ["open-knowledge", "knowledge"], ["open-memory", "memory"], ["open-cast", "casting"]];

function show(what, files, role) {
  document.body.classList.toggle("comparing", what !== "talk");
  $("talk").hidden = what !== "talk";
  for (const [button, section] of BESIDE) {
    $(button).setAttribute("aria-pressed", String(section === what));
    $(section).hidden = section !== what;
  }
  document.body.classList.remove("side-open");
  if (what === "both") compareView({ role: now.role.id, name: now.role.name, methods: now.methods, chosen: $("method").value, user: $("as").value.trim(), threadName, told });
  if (what === "knowledge") openKnowledge(files);
  else $("knowledge").replaceChildren();
  if (what === "memory") openMemory();
  else $("memory").replaceChildren();
  if (what === "casting") openCasting(files, role);
  else $("casting").replaceChildren();
}

function openCasting(files, role) {
  const roles = now.roles.filter((one) => !one.error);
  const view = new Casting($("casting"), { roles, role, told, refused: keyWanted, changed: otherFiles, talk });
  view.open(files);
  $("casting").querySelector("h2").focus();
}

// A role has other files than before, or there is another one: so have its methods, and the list of roles.
const otherFiles = () => quietly(async () => {
  await readRoles();
  if (!now.role) return;
  now.methods = (await api.role(now.role.id)).methods;
  methodSelect($("method"), now.methods, $("method").value);
});

function talk(id) {
  show("talk");
  trying(async () => {
    await readRoles();
    const role = now.roles.find((one) => one.id === id);
    if (role) await openRole(role);
  });
}

function openMemory() {
  const { role, talk } = now;
  const turn = talk.fresh || talk.tree.get(talk.at)?.own ? "" : talk.at;
  new Remembered($("memory"), {
    role: role.id, name: role.name, thread: talk.fresh ? "" : talk.thread, turn, user: $("as").value.trim(), told, refused: keyWanted, go: goTo, changed: forgotten, close: () => show("talk"),
  }).open();
}

// What was forgotten is on no screen, and in no reason of a reply.
async function forgotten() {
  now.talk.known = null;
  showWhy(null);
  await quietly(() => now.talk.look());
}

// Show a turn of a talk, wherever it stands; "" is this talk.
function goTo(thread, turn) {
  show("talk");
  document.body.classList.remove("why-open");
  return trying(async () => {
    if (thread && thread !== now.talk.thread) await openTalk(thread);
    const { talk } = now;
    if (!talk.tree.get(turn)) return;
    if (!talk.path.some((one) => one.id === turn)) talk.show(talk.tree.end(turn));
    now.screen.reveal(talk, turn);
  });
}

function openKnowledge(files) {
  const method = $("method").value;
  const view = new Knowledge($("knowledge"), { role: now.role.id, name: now.role.name, method, methodName: methodName(method), told, refused: keyWanted, changed: otherFiles, cast: () => show("casting", null, now.role.id) });
  view.open(files);
}

const toggled = (what) => now.role && show($(what).hidden ? what : "talk");
$("compare").addEventListener("click", () => toggled("both"));
$("open-knowledge").addEventListener("click", () => toggled("knowledge"));
$("open-memory").addEventListener("click", () => toggled("memory"));
$("open-cast").addEventListener("click", () => show($("casting").hidden ? "casting" : "talk"));

/* A file that is dropped anywhere is not opened by the browser in the place of the page: the role may learn it, or
   somebody be cast from it. */
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  const files = [...(event.dataTransfer?.files ?? [])];
  if (files.length && now.about) show(now.role && $("casting").hidden ? "knowledge" : "casting", files);
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing) return;
  if (document.body.classList.contains("why-open")) closeWhy();
  else if (document.body.classList.contains("side-open")) $("open-side").click();
  else now.talk?.stop();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) lookAgain();
});
const lookAgain = () => now.talk && quietly(async () => {
  await now.talk.look();
  await look();
});
addEventListener("focus", lookAgain);

$("language").replaceChildren(...Object.entries(NAMES).map(([id, name]) => h("option", { value: id, lang: id }, name)));
$("language").value = language;
$("language").addEventListener("change", () => {
  speakIn($("language").value);
  translate(document);
  if (!now.role && !$("casting").hidden) show("casting");
  if (!now.role) return trying(start);
  methodSelect($("method"), now.methods, $("method").value);
  now.screen.drawn.clear();
  now.why = null;
  const [, beside] = BESIDE.find(([, section]) => !$(section).hidden) ?? [];
  if (beside) show(beside);
  now.waiting = now.became = null;
  quietly(look);
  return draw();
});

translate(document);
trying(start);
