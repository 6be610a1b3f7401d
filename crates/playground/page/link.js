// The set-up in the fragment of the page's address, which the server never sees.
//
// `#speed=10&a=fixed_window&a.limit=5&a.window=60&b=sliding_log&b.limit=5&b.window=60&stream=a,1,5,even`, or the name of a
// scenario: `#scenario=edge_burst`.

import { NAMES } from './setup.js';
import { FASTEST, SLOWEST } from './time.js';

const SIDES = NAMES.map(name => name.toLowerCase());

/** Returns the fragment of a set-up and its streams, without `#`. */
export function toFragment({ setup, streams }) {
  const pairs = new URLSearchParams({ speed: setup.speed, seed: setup.seed });
  setup.sides.forEach((side, index) => {
    const name = SIDES[index];
    pairs.set(name, side.algorithm);
    for (const [id, value] of Object.entries(side.parameters)) pairs.set(`${name}.${id}`, value);
    if (side.per_key) pairs.set(`${name}.per_key`, 1);
    if (side.wait !== undefined) pairs.set(`${name}.wait`, side.wait);
  });
  for (const { key, cost, per_second, spacing, hold } of streams) {
    const parts = [key, cost, per_second, spacing, ...(hold === undefined ? [] : [hold])];
    pairs.append('stream', parts.map(encodeURIComponent).join(','));
  }
  return pairs.toString().replaceAll('%2C', ',');
}

/**
 * Returns the set-up and the streams of a fragment, or nothing if it is none; `corrected` says that the speed was replaced.
 * What it does not say has its default.
 */
export function fromFragment(fragment, catalogue) {
  const pairs = new URLSearchParams(fragment.replace(/^#/, ''));
  const sides = SIDES.filter(name => pairs.has(name)).map(name => side(pairs, name, catalogue));
  if (sides.length === 0 || sides.includes(null)) return null;
  const streams = pairs
    .getAll('stream')
    .map(stream)
    .filter(stream => stream !== null);
  const speed = finite(pairs.get('speed'), 1);
  const allowed = speed === 0 ? 0 : Math.min(Math.max(speed, SLOWEST), FASTEST);
  const corrected =
    speed === allowed
      ? {}
      : { corrected: `speed is ${speed}: must be 0 for a pause, or from ${SLOWEST} to ${FASTEST}. It is ${allowed} now.` };
  const seed = finite(pairs.get('seed'), 1);
  const isSeed = Number.isSafeInteger(seed) && seed >= 0;
  return { setup: { sides, speed: allowed, seed: isSeed ? seed : 1 }, streams, ...corrected };
}

/** Returns the scenario that a fragment names, or nothing. */
export function scenarioOf(fragment) {
  return new URLSearchParams(fragment.replace(/^#/, '')).get('scenario');
}

function side(pairs, name, catalogue) {
  const algorithm = catalogue.find(({ id }) => id === pairs.get(name));
  if (!algorithm) return null;
  const value = ({ id, default: usual }) => finite(pairs.get(`${name}.${id}`), usual);
  return {
    algorithm: algorithm.id,
    parameters: Object.fromEntries(algorithm.parameters.map(parameter => [parameter.id, value(parameter)])),
    per_key: pairs.get(`${name}.per_key`) === '1',
    wait: finite(pairs.get(`${name}.wait`), undefined),
  };
}

function stream(text) {
  const [key, cost, perSecond, spacing, hold] = text.split(',').map(part => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  if (!(finite(cost, 0) >= 0.5) || !(finite(perSecond, 0) > 0)) return null;
  const held = finite(hold, undefined);
  return {
    key,
    cost: Math.round(Number(cost)),
    per_second: Number(perSecond),
    spacing: spacing === 'random' ? 'random' : 'even',
    ...(held === undefined ? {} : { hold: held }),
  };
}

function finite(text, otherwise) {
  const value = text === null || text === undefined || text === '' ? NaN : Number(text);
  return Number.isFinite(value) ? value : otherwise;
}
