// Buckets: tokens that come in continuously or in steps, and a queue that drains. The level over time flows into a vessel.

import { drawGauge, drawNow, drawRequests } from './axis.js';
import { level, span } from '../words.js';

/** Returns what a bucket holds at `now`, from the state that the engine told at `at`. */
export function levelAt(state, at, now) {
  if (state.kind !== 'bucket') return state.level;
  const [permits, seconds] = state.rate;
  return Math.min(state.capacity, state.level + (Math.max(0, now - at) * permits) / seconds);
}

export function drawBucket(scene, { state, at, samples, marks, axis, box }) {
  const current = levelAt(state, at, axis.now);
  const stepped = state.kind === 'interval_bucket';
  const scale = vertical(box, Math.min(0, current, ...samples.map(sample => sample.level)), state.capacity);
  drawCurve(scene, axis, scale, [...samples, { at: axis.now, level: current }], stepped, 'water');
  const soon = stepped ? state.next_refill_at : state.full_at;
  drawLimit(scene, axis, scale.y(state.capacity), `capacity ${level(state.capacity)}, ${said(state, current, soon, axis.now)}`);
  const isSoon = soon != null && soon > axis.now;
  if (isSoon && stepped) {
    const x = axis.within(soon);
    scene.line('coming', x, scale.y(Math.min(state.capacity, current + state.refill[0])), x, box.bottom);
  }
  if (isSoon && !stepped) scene.path('coming', `M${axis.nowX} ${scale.y(current)}L${axis.x(soon)} ${scale.y(state.capacity)}`);
  finish(scene, axis, box, marks);
  drawGauge(scene, { ...box, level: current, most: state.capacity, kind: 'water', value: level(current), of: `of ${level(state.capacity)} left` });
}

export function drawQueue(scene, { state, samples, marks, axis, box }) {
  const scale = vertical(box, 0, state.size);
  drawLimit(scene, axis, scale.y(state.size), `room for ${level(state.size)}, ${state.rate[0]} leaves every ${span(state.rate[1])}`);
  drawCurve(scene, axis, scale, [...samples, { at: axis.now, level: state.queued }], true, 'used');
  finish(scene, axis, box, marks);
  drawGauge(scene, { ...box, level: state.queued, most: state.size, kind: 'used', value: level(state.queued), of: `of ${level(state.size)} queued` });
}

/** Returns the rows of the table of a bucket. */
export function bucketRows(state, at, now) {
  if (state.kind === 'queue') return [['queued', level(state.queued)], ['room for', level(state.size)], ['leaves', rate(state.rate)]];
  return [
    ['tokens', level(levelAt(state, at, now))],
    ['capacity', level(state.capacity)],
    ['refill', rate(state.refill ?? state.rate)],
    ...(state.debt ? [['debt', level(state.debt)]] : []),
  ];
}

function rate([permits, seconds]) {
  return `${level(permits)} every ${span(seconds)}`;
}

function said(state, current, soon, now) {
  const refill = `+${rate(state.refill ?? state.rate)}`;
  if (state.debt > 0) return `${refill}, ${level(state.debt)} owed`;
  if (soon == null || soon <= now || current >= state.capacity) return `${refill}, full`;
  return `${refill}, ${state.kind === 'bucket' ? 'full' : 'next'} in ${span(soon - now)}`;
}

/** A scale from the lowest level at the bottom of the box to the highest below its top. */
function vertical(box, lowest, highest) {
  const [top, bottom] = [box.top + 16, box.bottom];
  return { y: value => bottom - ((value - lowest) / (highest - lowest || 1)) * (bottom - top) };
}

function drawLimit(scene, axis, y, text) {
  scene.line('limit', axis.left, y, axis.right, y);
  scene.text('note', axis.left, y - 5, text);
}

function drawCurve(scene, axis, scale, samples, stepped, kind) {
  const seen = samples.filter(({ at }, index) => at >= axis.from || (samples[index + 1]?.at ?? 0) >= axis.from);
  let curve = '';
  let last = null;
  for (const { at, level: value } of seen) {
    const [x, y] = [axis.within(at).toFixed(1), scale.y(value).toFixed(1)];
    curve += curve === '' ? `${x} ${y}` : `${stepped ? `H${x}` : ''}L${x} ${y}`;
    last = x;
  }
  const base = scale.y(0).toFixed(1);
  scene.path(`area ${kind}`, `M${axis.within(seen[0].at).toFixed(1)} ${base}L${curve}L${last} ${base}Z`);
  scene.path(`curve ${kind}`, `M${curve}`);
}

function finish(scene, axis, box, marks) {
  drawNow(scene, axis, box.top, box.bottom);
  scene.line('base', axis.left, box.bottom, axis.right, box.bottom);
  drawRequests(scene, axis, marks, box.bottom);
}
