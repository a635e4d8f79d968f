// The page: what is chosen, what is shown, and what happens when something does not work.

import * as api from "./api.js";
import { treeList } from "./branches.js";
import { copy } from "./copying.js";
import { $, button, h, oneLine } from "./dom.js";
import { face } from "./faces.js";
import { galleryView, newCharacter } from "./gallery.js";
import { askFor, openDialog, openMenu } from "./menu.js";
import { fitting, methodName, withProfile } from "./methods.js";
import { faceOf, forScene, openCues, sceneGreeting, SceneScreen, staged, stageOf, unlisted } from "./scene.js";
import { Screen, toEnd } from "./screen.js";
import { sign } from "./signs.js";
import { Talk } from "./talk.js";
import { Talks } from "./talks.js";
import { speakIn, t, translate } from "./texts.js";
import { forgetTyped, left, over, sends, touched, typeFor, underWay, write } from "./typed.js";
import { becameView, waitingView } from "./waiting.js";

const METHOD = "dramaturg-method";
const AS = "dramaturg-as";
const THEME = "dramaturg-theme";
const WHY = "dramaturg-why"; // whether why stands open beside a talk
const ASKED_AGAIN = 2500; // milliseconds between two looks for a server that is away

const now = { roles: [], scenes: [], about: null, role: null, methods: [], greetings: [], method: "", as: localStorage.getItem(AS) ?? "", talk: null, screen: null, why: null, view: "", opened: 0 };
const replying = new Set(); // the talks whose reply comes, also those that are not on the screen
const told = (text) => ($("live").textContent = text);

/* Errors: what stands in the alert, and what can be done there. */

function notice(text, ...tools) {
  const close = button(sign("close"), () => notice(""), { class: "icon", "aria-label": t("close") });
  $("notice").replaceChildren(...(text ? [h("p", {}, text), ...tools, close] : []));
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
  notice(t("away"), work ? again(work) : "");
  clearTimeout(away.timer);
  away.timer = setTimeout(async function look() {
    try {
      await api.health();
    } catch {
      away.timer = setTimeout(look, ASKED_AGAIN);
      return;
    }
    if (!now.about) await trying(work);
    else if (await trying(async () => (await lookAgain(), true))) {
      notice(t("back"), work && work === now.asking ? again(work) : "");
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

/* What is chosen stands in the address, so that a talk can be opened again, and gone back to. */

const chosen = () => new URLSearchParams(location.hash.slice(1));

function remember(turn = "") {
  const { talk } = now;
  if (["gallery", "casting"].includes(now.view)) return;
  const given = new URLSearchParams();
  if (now.role) given.set("role", now.role.id);
  if (talk && (!talk.fresh || talk.coming)) given.set("thread", talk.thread);
  if (talk && !talk.fresh && talk.at && talk.at !== talk.head && !talk.tree.get(talk.at)?.own) given.set("turn", talk.at);
  if (turn) given.set("turn", turn);
  const hash = `#${given}`;
  if (location.hash === hash) return;
  const before = chosen();
  const other = before.get("role") !== given.get("role") || (before.has("thread") && before.get("thread") !== given.get("thread"));
  history[other ? "pushState" : "replaceState"](null, "", hash);
}

// A name that says when the talk began, and nothing of what was said: that can be forgotten. People meet it again in
// `dramaturg chat --thread`; here a talk is called by its title.
function threadName() {
  const when = new Date().toLocaleString("sv").replace(":", ".").slice(0, 16);
  return `${when} ${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}`;
}

const everybody = () => [...now.roles, ...now.scenes];
const named = (id) => everybody().find((one) => one.id === id) ?? (id?.startsWith("scene:") ? unlisted(id) : undefined);

async function readRoles() {
  const [about, scenes] = await Promise.all([api.roles(), api.scenes()]);
  now.about = about;
  now.roles = about.data;
  now.scenes = scenes.map((one) => staged(one, now.roles));
  talks.roles = everybody();
  if (now.role && !now.role.kept) now.role = named(now.role.id) ?? now.role;
}

async function start() {
  await readRoles();
  await openChosen();
  await quietly(() => talks.read());
}

async function openChosen() {
  const role = named(chosen().get("role"));
  if (role && !role.error && (chosen().get("thread") || !role.kept)) await openRole(role, chosen().get("thread"), chosen().get("turn"));
  else show("gallery");
}
addEventListener("popstate", () => now.about && trying(openChosen));

const talks = new Talks({
  open: (role, thread, words) => trying(async () => {
    show("talk");
    if (role.id === now.role?.id && !role.kept) await openTalk(thread);
    else await openRole(role, thread);
    const found = words && now.talk.tree.holding(words);
    if (found) await goTo("", found);
  }),
  now: () => ({ role: now.role?.id, thread: now.talk?.thread }),
  trying,
  gone: (one) => {
    forgetTyped({ role: one.role, thread: one.id });
    if (one.role !== now.role?.id || one.id !== now.talk?.thread) return;
    now.talk = null;
    trying(async () => (now.role.kept ? show("gallery") : openTalk()));
  },
});

async function openRole(role, thread = "", turn = "") {
  const mine = (now.opened += 1);
  const about = role.scene ? { methods: [], greetings: [] } : await api.role(role.id, now.as);
  const shown = role.kept ? staged({ ...role, cast: (await api.heard(role.id, thread, "")).cast }, now.roles) : role;
  if (mine !== now.opened) return; // meanwhile something else was
  now.role = shown;
  now.greetings = about.greetings;
  now.methods = role.scene ? [] : withProfile(about.methods);
  now.method = fitting(now.methods, localStorage.getItem(METHOD) ?? now.about.method);
  await openTalk(thread, turn);
  await quietly(() => talks.read());
}

async function openTalk(thread = "", turn = "") {
  now.waiting = null;
  $("waiting").replaceChildren();
  showBecame(null, null);
  showWhy(null);
  $("welcome").replaceChildren();
  closeSide();
  const talk = [...replying].find((one) => one.role === now.role.id && one.thread === thread) ?? new Talk({
    role: now.role.id, thread: thread || "", fresh: !thread,
    draw: () => talk === now.talk && draw(),
    grow: (going) => talk === now.talk && now.screen.grow(going),
  });
  now.talk = talk;
  typeFor(talk);
  now.screen = new (now.role.scene ? SceneScreen : Screen)(now.role, {
    edit: (id, text) => take((how) => talk.ask(id, text, how)),
    rewrite: (id, text) => talk.rewrite(id, text),
    swipe: (id, wish) => take((how) => talk.swipe(id, how, wish)),
    goOn: (id) => take((how) => talk.goOn(id, how)),
    show: (id) => talk.show(id),
    copy,
    why: (id) => openWhy(id, true),
    leaveOut: (id) => leaveOut(talk, id),
  });
  $("turns").replaceChildren();
  if (now.view !== "talk") show("talk");
  else heading();
  forScene(now.role.scene ? now.role : null);
  remember(turn); // who opens the page anew meanwhile is here
  if (talk.coming) {
    draw();
    now.screen.grow(talk.coming);
  } else {
    await talk.open(turn);
    await quietly(() => rejoin(talk, true));
    if (!talk.path.length && !talk.coming) talk.begin(now.greetings);
  }
  talks.mark();
  toEnd(true);
  if (!touched()) $("say").focus({ preventScroll: true }); // there, half of the window would be keys
  await quietly(look);
  const sent = left(talk);
  if (sent && !talk.coming) {
    await quietly(() => talk.look()); // what of it was still said
    over(talk, talk.tree.holds(sent) ? "" : sent);
  }
  await quietly(() => because(talk));
}

// The sentence below the last reply: what it rests on.
async function because(talk) {
  const last = talk.path[talk.path.length - 1];
  if (!last || last.own || talk.coming || talk.known?.id === last.id) return;
  const known = await api.turn(talk.role, talk.thread, last.id);
  if (talk !== now.talk || talk.coming) return;
  talk.known = known;
  draw();
}

function draw() {
  const { talk } = now;
  now.screen.draw(talk);
  $("stop").hidden = !talk.coming;
  $("send").hidden = Boolean(talk.coming);
  if (talk.further) notice(t("further"), button(t("show_it"), () => (notice(""), talk.show(talk.head))));
  const last = talk.path[talk.path.length - 1];
  if (!talk.coming && talk.path.every((one) => one.first)) $("welcome").replaceChildren(greeting());
  else $("welcome").replaceChildren();
  for (const one of [$("waiting"), $("became")]) one.hidden = Boolean(talk.coming) || !one.children.length;
  if (last && !last.own && !talk.coming && wide() && whyOpen()) openWhy(last.id, false);
  if (!last) showWhy(null);
  remember();
}

const greeting = () => now.role.scene ? sceneGreeting(now.role) :
  h("div", { class: "greeting" }, face(now.role, "huge"), h("h2", {}, now.role.name), now.greetings.length ? null : h("p", {}, oneLine(now.role.line || now.role.profile, 300)),
    now.about.embedded ? h("p", { class: "faint" }, t("embedded")) : null);
const wide = () => matchMedia("(min-width: 70em)").matches;

/* What waits for a person on this talk: asked for when it is opened, after each turn, and when a window is looked at. */

async function look() {
  const { talk } = now;
  clearTimeout(look.timer);
  if (!talk || talk.fresh || talk.coming || now.role.kept) {
    showBecame(talk, null);
    return showWaiting(talk, null);
  }
  const waiting = await api.waiting(talk.role, talk.thread);
  if (talk !== now.talk || talk.coming) return undefined;
  if (waiting.going) look.timer = setTimeout(() => quietly(look), ASKED_AGAIN); // another window's turn
  const became = waiting.turn || waiting.going || talk.scene ? null : await api.became(talk.role, talk.thread);
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
  const name = talk?.scene && turn ? [...new Set(waiting.changes.map((one) => oneLine(one.triple.subject, 80)))].join(", ") : now.role.name;
  $("waiting").replaceChildren(...(turn ? waitingView(waiting, name, (approved) => answer(talk, turn, approved)) : []));
  $("waiting").hidden = !turn;
  if (turn) told(t("waits_for_you", { name }));
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
    $("say").focus({ preventScroll: true }); // what had the focus is gone
    const sentence = done ? sentenceOf(done) : t("answered_elsewhere");
    talk.known = null;
    now.why = null;
    await quietly(() => talk.look());
    if (talk.scene && talk.further) talk.show(talk.head); // its line is kept with the answer
    await quietly(look);
    draw();
    if (!done) notice(sentence);
    told(sentence);
    await quietly(() => because(talk));
  });
}

/* Taking turns. */

async function take(work) {
  const { talk } = now;
  if (talk.coming) return;
  const { fresh } = talk;
  told(talk.scene ? t("scene_thinks") : t("thinks", { name: now.role.name }));
  const asking = async () => {
    replying.add(talk);
    try {
      await work({ method: now.method, user: now.as, began: () => tell(talk) });
    } finally {
      replying.delete(talk);
      tell(talk);
      over(talk, talk.unsaid?.question);
      talk.unsaid = null;
    }
    const last = talk.path[talk.path.length - 1];
    if (last && talk === now.talk) told(talk.stopped || last.own ? t("stopped") : t("said", { name: now.role.name, text: now.screen.plain(last) }));
    if ((fresh && !talk.fresh) || talk !== now.talk) await quietly(() => talks.read());
  };
  now.asking = asking;
  await trying(asking);
  await quietly(look);
}

// Listen to a reply that the server makes on a talk: it goes on where nobody does.
async function rejoin(talk, anywhere = false) {
  const listen = await talk.joined((after, at) => talk === now.talk && (anywhere || after === at));
  if (listen) take(listen);
}

// The other windows of this browser show what is said here, as it is said.
const windows = new BroadcastChannel("dramaturg");
const tell = ({ role, thread }) => windows.postMessage({ role, thread });
windows.addEventListener("message", ({ data }) => {
  if (document.hidden || !now.about) return; // then it looks when it is seen
  if (now.talk && data.role === now.talk.role && data.thread === now.talk.thread) quietly(lookAgain);
  else quietly(() => talks.read());
});

// Leave a turn out of the branch; the one with it can be shown again.
function leaveOut(talk, id) {
  const before = talk.at;
  return trying(async () => {
    $("turns").classList.add("busy"); // the end of a long talk takes seconds to write down
    await talk.leaveOut(id).finally(() => talk === now.talk && draw());
    if (talk !== now.talk) return;
    const back = button(t("show_again"), () => {
      notice("");
      talk.show(before);
      $("say").focus({ preventScroll: true });
    });
    notice(t("was_left_out", { name: now.role.name, branches: t("branches"), memory: t("memory") }), back);
    back.focus({ preventScroll: true }); // what had the focus is gone
    await quietly(() => because(talk));
    await quietly(look);
    await quietly(() => talks.read());
  });
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  send($("say").value.trim());
});
function send(text) {
  const { talk } = now;
  if (!text || talk.coming) return;
  write("");
  talk.thread ||= threadName();
  typeFor(talk);
  take((how) => {
    underWay(talk, text);
    return talk.say(text, how);
  });
}
$("cues").addEventListener("click", () => openCues($("cues"), now.role, stageOf(now.role, now.talk.path), {
  send,
  begin: (text) => {
    write(text);
    $("say").focus();
  },
}));
$("say").addEventListener("keydown", (event) => sends(event, $("form")));
$("stop").addEventListener("click", () => now.talk?.stop());

/* Why. */

const whyOpen = () => document.body.classList.contains("why-open");

function setWhy(open) {
  document.body.classList.toggle("why-open", open);
  $("toggle-why").setAttribute("aria-pressed", String(open));
  if (wide()) localStorage.setItem(WHY, open ? "open" : "");
}

async function openWhy(id, wanted) {
  const { talk } = now;
  if (now.why === id && !wanted) return;
  now.why = id;
  now.screen.lookedAt(id);
  if (wanted) {
    setWhy(true);
    $("why").focus();
  }
  $("why-body").replaceChildren(h("p", { class: "faint" }, t("waits_why")));
  let view;
  try {
    const { whyView } = await fetched("why");
    view = whyView(talk.known?.id === id ? talk.known : await api.turn(talk.role, talk.thread, id), goTo, now.about.changes ? (one, role) => source(role || talk.role, one) : null, now.role);
  } catch (error) {
    const message = error instanceof api.Away ? t("away") : t("failed", { message: error.message });
    view = [h("p", { class: "warning" }, message), button(t("try_again"), () => openWhy(id, true))];
  }
  if (now.why !== id || talk !== now.talk) return;
  $("why-body").replaceChildren(...view);
  $("why").scrollTop = 0;
}

const source = (role, one) => trying(async () => (await fetched("source")).openSource(role, one, keyWanted));

function showWhy(view) {
  now.why = null;
  if (!wide()) document.body.classList.remove("why-open");
  $("why-body").replaceChildren(...(view ?? [h("p", { class: "faint" }, t("why_empty"))]));
}

function closeWhy() {
  setWhy(false);
  (document.querySelector(".looked-at .ask-why") ?? $("toggle-why")).focus();
  now.why = null;
  now.screen?.lookedAt("");
}
$("close-why").addEventListener("click", closeWhy);
$("toggle-why").addEventListener("click", () => {
  if (whyOpen()) return closeWhy();
  setWhy(true);
  const last = now.talk?.path.findLast((one) => !one.own);
  if (last && !now.talk.coming) return openWhy(last.id, true);
  return $("why").focus();
});

/* What is chosen. */

const settings = () => trying(setUp);

async function setUp() {
  await begun; // before, nobody knows what can be set here
  const told = now.methods.length ? await api.methods().catch(() => []) : []; // what each does and costs
  now.methods = now.methods.map((one) => ({ ...told.find((other) => other.id === one.id), ...one }));
  const { openSettings } = await fetched("settings");
  openSettings({
    methods: now.methods, chosen: now.method, as: now.as, worn: localStorage.getItem(THEME) ?? "", connection: now.about?.connection,
    pickMethod: (id) => {
      now.method = id;
      localStorage.setItem(METHOD, id);
      if (now.view === "knowledge") openKnowledge();
    },
    pickName: (name) => {
      now.as = name;
      localStorage.setItem(AS, name);
    },
    pickLanguage: async (chosenOne) => {
      await speakIn(chosenOne);
      translate(document);
      $("dialog").close();
      retold();
    },
    pickTheme: (theme) => {
      localStorage.setItem(THEME, theme);
      wear(theme);
    },
    connected: () => quietly(readRoles),
  });
}

// Light or dark, where that is not to be as the system has it.
function wear(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function retold() {
  quietly(() => talks.read());
  now.waiting = now.became = null;
  now.why = null;
  now.screen?.drawn.clear();
  if (now.view) show(now.view);
  if (!now.talk) return;
  quietly(look);
  draw();
}

$("open-settings").addEventListener("click", settings);
$("new").addEventListener("click", () => trying(async () => (now.role && !now.role.kept ? openRole(now.role) : show("gallery"))));
$("open-gallery").addEventListener("click", () => show("gallery"));
$("back").addEventListener("click", () => show("talk"));

function openSide(open) {
  document.body.classList.toggle("side-open", open);
  $("open-side").setAttribute("aria-expanded", String(open));
  if (open) $("new").focus();
}
const closeSide = () => openSide(false);
$("open-side").addEventListener("click", () => openSide(!document.body.classList.contains("side-open")));
$("close-side").addEventListener("click", () => (closeSide(), $("open-side").focus()));

// Who is talked to, and what there is about the character.
function heading() {
  const about = now.view !== "gallery" && now.view !== "casting" && now.role;
  $("title").replaceChildren(about
    ? button([faceOf(now.role), h("span", { class: "name" }, now.role.name), sign("down")], () => roleMenu(), { id: "about-role", "aria-haspopup": "menu" })
    : t(now.view === "casting" ? "cast" : "all_characters"));
  $("back").hidden = now.view === "talk" || !now.talk;
  $("toggle-why").hidden = now.view !== "talk";
  document.title = about ? `${now.role.name} · Dramaturg` : "Dramaturg";
}

function roleMenu() {
  const file = (form) => () => trying(() => api.download(api.roleFile(now.role.id, form)));
  if (now.role.scene) {
    return openMenu($("about-role"), [
      [t("heard_view"), () => show("heard"), { id: "open-heard" }],
      [t("branches"), branches, { id: "open-branches" }],
      ...(now.about.changes && !now.role.kept ? [
        [t(now.role.example ? "copy_scene" : "edit_scene"), () => stage(now.role.id), { id: "edit-scene" }],
        !now.role.example && [t("delete_scene"), deleteScene, { class: "danger" }],
      ] : []),
    ]);
  }
  return openMenu($("about-role"), [
    [t("knowledge"), () => show("knowledge"), { id: "open-knowledge" }],
    [t("memory"), () => show("memory"), { id: "open-memory" }],
    [t("branches"), branches, { id: "open-branches" }],
    [t("side_by_side"), () => show("both"), { id: "compare" }],
    [`${t("method")}: ${methodName(now.method)}`, settings, { id: "open-method" }],
    now.about.changes && [t("export_card"), file("card"), { id: "export-card" }],
    now.about.changes && [t("export_bundle"), file("bundle"), { id: "export-bundle" }],
  ]);
}

function branches() {
  const { talk } = now;
  const turns = treeList(talk.tree, talk.path.map((one) => one.id), (id) => {
    close();
    show("talk");
    talk.show(id);
  });
  const close = openDialog(t("branches"), [turns.length ? null : h("p", { class: "faint" }, t("no_branches")), h("ul", { id: "tree" }, turns)]);
}

/* What stands in the middle: the talk, two methods side by side, what the role knows or remembers, or casting another. */

const VIEWS = ["gallery", "talk", "both", "heard", "knowledge", "memory", "casting"];

function show(what, files, role) {
  now.view = what;
  for (const one of VIEWS) $(one).hidden = one !== what;
  document.body.classList.toggle("beside", what !== "talk");
  closeSide();
  heading();
  forScene(now.role?.scene ? now.role : null);
  if (what === "gallery") {
    now.opened += 1;
    gallery();
  }
  if (what === "both") opened(what, "compare", ({ compareView }) => compareView({ role: now.role.id, name: now.role.name, methods: now.methods, chosen: now.method, user: now.as, threadName, told }));
  if (what === "knowledge") openKnowledge(files);
  else $("knowledge").replaceChildren();
  if (what === "memory") openMemory();
  else $("memory").replaceChildren();
  if (what === "heard") openHeard();
  else $("heard").replaceChildren();
  if (what === "casting") openCasting(files, role);
  else $("casting").replaceChildren();
}

// What is not needed at once comes from the server when it is opened. Browsers keep that an address could not be read.
const failed = new Map();
async function fetched(part) {
  const again = failed.get(part) ?? 0;
  try {
    return await import(`./${part}.js${again ? `?${again}` : ""}`);
  } catch {
    failed.set(part, again + 1);
    throw new api.Away();
  }
}

// Open what comes so in the middle, if it is still wanted when it is there.
const opened = (what, part, open) => trying(async () => {
  const its = await fetched(part);
  if (now.view === what) open(its);
});

function gallery() {
  galleryView({ roles: now.roles, scenes: now.scenes, about: now.about, talk: (one) => trying(async () => (await openRole(one), one.story_of?.length && show("knowledge"))), make: () => make(), cast: () => show("casting"), stage: () => stage(), connect: settings });
}

const make = (files) =>
  newCharacter({ files, about: now.about, cast: () => show("casting"), made: (id) => talk(id) });

const stage = (id) => trying(async () => (await fetched("staging")).stageScene({ scene: id && await api.scene(id), roles: now.roles.filter((one) => !one.error && !one.story_of.length), as: now.as, done: async (made) => {
  const thread = made === now.role?.id && !now.talk?.fresh ? now.talk?.thread : "";
  await readRoles();
  await openRole(named(made), thread);
} }));

function deleteScene() {
  const { id, name } = now.role;
  askFor(t("delete_scene"), { means: t("delete_scene_keeps", { name }), ok: t("delete"), danger: true, done: () => trying(async () => {
    await api.changeScene(id, {}, "DELETE");
    await readRoles();
    now.role = now.talk = null;
    show("gallery");
    await talks.read();
  }) });
}

function openCasting(files, role) {
  const roles = now.roles.filter((one) => !one.error);
  opened("casting", "casting", ({ Casting }) => {
    const view = new Casting($("casting"), { roles, role, told, refused: keyWanted, changed: otherFiles, talk });
    view.open(files);
    $("casting").querySelector("h2").focus();
  });
}

// A role has other files than before, or there is another one: so have its methods, and the list of roles.
const otherFiles = () => quietly(async () => {
  await readRoles();
  if (!now.role || now.role.scene) return;
  now.methods = withProfile((await api.role(now.role.id)).methods);
  now.method = fitting(now.methods, now.method);
});

function talk(id) {
  trying(async () => {
    await readRoles();
    const role = now.roles.find((one) => one.id === id);
    if (role) await openRole(role);
  });
}

function openHeard() {
  const { role, talk } = now;
  const turn = talk.path.findLast((one) => !one.own)?.id ?? "";
  opened("heard", "heard", ({ Heard }) => new Heard($("heard"), { scene: role, thread: talk.fresh || !turn ? "" : talk.thread, turn, refused: keyWanted, go: (id) => goTo("", id) }).open());
}

function openMemory() {
  const { role, talk } = now;
  const turn = talk.fresh || talk.tree.get(talk.at)?.own ? "" : talk.at;
  opened("memory", "remembered", ({ Remembered }) => new Remembered($("memory"), {
    role: role.id, name: role.name, thread: talk.fresh ? "" : talk.thread, turn, user: now.as, told, refused: keyWanted, go: goTo, changed: forgotten,
  }).open());
}

// What was forgotten is on no screen, and in no reason of a reply.
async function forgotten() {
  now.talk.known = null;
  showWhy(null);
  await quietly(() => now.talk.look());
  await quietly(() => because(now.talk));
}

// Show a turn of a talk, wherever it stands, of this role or a scene; "" is this talk. It is found by any of its lines.
function goTo(thread, line, of = "") {
  show("talk");
  if (!wide()) setWhy(false);
  return trying(async () => {
    const scene = of && (of !== now.role.id || now.role.kept) ? named(of) : null;
    if (scene) await openRole(scene, thread);
    else if (thread && thread !== now.talk.thread) await openTalk(thread);
    const { talk } = now;
    const turn = [...talk.tree.turns.values()].find((one) => one.lines?.some((other) => other.id === line))?.id ?? line;
    if (!talk.tree.get(turn)) return;
    if (!talk.path.some((one) => one.id === turn)) talk.show(talk.tree.end(turn));
    now.screen.reveal(talk, turn);
  });
}

function openKnowledge(files) {
  const { method } = now;
  opened("knowledge", "knowledge", ({ Knowledge }) => new Knowledge($("knowledge"), { role: now.role.id, name: now.role.name, method, methodName: methodName(method), told, refused: keyWanted, changed: otherFiles, cast: () => show("casting", null, now.role.id) }).open(files));
}

/* A file that is dropped anywhere is not opened by the browser in the place of the page: the role may learn it, or
   somebody be cast from it. */
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  const files = [...(event.dataTransfer?.files ?? [])];
  if (!files.length || !now.about) return;
  if ($("dialog").open || (now.view === "gallery" && now.about.changes && /\.(png|json|charx)$/i.test(files[0].name))) make(files);
  else show(now.role && !now.role.scene && !["casting", "gallery"].includes(now.view) ? "knowledge" : "casting", files);
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing) return;
  if ($("dialog").open || $("menu").matches(":popover-open")) return;
  if (now.talk?.coming) now.talk.stop();
  else if (document.body.classList.contains("side-open")) $("close-side").click();
  else if (whyOpen()) closeWhy();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) quietly(lookAgain);
});
async function lookAgain() {
  const { talk } = now;
  if (!talk) return;
  await talk.look();
  await rejoin(talk);
  await look();
  await talks.read();
}
addEventListener("focus", () => quietly(lookAgain));

wear(localStorage.getItem(THEME));
translate(document);
setWhy(wide() && localStorage.getItem(WHY) === "open");
const begun = trying(start);
