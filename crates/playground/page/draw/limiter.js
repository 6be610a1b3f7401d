// The drawing of a side: its limiters, one row for each key, and the waiting line.

import { Axis, GAUGE, REQUESTS } from './axis.js';
import { bucketRows, drawBucket, drawQueue, levelAt } from './bucket.js';
import { concurrencyRows, drawConcurrency, inUse } from './concurrency.js';
import { LINE, drawLine } from './line.js';
import { drawTicks, TICKS } from './ticks.js';
import { counted, drawLog, logRows } from './log.js';
import { drawWindows, used, windowRows } from './windows.js';
import { count, level } from '../words.js';

/** The most keys that are drawn. */
export const MOST_KEYS = 3;

/** What stands beside the limiter of all keys, if keys have shares. */
const ALL = 'all';

/** The longest key that is written as it is, in characters. */
const LONGEST_KEY = 8;

/** The least height of a drawing, and of a row in it without the waiting line, in pixels. */
const HEIGHT = 166;
const ROW = 92;

/** Room below for the number of keys that are not drawn. */
const MORE = 16;

const DRAW = {
  bucket: drawBucket,
  interval_bucket: drawBucket,
  queue: drawQueue,
  windows: drawWindows,
  log: drawLog,
  concurrency: drawConcurrency,
};

/**
 * Draws a side. `side` has the last frame's `states`, the instant `at` of that frame and its `history`; `pace` is the speed
 * of the clock, and `waits` says whether requests may wait.
 */
export function drawLimiter(scene, { width, side, now, seconds, pace, waits }) {
  const states = side.states.slice(0, MOST_KEYS);
  const more = side.states.length - states.length;
  const hasLine = waits || states.some(({ state }) => state.line.length > 0);
  const rows = Math.max(HEIGHT, states.length * (ROW + (hasLine ? LINE : 0)));
  scene.draw(width, rows + TICKS + (more > 0 ? MORE : 0), scene => {
    const gutter = 22 + 7 * Math.max(...states.map(({ key }) => shortened(key ?? ALL).length), 0);
    const height = rows / Math.max(1, states.length);
    const left = states.some(({ key }) => key !== null) ? gutter : 0;
    const { from, to, right } = new Axis(left, width - GAUGE, now, seconds);
    drawTicks(scene, { left, right, from, to, top: 18, bottom: rows });
    states.forEach(({ key, state }, index) => {
      const top = index * height;
      const bottom = top + height - (hasLine ? LINE : 0);
      const axis = new Axis(left, width - GAUGE, now, seconds);
      const box = { top: top + 2, bottom: bottom - REQUESTS, right: width };
      const marks = side.history.since(axis.from).filter(mark => key === null || mark.key === key);
      const ofKey = entry => key === null || entry.key === key;
      if (left > 0) {
        scene.rect('badge', 0, top + 18, gutter - 8, 20, 6);
        scene.text('badge-text', (gutter - 8) / 2, top + 32, shortened(key ?? ALL), 'middle');
      }
      DRAW[state.kind]?.(scene, {
        state,
        at: side.at,
        axis,
        marks,
        pace,
        samples: ofKind(side.history.samples.get(key) ?? [], state.kind),
        past: [...side.history.windows.values()].filter(ofKey),
        held: [...side.history.held.values()].filter(ofKey),
        box,
      });
      for (const { at } of side.history.changes)
        if (at > axis.from) scene.line('change', axis.x(at), box.top, axis.x(at), box.bottom + REQUESTS);
      if (hasLine) drawLine(scene, { line: state.line, now, left, right: width - GAUGE, y: bottom });
    });
    if (more > 0) scene.text('note', 0, rows + TICKS + MORE - 4, `and ${count(more, 'more key')}`);
  });
}

/** Returns the samples of one kind: until a change of the algorithm is confirmed, there are those of two. */
function ofKind(samples, kind) {
  return samples.filter(({ state }) => state.kind === kind);
}

/** Returns a key as it fits beside a drawing. */
function shortened(key) {
  return key.length > LONGEST_KEY ? `${key.slice(0, LONGEST_KEY - 1)}…` : key;
}

/** Returns the seconds that a drawing of these states should show, or nothing if any will do. */
export function naturalSpan(states) {
  let longest = 0;
  for (const { state } of states) {
    if (state.kind === 'windows') longest = Math.max(longest, ...state.windows.map(({ window }) => window));
    if (state.kind === 'log') longest = Math.max(longest, state.window);
  }
  return longest || null;
}

/** Returns a sentence that says how the limiter stands. */
export function describe({ key, state }, at, now) {
  const whose = key === null ? '' : `key ${key}: `;
  const waiting = state.line.length ? `, ${count(state.line.length, 'request')} in line` : '';
  return whose + stands(state, at, now) + waiting;
}

function stands(state, at, now) {
  switch (state.kind) {
    case 'bucket':
    case 'interval_bucket':
      return `${level(levelAt(state, at, now))} of ${count(state.capacity, 'token')} left`;
    case 'queue':
      return `${level(state.queued)} of ${level(state.size)} places of the queue taken`;
    case 'windows': {
      const { used: counted, limit } = used(state.windows, now - at);
      return `${level(counted)} of ${count(limit, 'permit')} used`;
    }
    case 'log':
      return `${level(counted(state, now).reduce((sum, { cost }) => sum + cost, 0))} of ${count(state.limit, 'permit')} used`;
    case 'concurrency':
      return `${level(inUse(state))} of ${count(state.limit, 'permit')} in use`;
    default:
      return '';
  }
}

/** Returns the table of a limiter, as pairs of a name and a value. */
export function rows({ state }, at, now) {
  switch (state.kind) {
    case 'windows':
      return windowRows(state);
    case 'log':
      return logRows(state, now);
    case 'concurrency':
      return concurrencyRows(state);
    default:
      return bucketRows(state, at, now);
  }
}
