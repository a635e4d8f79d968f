// A talk: the branch on the screen, and what a person can do with it. What is drawn of it is in screen.js.

import * as api from "./api.js";
import { Tree } from "./branches.js";

const TRIES = [200, 400, 800, 1600, 3000]; // milliseconds until what was kept of a stopped reply is looked for

export class Talk {
  /* `draw` is called when the branch on the screen is another; `grow` while a reply comes. */
  constructor({ role, thread, fresh, draw, grow }) {
    Object.assign(this, { role, thread, fresh, draw, grow });
    this.scene = role.startsWith("scene:");
    this.tree = new Tree();
    this.at = null; // the last turn on the screen
    this.coming = null; // the turn that is being taken
    this.further = null; // what another window has said after the end of this branch
    this.made = 0;
  }

  get path() {
    return this.tree.path(this.at);
  }

  async open(turn) {
    if (!this.fresh) await this.read();
    this.at = turn && this.tree.get(turn) ? turn : this.head;
    this.draw();
  }

  // What the role may say first stands here until something was said: it goes with the first message.
  begin(greetings) {
    const [first] = greetings.map((reply) => this.own({ after: null, question: "", reply, first: true }));
    if (first) this.show(first.id);
  }

  // Read the thread again; turns that are on this screen alone stay.
  async read() {
    let read;
    try {
      read = await api.tree(this.role, this.thread);
    } catch (error) {
      if (error.code !== "not_found") throw error;
      read = { head: null, turns: [] };
    }
    const own = [...this.tree.turns.values()].filter((one) => one.own && !(one.first && read.turns.length));
    for (const one of own.filter((other) => other.streamed)) {
      // The server keeps what was streamed before a stop: it takes the place of this screen's own.
      const kept = read.turns.find((other) => !this.tree.get(other.id) && alike(other, one, this.scene));
      if (!kept) continue;
      own.splice(own.indexOf(one), 1);
      for (const other of own) if (other.after === one.id) other.after = kept.id;
      if (this.at === one.id) this.at = kept.id;
    }
    this.tree = new Tree([...read.turns, ...own]);
    this.head = read.head;
  }

  // What another window has said since: this screen stays as it is, and says that there is more.
  async look() {
    if (this.coming || this.fresh) return;
    await this.read();
    if (this.coming) return;
    const led = this.tree.path(this.head).map((one) => one.id);
    this.further = this.at !== this.head && led.includes(this.at) && !this.left ? this.head : null;
    if (!this.tree.get(this.at)) this.at = this.head;
    this.draw();
  }

  show(id) {
    this.left = id !== this.head && this.tree.path(this.head).some((one) => one.id === id);
    this.further = null;
    this.at = id;
    this.draw();
  }

  say(question, how) {
    return this.take({ after: this.at, question, begun: "", kind: "normal" }, how);
  }

  swipe(id, how) {
    const one = this.tree.get(id);
    return this.take({ after: one.after, question: one.question, begun: "", kind: "swipe" }, how);
  }

  goOn(id, how) {
    if (this.scene) return this.say("/go", how);
    const one = this.tree.get(id);
    return this.take({ after: one.after, question: one.question, begun: one.reply, kind: "continue" }, how);
  }

  ask(id, question, how) {
    return this.take({ after: this.tree.get(id).after, question, begun: "", kind: "normal" }, how);
  }

  // A reply in other words: it is on this screen, and the role has said it as soon as the next turn follows.
  rewrite(id, reply) {
    const one = this.tree.get(id);
    this.show(this.own({ after: one.after, question: one.question, reply }).id);
  }

  // A branch without a turn: the server writes down again what follows it, and what is on this screen alone follows that.
  async leaveOut(id) {
    const one = this.tree.get(id);
    if (one.own) return this.show(one.after);
    const last = this.tree.get(this.at);
    await api.leaveOut(this.role, this.thread, id, last.own ? last.after : last.id);
    await this.read();
    return this.show(last.own ? this.own({ ...last, after: this.head }).id : this.head);
  }

  own(one) {
    this.made += 1;
    const kept = { ...one, id: `own-${this.made}`, own: true };
    this.tree.add(kept);
    return kept;
  }

  async take(asked, how) {
    if (this.coming) return;
    const before = this.at;
    const path = this.tree.path(asked.after);
    const messages = [...api.messagesOf(path), ...api.messagesOf([{ question: asked.question || "…", reply: asked.begun }])];
    const going = { ...asked, reply: asked.begun, thoughts: [], speakers: [], since: Date.now(), stopper: new AbortController() };
    this.coming = going;
    this.further = null;
    this.at = asked.after;
    this.draw();
    try {
      const id = await api.speak({
        model: this.scene ? this.role : `${this.role}:${how.method}`,
        thread: this.thread,
        messages,
        kind: asked.kind,
        user: how.user,
        signal: going.stopper.signal,
        heard: (text) => {
          if (going.reply && going.reply === asked.begun && !/\s$/.test(going.reply)) going.reply += " ";
          going.reply += text;
          this.grow(going);
        },
        thought: (text) => {
          going.thoughts.push(text.trim());
          this.grow(going);
        },
        speaks: (role) => {
          going.speakers.push(role);
          this.grow(going);
        },
      });
      await this.settled(going, id, path);
    } catch (error) {
      await this.failed(going, before, error);
    } finally {
      this.coming = null;
      this.draw();
    }
  }

  async settled(going, id, path) {
    this.fresh = false;
    this.left = false;
    const kept = id && !this.scene ? await api.turn(this.role, this.thread, id).catch(() => null) : null;
    if (kept) this.known = kept;
    if (!id || this.scene || path.some((one) => one.own)) {
      this.drop(path);
      await this.read();
    } else this.tree.add({ id, after: going.after, question: kept?.question ?? going.question, reply: kept?.reply ?? going.reply });
    this.head = this.tree.get(id) ? id : this.head;
    this.at = this.head;
  }

  drop(path) {
    for (const one of path) if (one.own) this.tree.turns.delete(one.id);
  }

  // Stopped, refused, or cut off: what was said stands, and what was not said leaves the branch as it was.
  async failed(going, before, error) {
    const stopped = error.name === "AbortError";
    if (going.reply.length > going.begun.length) {
      this.fresh = false;
      const { after, question, reply } = going;
      this.at = this.own({ after, question, reply, streamed: true, cut: !stopped, error: error.status === 0 ? error.message : "" }).id;
      if (stopped) await this.kept();
      return;
    }
    this.at = before;
    this.unsaid = going.kind === "normal" ? going : null;
    if (!stopped) throw error;
  }

  async kept() {
    for (const wait of TRIES) {
      await new Promise((done) => setTimeout(done, wait));
      await this.read().catch(() => null);
      if (!this.tree.get(this.at)?.own) return;
    }
  }

  stop() {
    this.coming?.stopper.abort();
  }
}

// What was streamed may be a word more than what came here; of a scene, who speaks may be named in another way.
function alike(one, other, scene) {
  const [a, b] = [one, other].map(({ reply }) => [reply, ...(scene ? [reply.replace(/(^|\n\n)[^:\n]{1,100}: ?/g, "$1")] : [])].map((text) => text.replace(/\s+/g, "")));
  return one.question.trim() === other.question.trim() && a.some((said) => b.some((text) => said.startsWith(text) || text.startsWith(said)));
}
