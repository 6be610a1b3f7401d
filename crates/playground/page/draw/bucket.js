// Buckets: tokens that come in continuously or in steps, and a queue that drains. The level over time flows into a vessel.

import { drawGauge, drawNow, drawRequests } from './axis.js';
import { count, level, soon as inSeconds, span } from '../words.js';

/** Steps of an interval bucket that are drawn between two frames; there are more only if the clock is very fast. */
const MOST_STEPS = 100;

/** The width of a letter, at most. */
const LETTER = 6;

/** Returns what a bucket holds at `now`, from the state that the engine told at `at`. */
export function levelAt(state, at, now) {
  return course(state, at, now).at(-1).level;
}

/** Returns the course of a level after the engine told it, up to an instant: points that straight lines connect. */
function course(state, at, until) {
  const { level: start, capacity } = state;
  switch (state.kind) {
    case 'bucket': {
      const [permits, seconds] = state.rate;
      const full = at + ((capacity - start) * seconds) / permits;
      if (full >= until)
        return [
          { at, level: start },
          { at: until, level: start + (Math.max(0, until - at) * permits) / seconds },
        ];
      return [
        { at, level: start },
        { at: Math.max(at, full), level: capacity },
        { at: until, level: capacity },
      ];
    }
    case 'interval_bucket': {
      const [permits, seconds] = state.refill;
      const points = [{ at, level: start }];
      let next = state.next_refill_at ?? Infinity;
      for (let level = start; next <= until && level < capacity && points.length < 2 * MOST_STEPS; next += seconds) {
        points.push({ at: next, level });
        level = Math.min(capacity, level + permits);
        points.push({ at: next, level });
      }
      return [...points, { at: until, level: points.at(-1).level }];
    }
    default:
      return [
        { at, level: state.queued },
        { at: until, level: state.queued },
      ];
  }
}

export function drawBucket(scene, { state, at, samples, marks, axis, box }) {
  const current = levelAt(state, at, axis.now);
  const lowest = Math.min(0, current, ...samples.map(({ state }) => state.level));
  const scale = vertical(box, lowest, state.capacity);
  const soon = state.kind === 'bucket' ? state.full_at : state.next_refill_at;
  drawLimit(
    scene,
    axis,
    scale.y(state.capacity),
    [`burst ${level(state.capacity)}`, ...refill(state, current, soon, axis.now)],
  );
  drawCourse(scene, axis, scale, samples, 'water');
  if (soon != null && soon > axis.now && current < state.capacity) {
    const next = state.kind === 'bucket' ? state.capacity : Math.min(state.capacity, current + state.refill[0]);
    const turn = state.kind === 'bucket' ? '' : `H${axis.x(soon).toFixed(1)}`;
    scene.path(
      'coming',
      `M${axis.nowX.toFixed(1)} ${scale.y(current).toFixed(1)}${turn}L${axis.x(soon).toFixed(1)} ${scale.y(next).toFixed(1)}`,
    );
  }
  finish(scene, axis, box, marks);
  drawGauge(scene, {
    ...box,
    level: current,
    most: state.capacity,
    kind: 'water',
    value: level(current),
    of: `of ${level(state.capacity)} left`,
  });
}

export function drawQueue(scene, { state, samples, marks, axis, box }) {
  const scale = vertical(box, 0, state.size);
  const [permits, seconds] = state.rate;
  drawLimit(
    scene,
    axis,
    scale.y(state.size),
    [`room for ${count(state.size, 'permit')}, ${level(permits)} ${permits === 1 ? 'leaves' : 'leave'} every ${span(seconds)}`],
  );
  drawCourse(scene, axis, scale, samples, 'used');
  finish(scene, axis, box, marks);
  drawGauge(scene, {
    ...box,
    level: state.queued,
    most: state.size,
    kind: 'used',
    value: level(state.queued),
    of: `of ${level(state.size)} queued`,
  });
}

/** Returns the rows of the table of a bucket. */
export function bucketRows(state, at, now) {
  if (state.kind === 'queue')
    return [
      ['queued', level(state.queued)],
      ['room for', level(state.size)],
      ['leaves', rate(state.rate)],
    ];
  return [
    ['tokens', level(levelAt(state, at, now))],
    ['burst', level(state.capacity)],
    ['refill', rate(state.refill ?? state.rate)],
    ...(state.debt ? [['debt', level(state.debt)]] : []),
  ];
}

function rate([permits, seconds]) {
  return `${level(permits)} every ${span(seconds)}`;
}

function refill(state, current, soon, now) {
  const [permits, seconds] = state.refill ?? state.rate;
  const text = `+${count(permits, 'permit')} every ${span(seconds)}`;
  if (state.debt > 0) return [text, `${level(state.debt)} owed`];
  if (soon == null || soon <= now || current >= state.capacity) return [text, 'full'];
  return [text, `${state.kind === 'bucket' ? 'full' : 'next'} in ${inSeconds(soon - now)}`];
}

/** A scale from the lowest level at the bottom of the box to the highest below its top. */
function vertical(box, lowest, highest) {
  const [top, bottom] = [box.top + 16, box.bottom];
  return { y: value => bottom - ((value - lowest) / (highest - lowest || 1)) * (bottom - top) };
}

/** Draws a limit, and above it as many of the parts of its text as there is room for. */
function drawLimit(scene, axis, y, parts) {
  scene.line('limit', axis.left, y, axis.right, y);
  const most = (axis.right - axis.left + 8) / LETTER;
  const fits = parts.filter((_, index) => index === 0 || parts.slice(0, index + 1).join(', ').length <= most);
  scene.text('note', axis.left, y - 5, fits.join(', '));
}

/** Draws the level over time: its course after each frame, up to the next one or to this instant. */
function drawCourse(scene, axis, scale, samples, kind) {
  const points = samples.flatMap(({ at, state }, index) => {
    const until = samples[index + 1]?.at ?? axis.now;
    return until < axis.from ? [] : course(state, at, until);
  });
  if (points.length === 0) return;
  const line = points.map(({ at, level }) => `${axis.x(at).toFixed(1)} ${scale.y(level).toFixed(1)}`).join('L');
  const base = scale.y(0).toFixed(1);
  const [first, last] = [points[0], points.at(-1)].map(({ at }) => axis.x(at).toFixed(1));
  scene.path(`area ${kind}`, `M${first} ${base}L${line}L${last} ${base}Z`);
  scene.path(`curve ${kind}`, `M${line}`);
}

function finish(scene, axis, box, marks) {
  drawNow(scene, axis, box.top, box.bottom);
  scene.line('base', axis.left, box.bottom, axis.right, box.bottom);
  drawRequests(scene, axis, marks, box.bottom);
}
