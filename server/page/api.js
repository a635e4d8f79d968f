// The server's API, and nothing else: models, roles, threads, and turns as they come.

import { h, oneLine } from "./dom.js";
import { language } from "./texts.js";

const KEY = "dramaturg-key";

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

// The server is not there, or went away before it had said everything.
export class Away extends Error {}

export const hasKey = () => Boolean(sessionStorage.getItem(KEY));
export const keepKey = (key) => sessionStorage.setItem(KEY, key);
export const dropKey = () => sessionStorage.removeItem(KEY);

async function request(path, options = {}) {
  const headers = { ...options.headers };
  const key = sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Away();
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw refusal(response.status, body.error);
}

const refusal = (status, error) =>
  new Refused(status, String(error?.code ?? ""), oneLine(error?.message ?? `HTTP ${status}`, 600));

const read = async (path) => (await request(path)).json();
const at = (thread) => `/v1/threads/${encodeURIComponent(thread)}`;
const of = (role) => `role=${encodeURIComponent(role)}`;

export const health = () => read("/health");
export const roles = () => read("/v1/roles");
const sceneAt = (id) => `/v1/scenes/${encodeURIComponent(id)}`;
export const scene = (id) => read(sceneAt(id));
export const newScene = async (body) => (await post("/v1/scenes", body)).json();
export const changeScene = async (id, body, method = "PATCH") => (await request(sceneAt(id), { method, headers: JSON_SENT, body: JSON.stringify(body) })).json();
export const scenes = async () => (await read("/v1/scenes")).data;
export const role = (id, user = "") => read(`/v1/roles/${encodeURIComponent(id)}?${new URLSearchParams({ user })}`);
// The talks with all roles that have some words, those that were pinned first, then by when they were last spoken on.
export const talks = (words, limit) => read(`/v1/threads?${new URLSearchParams({ search: words, limit })}`);
export const tree = (id, thread) => read(`${at(thread)}/tree?${of(id)}`);
export const turn = (id, thread, one) => read(`${at(thread)}/turns/${encodeURIComponent(one)}?${of(id)}&language=${language}`);

export const heard = (scene, thread, turn) => read(`${at(thread)}/heard?${new URLSearchParams({ role: scene, turn })}`);

export const talkFile = (one, form) => `${at(one.id)}/export?${of(one.role)}&form=${form}`;
export const roleFile = (id, form) => `${about(id)}/export?form=${form}`;
const changed = (one, method, body) => request(`${at(one.id)}?${of(one.role)}`, { method, headers: JSON_SENT, body: JSON.stringify(body) });
export const leaveOut = async (id, thread, turn, until) => (await post(`${at(thread)}/leave-out?${of(id)}`, { turn, until })).json();
export const changeTalk = (one, body) => changed(one, "PATCH", body);
export const deleteTalk = (one) => changed(one, "DELETE", {});
export const newRole = async (body) => (await post("/v1/roles", body)).json();
export const importRole = async (file, preview = false) => (await post(`/v1/roles/import${preview ? "?preview=1" : ""}`, { file })).json();

export const methods = async () => (await read(`/v1/methods?language=${language}`)).data;
export const connection = () => read("/v1/connection");
export const connect = async (body) => (await post("/v1/connection", body)).json();
export const disconnect = async () => (await request("/v1/connection", { method: "DELETE", headers: JSON_SENT, body: "{}" })).json();
export const checkModel = (shown) => worked("/v1/connection/check", {}, shown);

export const blob = async (path) => (await request(path)).blob();

// Save what an address gives as a file, by the name that the server gives it.
export async function download(path) {
  const response = await request(path);
  const given = response.headers.get("Content-Disposition") ?? "";
  const coded = given.match(/filename\*=(?:UTF-8|utf-8)''([^;]+)/)?.[1];
  const href = URL.createObjectURL(await response.blob());
  h("a", { href, download: coded ? decodeURIComponent(coded) : given.match(/filename="?([^";]+)/)?.[1] ?? "talk" }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}


// A part of what is written of a role; see source.js.
export const source = (id, asked) => read(`${about(id)}/source?${new URLSearchParams(asked)}`);

// What a role remembers of who asks: of a thread up to a turn, and of that person's other talks.
export const remembered = (id, asked) => {
  const given = Object.entries(asked).filter(([, value]) => value);
  return read(`${about(id)}/remembered?${new URLSearchParams(given)}`);
};

/* What waits for a person, and what a role knows. */

const JSON_SENT = { "Content-Type": "application/json" };
const post = (path, body) => request(path, { method: "POST", headers: JSON_SENT, body: JSON.stringify(body) });
export const toForget = async (id, thread, ids) => (await post(`${at(thread)}/forget/preview?${of(id)}`, { ids })).json();
export const forget = async (id, thread, ids) => (await post(`${at(thread)}/forget?${of(id)}`, { ids })).json();
export const note = async (id, thread, text) => (await post(`${at(thread)}/notes?${of(id)}`, { text })).json();
export const pin = async (id, thread, ids, pinned) => (await post(`${at(thread)}/pin?${of(id)}`, { ids, pinned })).json();
const about = (id) => `/v1/roles/${encodeURIComponent(id)}`;

export const waiting = (id, thread) => read(`${at(thread)}/waiting?${of(id)}`);
export const answer = async (id, thread, turn, approved) => (await post(`${at(thread)}/answer?${of(id)}`, { turn, approved })).json();
export const became = (id, thread) => read(`${at(thread)}/became?${of(id)}`);
export const write = async (id, thread, became, accepted) => (await post(`${at(thread)}/became?${of(id)}`, { became, accepted })).json();
export const knowledge = (id, method) => read(`${about(id)}/knowledge?method=${encodeURIComponent(method)}`);
export const graph = (id, method) => read(`${about(id)}/graph?method=${encodeURIComponent(method)}`);
export const merges = (id) => read(`${about(id)}/merges`);
export const preview = async (id, body) => (await post(`${about(id)}/knowledge/preview`, body)).json();

// Change what a role knows; `shown` hears how far it is.
export const work = (id, path, body, shown) => worked(`${about(id)}/${path}`, body, shown);

/* Casting: who is in texts, what it costs, and what was drafted of a role. */

export const casting = () => read("/v1/casting");
export const people = async (body) => (await post("/v1/casting/people", body)).json();
export const castCost = async (body) => (await post("/v1/casting/preview", body)).json();
export const cast = (body, shown) => worked("/v1/casting", body, shown);
export const drafts = (id, shown) => read(`${about(id)}/drafts?shown=${shown}`);
export const draft = (id, kind, number) => read(`${about(id)}/drafts/${kind}/${number}`);
export const decide = async (id, shown, body) => (await post(`${about(id)}/drafts?shown=${shown}`, body)).json();
export const edit = async (id, shown, kind, number, body) => (await post(`${about(id)}/drafts/${kind}/${number}?shown=${shown}`, body)).json();

async function worked(path, body, shown) {
  const response = await post(path, body);
  for await (const data of events(response.body)) {
    if (data === "[DONE]") break;
    const part = JSON.parse(data);
    if (part.error) throw refusal(0, part.error);
    if (part.object === "done") return part;
    shown(part);
  }
  throw new Away();
}

// The newest exchanges that are sent: the server finds their place on a branch by them.
const WINDOW = 400;

export function messagesOf(path) {
  return path.slice(-WINDOW).flatMap((one) => [
    ...(one.question ? [{ role: "user", content: one.question }] : []),
    ...(one.reply ? [{ role: "assistant", content: one.reply }] : []),
  ]);
}

/* Have a turn taken. The server goes on with it when this window is left: it is joined again, or stopped.
   `heard` gets every part of the reply, `thought` every line of why; returns what ended it: the id of the `turn`, empty
   where none is kept, and whether it was `stopped`. What comes to an end without its last word was cut off. */
export async function speak({ model, thread, messages, kind, wish, user, signal, began = () => null, ...hears }) {
  const response = await request("/v1/chat/completions", {
    method: "POST",
    signal,
    headers: { "Content-Type": "application/json", "X-Gen-Type": kind },
    body: JSON.stringify({ model, messages, stream: true, background: true, user: user || undefined, metadata: { thread_id: thread, role_wish: wish || undefined } }),
  });
  began();
  return listened(events(response.body), hears);
}

// The turn that comes on a thread: what it answers, and how it is listened to from its beginning; null: none comes.
export async function join(id, thread, signal) {
  const response = await request(`${at(thread)}/coming?${of(id)}`, { signal });
  if (response.status === 204) return null;
  const parts = events(response.body);
  const { value } = await parts.next();
  return value ? { ...JSON.parse(value), listen: (hears) => listened(parts, hears) } : null;
}

export const stop = async (id, thread) => (await post(`${at(thread)}/stop?${of(id)}`, {})).json();

async function listened(parts, { heard, thought, speaks = () => null }) {
  let end = { turn: "", stopped: false };
  for await (const data of parts) {
    if (data === "[DONE]") return end;
    const part = JSON.parse(data);
    if (part.error) throw refusal(0, part.error);
    if ("turn" in part) end = { turn: part.turn, stopped: Boolean(part.stopped) };
    if (part.speaker) speaks(part.speaker);
    const delta = part.choices?.[0]?.delta ?? {};
    if (delta.reasoning_content) thought(delta.reasoning_content);
    if (delta.content) heard(delta.content);
  }
  throw new Away();
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let left = "";
  while (true) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Away();
    }
    if (part.done) return;
    left += part.value;
    const whole = left.split("\n\n");
    left = whole.pop();
    for (const one of whole) if (one.startsWith("data: ")) yield one.slice(6);
  }
}
