// A talk: the branch on the screen, and what a person can do with it. What is drawn of it is in screen.js.

import * as api from "./api.js";
import { Tree } from "./branches.js";

export class Talk {
  /* `draw` is called when the branch on the screen is another; `grow` while a reply comes. */
  constructor({ role, thread, fresh, draw, grow }) {
    Object.assign(this, { role, thread, fresh, draw, grow });
    this.scene = role.startsWith("scene:");
    this.tree = new Tree();
    this.head = null; // the turn that was spoken on last
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

  // Another reply, as it is wished.
  swipe(id, how, wish = "") {
    const one = this.tree.get(id);
    return this.take({ after: one.after, question: one.question, begun: "", kind: "swipe", wish }, how);
  }

  goOn(id, how) {
    if (this.scene) return this.say("/go", how);
    const one = this.tree.get(id);
    return this.take({ after: one.after, question: one.question, begun: one.reply, kind: "continue", wish: one.wish }, how);
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

  take(asked, how) {
    if (this.coming) return undefined;
    const path = this.tree.path(asked.after);
    const messages = [...api.messagesOf(path), ...api.messagesOf([{ question: asked.question || "…", reply: asked.begun }])];
    return this.follow(asked, path, (going, hears) => api.speak({
      model: this.scene ? this.role : `${this.role}:${how.method}`,
      thread: this.thread,
      messages,
      kind: asked.kind,
      wish: asked.wish,
      user: how.user,
      signal: going.stopper.signal,
      began: () => {
        going.taken = true;
        how.began();
      },
      ...hears,
    }));
  }

  /* A turn that the server takes on this thread and nobody listens to here: the page was opened anew, the server was
     away, or another window has asked. `wanted` says whether one that comes after a turn is to be shown, and gets what it
     comes after and the end of what is on the screen. Returns what listens to it; null: there is none. */
  async joined(wanted) {
    if (this.coming || this.fresh) return null;
    const stopper = new AbortController();
    const turn = await api.join(this.role, this.thread, stopper.signal);
    if (!turn) return null;
    await this.read();
    const after = this.tree.get(turn.after) ? turn.after : null;
    const cut = this.tree.get(this.at);
    const lost = cut?.streamed && cut.after === after && cut.question === turn.question;
    if (this.coming || !wanted(after, lost ? after : this.at)) {
      stopper.abort();
      return null;
    }
    if (lost) this.drop([cut]);
    this.at = after;
    const asked = { after, question: turn.question, begun: turn.begun, wish: turn.wish, kind: this.tree.holds(turn.question) ? "again" : "normal" };
    return () => this.follow(asked, [], (going, hears) => {
      Object.assign(going, { taken: true, stopper, since: Date.now() - 1000 * turn.seconds });
      return turn.listen(hears);
    });
  }

  async follow(asked, path, listen) {
    const before = this.at;
    const going = { ...asked, reply: asked.begun, thoughts: [], speakers: [], since: Date.now(), stopper: new AbortController() };
    this.coming = going;
    this.further = null;
    this.stopped = false;
    this.at = asked.after;
    this.draw();
    try {
      const { turn, stopped } = await listen(going, {
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
      this.stopped = stopped;
      if (stopped && !turn) this.unsay(going, before);
      else await this.settled(going, turn, path);
    } catch (error) {
      this.failed(going, before, error);
    } finally {
      this.coming = null;
      this.draw();
    }
  }

  async settled(going, id, path) {
    this.fresh = false;
    this.left = false;
    const whole = id && !this.scene && !this.stopped;
    const kept = whole ? await api.turn(this.role, this.thread, id).catch(() => null) : null;
    if (kept) this.known = kept;
    if (!whole || path.some((one) => one.own)) {
      this.drop(path);
      await this.read();
    } else this.tree.add({ id, after: going.after, question: kept?.question ?? going.question, reply: kept?.reply ?? going.reply, wish: going.wish });
    this.head = this.tree.get(id) ? id : this.head;
    this.at = this.head;
    // A line of a scene that waits for approval is kept with the answer to that.
    if (this.scene && id && !this.tree.get(id)) this.at = this.own({ after: this.head, question: going.question, reply: going.reply, streamed: true }).id;
  }

  drop(path) {
    for (const one of path) if (one.own) this.tree.turns.delete(one.id);
    this.tree.index();
  }

  // What was not said leaves the branch as it was, and can be said again.
  unsay(going, before) {
    this.at = before;
    this.unsaid = going.kind === "normal" ? going : null;
  }

  /* Refused, or cut off: what was said stands. A turn that the server has begun may still come where it is away: it is
     looked for when the server is back. */
  failed(going, before, error) {
    const away = error instanceof api.Away;
    if (going.reply.length > going.begun.length || (away && going.taken)) {
      this.fresh = false;
      const { after, question, reply } = going;
      this.at = this.own({ after, question, reply, streamed: true, cut: true, error: error.status === 0 ? error.message : "" }).id;
      error.taken = true;
      if (away) throw error;
      return;
    }
    this.unsay(going, before);
    this.stopped = error.name === "AbortError";
    if (!this.stopped) throw error;
  }

  // The server ends the turn; where it knows of none yet, nobody listens to it.
  async stop() {
    const going = this.coming;
    if (!going) return;
    const { stopped } = await api.stop(this.role, this.thread).catch(() => ({ stopped: false }));
    if (!stopped && this.coming === going && !going.taken) going.stopper.abort();
  }
}

// What was streamed may be a word more than what came here; of a scene, who speaks may be named in another way.
function alike(one, other, scene) {
  const [a, b] = [one, other].map(({ reply }) => [reply, ...(scene ? [reply.replace(/(^|\n\n)[^:\n]{1,100}: ?/g, "$1")] : [])].map((text) => text.replace(/\s+/g, "")));
  return one.question.trim() === other.question.trim() && a.some((said) => b.some((text) => said.startsWith(text) || text.startsWith(said)));
}
