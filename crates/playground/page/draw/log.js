// A log of requests: a tick for each, which stops counting when it leaves the window.

import { drawGauge, drawNow, drawRequests } from './axis.js';
import { clock, level, span } from '../words.js';

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
  const costliest = Math.max(1, ...live.map(({ cost }) => cost));
  // Entries of one instant stand on each other.
  const stacked = new Map();
  for (const { at, cost } of [...live].slice(-400)) {
    const x = Math.round(axis.x(at) / 3) * 3;
    const height = Math.max(3, Math.min(16, (bottom - top) / state.limit) * (costliest > 1 ? cost : 1));
    const below = stacked.get(x) ?? 0;
    stacked.set(x, below + height);
    if (below + height <= bottom - top + 1) scene.rect('entry', axis.x(at) - 3, bottom - below - height, 6, height - 1.5, 1.5);
  }
  scene.path('frame', `M${start} ${bottom}V${top - 4}H${axis.nowX}V${bottom}`);
  scene.text('note', axis.left, box.top + 9, `limit ${level(state.limit)} in any ${span(state.window)}`);
  drawNow(scene, axis, box.top, bottom);
  scene.line('base', axis.left, bottom, axis.right, bottom);
  drawRequests(scene, axis, marks, bottom);
  const total = sum(live);
  drawGauge(scene, { ...box, level: total, most: state.limit, kind: total >= state.limit ? 'used full' : 'used', value: level(total), of: `of ${level(state.limit)} used` });
}

/** Returns the rows of the table of a log. */
export function logRows(state, now) {
  const live = counted(state, now);
  const rows = live.slice(-8).map(({ at, cost }) => [clock(at), `${level(cost)}, counts until ${clock(at + state.window)}`]);
  return [['in the window', `${level(sum(live))} of ${level(state.limit)}`], ...rows];
}
