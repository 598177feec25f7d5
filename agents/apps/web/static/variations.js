"use strict";

/** A game with all its variations: every node has the move that led there; the first child is the main line. */
class Variations {
  constructor() {
    this.root = Variations.newNode(null, null);
    this.node = this.root;
  }

  /** `rest` is what a file said of the node to other programs; it is kept. */
  static newNode(action, parent) {
    return { action, parent, children: [], frame: null, choices: null, comment: "", rest: "" };
  }

  /** The tree that the server has read: moves as [place of the parent, action, comment, rest]. */
  static fromMoves({ moves, comment, rest }) {
    const found = new Variations();
    Object.assign(found.root, { comment, rest });
    const nodes = [];
    for (const [parent, action, ...texts] of moves) {
      const node = found.child(parent < 0 ? found.root : nodes[parent], action);
      [node.comment, node.rest] = texts;
      nodes.push(node);
    }
    found.node = found.line(found.root).at(-1);
    return found;
  }

  /** The same for the server. */
  toMoves() {
    const places = new Map([[this.root, -1]]);
    const moves = [];
    const waiting = [...this.root.children].reverse();
    while (waiting.length > 0) {
      const node = waiting.pop();
      places.set(node, moves.length);
      moves.push([places.get(node.parent), node.action, node.comment, node.rest]);
      waiting.push(...[...node.children].reverse());
    }
    return { moves, comment: this.root.comment, rest: this.root.rest };
  }

  /** The nodes from the root to one, and on along the main line. */
  line(node = this.node) {
    const nodes = this.wayTo(node);
    let last = node;
    while (last.children.length > 0) {
      [last] = last.children;
      nodes.push(last);
    }
    return nodes;
  }

  wayTo(node) {
    const nodes = [];
    for (let at = node; at !== null; at = at.parent) nodes.unshift(at);
    return nodes;
  }

  /** The child of a node by an action, which may be new. */
  child(node, action) {
    const known = node.children.find((child) => child.action === action);
    if (known !== undefined) return known;
    const child = Variations.newNode(action, node);
    node.children.push(child);
    return child;
  }

  /** Make the way to the present node the main line. */
  promote() {
    for (let { node } = this; node.parent !== null; node = node.parent) {
      const siblings = node.parent.children;
      siblings.splice(siblings.indexOf(node), 1);
      siblings.unshift(node);
    }
  }

  /** Remove the present node and all after it; its parent becomes the present one. */
  remove() {
    const { node } = this;
    if (node.parent === null) return;
    node.parent.children.splice(node.parent.children.indexOf(node), 1);
    this.node = node.parent;
  }

  /** The sibling of the present node, further by a number, or the node itself. */
  sibling(by) {
    if (this.node.parent === null) return this.node;
    const siblings = this.node.parent.children;
    return siblings[(siblings.indexOf(this.node) + by + siblings.length) % siblings.length];
  }

  /**
   * The tree as text: actions with dots between them, variations in brackets after the main move,
   * an exclamation mark after the present one, and comments in quotes; at the beginning for the start.
   */
  toText() {
    const mark = (node) => (node === this.node ? "!" : "");
    const note = (node) => (node.comment === "" ? "" : `"${encodeURIComponent(node.comment)}"`);
    const move = (node) => `${node.action}${mark(node)}${note(node)}`;
    const after = (node) => (node.children.length > 0 ? `.${below(node)}` : "");
    const below = (node) => {
      const [main, ...others] = node.children;
      const rest = others.map((child) => `(${move(child)}${after(child)})`).join("");
      return `${move(main)}${rest}${after(main)}`;
    };
    return mark(this.root) + note(this.root) + (this.root.children.length > 0 ? below(this.root) : "");
  }

  /** The tree of a text; without a mark the end of the main line is present. An error if it is none. */
  static fromText(text) {
    const found = new Variations();
    const tokens = text.match(/\d+|"[^"]*"|[().!]/g) ?? [];
    if (tokens.join("") !== text) throw new Error("expected moves and variations");
    let node = found.root; // whose child comes next
    let last = found.root; // the move that was read last
    const open = [];
    for (const token of tokens) {
      if (token === "(") {
        open.push([node, last]);
        node = last.parent;
      } else if (token === ")") {
        [node, last] = open.pop();
      } else if (token === ".") {
        node = last;
      } else if (token === "!") {
        found.node = last;
      } else if (token.startsWith('"')) {
        last.comment = decodeURIComponent(token.slice(1, -1));
      } else {
        last = found.child(node, Number(token));
      }
    }
    if (!tokens.includes("!")) found.node = found.line(found.root).at(-1);
    return found;
  }
}
