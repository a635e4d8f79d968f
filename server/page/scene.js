// A scene on the screen: each line under who says it, what is narrated or whispered as such, and what can be done in it.

import { $, button, h, oneLine } from "./dom.js";
import { face } from "./faces.js";
import { saidText, showText } from "./markdown.js";
import { openMenu } from "./menu.js";
import { editor, Screen, toEnd } from "./screen.js";
import { t } from "./texts.js";
import { badge } from "./views.js";

const GROUPS = "scene:auto";

/* A scene as one that can be talked to: its cast with the faces of the roles. */
export function staged(scene, roles) {
  const cast = scene.cast.map((one) => ({ ...roles.find((role) => role.id === one.role), ...one, id: one.role }));
  return { ...scene, scene: true, cast, line: cast.map((one) => one.name).join(", ") };
}

export const sceneName = (id) => id.replace(/^scene:/, "").replaceAll(/[_-]/g, " ");

/* A scene that can be read alone: the group chats of other clients, which go on there, and one whose file is gone. */
export const unlisted = (id) => ({ id, name: id === GROUPS ? t("group_chat") : sceneName(id), scene: true, kept: true, cast: [] });

export const faces = (scene, kind = "") => h("span", { class: `faces ${kind}`, "aria-hidden": "true" }, scene.cast.slice(0, 4).map((one) => face(one, kind)));
export const faceOf = (one, kind = "") => (one.scene ? faces(one, kind) : face(one, kind));

/* What stands where nothing was said yet: the place, who is there, and whom one plays. */
export const sceneGreeting = (scene) =>
  h("div", { class: "greeting" }, faces(scene, "large"), h("h2", {}, scene.name), h("p", {}, scene.place),
    scene.opening ? h("p", { class: "narrated" }, scene.opening) : null,
    h("ul", { class: "cast" }, scene.cast.map((one) => h("li", {}, one.name, one.absent ? badge(t("is_absent")) : null, one.hidden ? badge(t("is_hidden")) : null))),
    h("p", { class: "faint" }, scene.user ? t("you_play", { name: scene.user }) : t("you_narrate")),
    h("p", { class: "faint" }, t("scene_begins")));

// Who is there after the turns on the screen.
export function stageOf(scene, path) {
  const last = path.findLast((one) => one.stage);
  if (last) return last.stage;
  const there = scene.cast.filter((one) => !one.absent);
  return { there: there.map((one) => one.id), hidden: there.filter((one) => one.hidden).map((one) => one.id), user: Boolean(scene.user) };
}

/* What can be done, as a menu: a command that needs no words is sent, and one that does is begun in the box. */
export function openCues(anchor, scene, stage, { send, begin }) {
  const there = scene.cast.filter((one) => stage.there.includes(one.id));
  const away = scene.cast.filter((one) => !stage.there.includes(one.id) || stage.hidden.includes(one.id));
  const seen = scene.cast.filter((one) => !stage.hidden.includes(one.id));
  const among = (text, roles, does) => roles.length > 0 && [t(text), () => openMenu(anchor, roles.map((one) => [one.name, () => does(one.name)]))];
  openMenu(anchor, [
    [t("cue_go"), () => send("/go")],
    among("cue_next", there, (name) => send(`/next ${name}`)),
    among("cue_whisper", there, (name) => begin(`/whisper ${name}: `)),
    [t("cue_narrate"), () => begin("/narrate ")],
    among("cue_enter", away, (name) => send(`/enter ${name}`)),
    among("cue_leave", there, (name) => send(`/leave ${name}`)),
    among("cue_hide", seen, (name) => send(`/hide ${name}`)),
    scene.user && [t(stage.user ? "cue_you_leave" : "cue_you_enter"), () => send(stage.user ? "/leave" : "/enter")],
  ]);
}

// The lines of a text in which the name of who speaks stands in front of each.
function linesIn(text, cast) {
  const names = new Map(cast.flatMap((one) => [[one.name, one], [one.id, one]]));
  const found = [];
  for (const part of String(text).split("\n\n")) {
    const [, name, rest] = part.match(/^([^:\n]{1,100}): ?([\s\S]*)$/) ?? [];
    if (names.has(name)) found.push({ by: names.get(name).id, kind: "line", text: rest, to: [] });
    else if (found.length) found[found.length - 1].text += `\n\n${part}`;
    else if (part) found.push({ by: "", kind: "narration", text: part, to: [] });
  }
  return found;
}

// A reply as it can be written anew: the name of who speaks stands in front of each line.
function written(one, cast) {
  const said = (one.lines ?? []).filter((line) => line.id !== one.id);
  const text = said.length === 1 ? `${said[0].by}: ${one.reply}` : one.reply;
  return cast.reduce((so, role) => so.replace(new RegExp(`^${role.id}: `, "gm"), `${role.name}: `), text);
}

export class SceneScreen extends Screen {
  named(id) {
    return this.role.cast.find((one) => one.id === id) ?? { id, name: id };
  }

  whispered(line) {
    if (line.kind !== "whisper") return null;
    const names = line.to.map((id) => this.named(id).name).join(", ") || (line.by !== "user" && this.role.user);
    return badge(names ? t("whispers_to", { names }) : t("whispers"), "some");
  }

  plain(one) {
    return written(one, this.role.cast);
  }

  // What the user's message does: it is said or whispered, narrated, or a command that nobody hears.
  askedView(one) {
    const line = one.lines?.find((other) => other.id === one.id);
    const unseen = h("span", { class: "unseen" }, t("you"));
    if (!line) return [/^\s*\//.test(one.question) ? "cue" : "", [unseen, h("p", { class: "text" }, one.question)]];
    if (line.kind === "narration" || line.kind === "event") return ["narrated", [unseen, saidText(line.text)]];
    if (!line.name) return ["narrated", [unseen, this.whispered(line), saidText(line.text)]];
    return ["", [h("span", { class: "who" }, line.name, " ", this.whispered(line)), saidText(line.text)]];
  }

  replied(talk, one, last) {
    const said = one.lines && !one.own ? one.lines.filter((line) => line.id !== one.id) : linesIn(one.reply, this.role.cast);
    const box = h("div", { class: "replies", tabindex: "-1" }, said.length ? said.map((line) => this.lineView(line)[0]) : h("p", { class: "narrated text" }, one.reply));
    this.endOf(talk, one, last, box, (save) => editor(box, this.plain(one), "save", save));
    return box;
  }

  lineView(line) {
    const text = saidText(line.text);
    if (!line.by) return [h("div", { class: "narrated" }, text), text];
    const role = this.named(line.by);
    return [h("div", { class: `reply ${line.kind === "whisper" ? "whispers" : ""}` }, face(role), h("div", { class: "words" }, h("span", { class: "who" }, role.name, " ", this.whispered(line)), text)), text];
  }

  comingItem(going) {
    if (this.coming?.of !== going) {
      const [kind, asked] = going.question ? this.askedView(going) : [];
      const lines = h("div", { class: "replies" });
      const thought = h("p", { class: "thought" }, t("scene_thinks"));
      const seconds = this.seconds(going.since);
      const item = h("li", { class: "turn coming", "aria-busy": "true" }, asked ? h("div", { class: `asked ${kind}` }, asked) : null, lines, thought, seconds);
      this.coming = { of: going, item, lines, thought, seconds };
    }
    return this.coming.item;
  }

  // Whose line comes is said before its first word is there.
  paint(going) {
    const { coming } = this;
    if (coming.painting) return;
    coming.painting = requestAnimationFrame(() => {
      coming.painting = 0;
      const said = linesIn(going.reply, this.role.cast);
      const { children } = coming.lines;
      said.forEach((line, at) => {
        if (children[at]?.dataset.by === line.by) return showText(children[at].querySelector(".text"), line.text, true);
        const [view] = this.lineView(line);
        view.dataset.by = line.by;
        if (children[at]) return children[at].replaceWith(view);
        return coming.lines.append(view);
      });
      const speaks = (going.speakers ?? []).length > said.length ? going.speakers[going.speakers.length - 1] : "";
      const text = speaks ? t("speaks", { name: this.named(speaks).name }) : t("scene_thinks");
      if (coming.thought.textContent !== text) coming.thought.textContent = text;
      coming.thought.hidden = !speaks && said.length > 0;
      coming.seconds.hidden = coming.thought.hidden;
      toEnd();
    });
  }

  grow(going) {
    if (this.coming?.of === going) this.paint(going);
  }
}

/* The scenes in the gallery. */
export function sceneCards(scenes, open) {
  return h("ul", { class: "roles scenes" }, scenes.map((one) => (one.error
    ? h("li", { class: "broken" }, h("h4", {}, one.name), h("p", { class: "faint" }, t("broken", { message: oneLine(one.error, 200) })))
    : h("li", { class: "character" }, faces(one, "large"),
      h("div", { class: "words" }, h("h4", {}, button(one.name, () => open(one))), h("p", { class: "line" }, oneLine(one.place, 130)), h("p", { class: "line" }, one.line))))));
}

/* The box in which one writes: what it is for in a scene, and the menu beside it. */
export function forScene(scene) {
  const kept = Boolean(scene?.kept);
  $("cues").hidden = !scene || kept;
  $("say").disabled = $("send").disabled = kept;
  $("say").setAttribute("placeholder", kept ? t(scene.id === GROUPS ? "group_goes_on" : "scene_gone") : scene ? t(scene.user ? "say_in_scene" : "say_narrates", { name: scene.user }) : t("say"));
}
