// A log of requests: a tick for each, which stops counting when it leaves the window.

import { drawGauge, drawNow, drawRequests, drawSpan } from './axis.js';
import { clock, count, level, span } from '../words.js';

/** The width of an entry, and the height of a permit at most, in pixels. */
const WIDTH = 6;
const TALLEST = 24;

/** The most entries that are drawn, of the newest. */
const MOST_ENTRIES = 400;

/** Entries that still count at an instant. */
export function counted({ entries, window }, now) {
  return entries.filter(({ at }) => at > now - window);
}

function sum(entries) {
  return entries.reduce((sum, { cost }) => sum + cost, 0);
}

export function drawLog(scene, { state, marks, axis, box }) {
  const [top, bottom] = [box.top + 18, box.bottom];
  const start = axis.within(axis.now - state.window);
  scene.rect('sliding', start, top, axis.nowX - start, bottom - top);
  const live = counted(state, axis.now);
  // Entries that are too near to stand beside each other stand on each other.
  const near = (WIDTH * axis.seconds) / (axis.right - axis.left);
  // Entries from before a change may be more than the limit is now.
  const total = sum(live);
  const unit = Math.min(TALLEST, (bottom - top) / Math.max(state.limit, total));
  const stacks = new Map();
  for (const { at, cost } of live.slice(-MOST_ENTRIES)) {
    const place = Math.floor(at / near);
    const below = stacks.get(place) ?? 0;
    stacks.set(place, below + cost);
    scene.rect('entry', axis.x(at), bottom - (below + cost) * unit, WIDTH - 1, Math.max(2, cost * unit - 1.5), 1.5);
  }
  scene.path('frame', `M${start} ${bottom}V${top - 4}H${axis.nowX}V${bottom}`);
  scene.text('note', axis.left, box.top + 9, `limit: ${count(state.limit, 'permit')} in any ${span(state.window)}`);
  drawSpan(scene, start, axis.nowX, bottom, `last ${span(state.window)}`);
  drawNow(scene, axis, box.top, bottom);
  scene.line('base', axis.left, bottom, axis.right, bottom);
  drawRequests(scene, axis, marks, bottom);
  drawGauge(scene, {
    ...box,
    level: total,
    most: state.limit,
    kind: total >= state.limit ? 'used full' : 'used',
    value: level(total),
    unit: 'permits used',
  });
}

/** Returns the rows of the table of a log. */
export function logRows(state, now) {
  const live = counted(state, now);
  const rows = live
    .slice(-8)
    .map(({ at, cost }) => [clock(at), `${level(cost)}, counts until ${clock(at + state.window)}`]);
  return [['in the window', `${level(sum(live))} of ${level(state.limit)}`], ...rows];
}
