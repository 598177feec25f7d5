"use strict";

/** A labelled select, or an input if other texts are allowed; its default is shown in it. */
function labelledField(key, { words, value, default: standard, limits, proposed, is_required: isRequired = true }) {
  const labels = { c: "exploration (c)", net: "network" };
  const shown = { true: "yes", false: "no" };
  const label = textElement("label", labels[key] ?? key.replaceAll("_", " "));
  const input = document.createElement(words.length > 0 ? "select" : "input");
  input.name = key;
  if (words.length > 0 && !isRequired) input.append(new Option(shown[standard] ?? standard, ""));
  for (const word of words) {
    if (isRequired || word !== standard) input.append(new Option(shown[word] ?? word, word));
  }
  if (value) input.value = value;
  if (words.length === 0) {
    const [least, most] = limits ?? [null, null];
    input.placeholder = standard || (most === null ? "" : `${least} - ${most}`);
    if (most !== null) input.title = `${least} - ${most}`;
    if (limits) input.inputMode = "decimal";
    if (proposed?.length > 0) label.append(proposals(key, proposed));
    if (proposed?.length > 0) input.setAttribute("list", `proposed-${key}`);
  }
  label.append(input);
  return label;
}

function proposals(key, words) {
  const list = document.createElement("datalist");
  list.id = `proposed-${key}`;
  list.append(...words.map((word) => new Option(word)));
  return list;
}

/** The fields of a part of a form as `key=value`, except the empty ones. */
function pairsIn(id) {
  return [...byId(id).querySelectorAll("input, select")]
    .filter((input) => input.value.trim() !== "")
    .map((input) => `${input.name}=${input.value.trim()}`);
}

function fillSelect(id, pairs, chosen) {
  const options = pairs.map(([name, title]) => new Option(title, name, false, name === chosen));
  byId(id).replaceChildren(...options);
}

/** The part of a form with a game and its options. */
class GameFields {
  constructor(games, onChange) {
    this.games = games;
    const titles = Object.entries(games).map(([name, { title }]) => [name, title]);
    fillSelect("game", titles, "hex");
    byId("game").addEventListener("change", () => { this.show(); onChange?.(); });
    this.show();
  }

  get game() {
    return this.games[byId("game").value];
  }

  /** Show the options of the game, with some values as `key=value`. */
  show(given = []) {
    const values = Object.fromEntries(given.map((pair) => pair.split(/=(.*)/s)));
    byId("options").replaceChildren(...Object.entries(this.game.options).map(([key, { words, default: standard }]) => (
      labelledField(key, { words, value: values[key] ?? standard })
    )));
  }

  /** The options that are not as by default. */
  options() {
    const { options } = this.game;
    return pairsIn("options").filter((pair) => {
      const [key, value] = pair.split(/=(.*)/s);
      return value !== options[key].default;
    });
  }
}

/** The part of a form with an agent and its parameters. */
class AgentFields {
  constructor(agents) {
    this.agents = agents;
    fillSelect("agent", agents.map(({ name }) => [name, name]), "uct");
    byId("agent").addEventListener("change", () => this.show({}));
  }

  /** Choose an agent by its text. */
  take(text) {
    const [name, ...rest] = text.split(":");
    byId("agent").value = name;
    this.show(Object.fromEntries(rest.join(":").split(",").map((pair) => pair.split(/=(.*)/s))));
  }

  /** Show the parameters of the agent, with some values. */
  show(values) {
    const { about, parameters } = this.agents.find(({ name }) => name === byId("agent").value);
    byId("about").textContent = about.replaceAll("`", "");
    byId("parameters").replaceChildren(...Object.entries(parameters).map(([key, field]) => (
      labelledField(key, { ...field, value: values[key] })
    )));
  }

  /** The agent with its parameters as text. */
  text() {
    const parameters = pairsIn("parameters");
    return byId("agent").value + (parameters.length > 0 ? `:${parameters.join(",")}` : "");
  }
}
