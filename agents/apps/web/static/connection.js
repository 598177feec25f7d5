"use strict";

const GONE = 4404; // the code of the server for an unknown game
const FIRST_WAIT = 500; // milliseconds before the next attempt
const LONGEST_WAIT = 8000;

/** The websocket of a page; it connects again when the connection is lost. */
class Connection {
  constructor(path, onMessage, onState) {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.url = `${scheme}//${location.host}${path}`;
    this.onMessage = onMessage;
    this.onState = onState; // "connecting", "open", "lost" or "gone"
    this.wait = FIRST_WAIT;
    this.connect();
  }

  connect() {
    this.onState("connecting");
    this.socket = new WebSocket(this.url);
    this.socket.addEventListener("open", () => {
      this.wait = FIRST_WAIT;
      this.onState("open");
    });
    this.socket.addEventListener("message", (event) => this.onMessage(JSON.parse(event.data)));
    this.socket.addEventListener("close", (event) => this.lost(event.code));
  }

  lost(code) {
    if (code === GONE) {
      this.onState("gone");
      return;
    }
    this.onState("lost");
    setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}
