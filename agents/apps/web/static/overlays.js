"use strict";

/** The overlays: the discs for the actions of a search. `strength` is from -1 to 1. */
const OVERLAYS = {
  none: () => [],
  visits: (actions) => shares(actions, "visits"),
  values: (actions) => actions.filter(known("value")).map((action) => ({
    ...action, strength: action.value, label: signed(action.value, action.proven),
  })),
  priors: (actions) => shares(actions, "prior"),
};

function known(key) {
  return (action) => action[key] !== null;
}

/** A value from -1 to 1 in hundredths; -100 and 100 stand for proofs alone. */
function hundredths(value, isProven) {
  const most = isProven ? 100 : 99;
  return Math.max(-most, Math.min(most, Math.round(100 * value)));
}

function signed(value, isProven) {
  const shown = hundredths(value, isProven);
  return (shown > 0 ? "+" : "") + shown;
}

/** Numbers from 0 as shares of their sum, in per cent; the greatest has the strongest colour. */
function shares(actions, key) {
  const positive = actions.filter((action) => action[key] > 0);
  const sum = positive.reduce((total, action) => total + action[key], 0);
  const greatest = Math.max(...positive.map((action) => action[key]));
  return positive.map((action) => {
    const share = action[key] / sum;
    const label = share >= 0.005 ? String(Math.round(100 * share)) : "";
    return { ...action, strength: action[key] / greatest, label };
  });
}
