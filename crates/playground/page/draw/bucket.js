// Buckets: tokens that come in continuously or in steps, and a queue that drains. The level over time flows into a vessel.

import { drawGauge, drawNow, drawRequests } from './axis.js';
import { count, level, soon as inSeconds, span } from '../words.js';

/** Steps of an interval bucket that are drawn between two frames; there are more only if the clock is very fast. */
const MOST_STEPS = 100;

/** Clocks that are at least as fast draw a level as an envelope: it moves faster than a line can show. */
const FAST = 60;

/** The width of a step of an envelope, in pixels. */
const STEP = 4;

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

export function drawBucket(scene, { state, at, samples, marks, axis, box, pace }) {
  const current = levelAt(state, at, axis.now);
  const points = courseOf(samples, axis);
  const levels = points.map(({ level }) => level);
  const scale = vertical(box, Math.min(0, current, ...levels), Math.max(state.capacity, ...levels));
  const soon = state.kind === 'bucket' ? state.full_at : state.next_refill_at;
  drawLimit(
    scene,
    axis,
    scale.y(state.capacity),
    [`burst ${level(state.capacity)}`, ...refill(state, current, soon, axis.now)],
  );
  if (pace >= FAST) drawEnvelope(scene, axis, scale, [...points, ...levelsOf(marks, state.capacity)], 'water');
  else drawCourse(scene, axis, scale, points, 'water');
  if (soon != null && soon > axis.now && current < state.capacity) {
    const next = state.kind === 'bucket' ? state.capacity : Math.min(state.capacity, current + state.refill[0]);
    const end = Math.min(soon, axis.to);
    const slope = state.kind === 'bucket' ? (end - axis.now) / (soon - axis.now) : Number(soon === end);
    const turn = state.kind === 'bucket' ? '' : `H${axis.x(end).toFixed(1)}`;
    scene.path(
      'coming',
      `M${axis.nowX.toFixed(1)} ${scale.y(current).toFixed(1)}${turn}L${axis.x(end).toFixed(1)} ${scale.y(current + slope * (next - current)).toFixed(1)}`,
    );
  }
  finish(scene, axis, box, marks);
  drawGauge(scene, {
    ...box,
    level: current,
    most: state.capacity,
    kind: 'water',
    value: level(current),
    unit: 'tokens left',
  });
}

export function drawQueue(scene, { state, samples, marks, axis, box, pace }) {
  const points = courseOf(samples, axis);
  const scale = vertical(box, 0, Math.max(state.size, ...points.map(({ level }) => level)));
  const [permits, seconds] = state.rate;
  drawLimit(
    scene,
    axis,
    scale.y(state.size),
    [`room for ${count(state.size, 'permit')}, ${level(permits)} ${permits === 1 ? 'leaves' : 'leave'} every ${span(seconds)}`],
  );
  if (pace >= FAST) drawEnvelope(scene, axis, scale, points, 'used');
  else drawCourse(scene, axis, scale, points, 'used');
  finish(scene, axis, box, marks);
  drawGauge(scene, {
    ...box,
    level: state.queued,
    most: state.size,
    kind: 'used',
    value: level(state.queued),
    unit: 'permits queued',
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

/** Returns the course of the level in sight: after each frame up to the next one, or to this instant. */
function courseOf(samples, axis) {
  const points = samples.flatMap(({ at, state }, index) => {
    const until = Math.max(at, samples[index + 1]?.at ?? axis.now);
    return until < axis.from ? [] : course(state, at, until);
  });
  const first = points.findIndex(({ at }) => at >= axis.from);
  if (first < 1) return points;
  // The part before the axis is cut off.
  const [before, after] = [points[first - 1], points[first]];
  const share = (axis.from - before.at) / (after.at - before.at || 1);
  return [{ at: axis.from, level: before.level + share * (after.level - before.level) }, ...points.slice(first)];
}

/** Draws the level over time as a line. */
function drawCourse(scene, axis, scale, points, kind) {
  if (points.length === 0) return;
  const line = points.map(({ at, level }) => `${axis.within(at).toFixed(1)} ${scale.y(level).toFixed(1)}`).join('L');
  const base = scale.y(0).toFixed(1);
  const [first, last] = [points[0], points.at(-1)].map(({ at }) => axis.within(at).toFixed(1));
  scene.path(`area ${kind}`, `M${first} ${base}L${line}L${last} ${base}Z`);
  scene.path(`curve ${kind}`, `M${line}`);
}

/** Returns the levels that grants found and left, some of which come and go between two frames. */
function levelsOf(marks, capacity) {
  const granted = marks.filter(({ outcome, remaining }) => outcome === 'granted' && remaining !== undefined);
  return granted.flatMap(({ at, cost, remaining }) => [
    { at, level: Math.min(capacity, remaining + cost) },
    { at, level: remaining },
  ]);
}

/** Draws the lowest and the highest level of each step of time. */
function drawEnvelope(scene, axis, scale, points, kind) {
  const width = (STEP * axis.seconds) / (axis.right - axis.left);
  const steps = new Map();
  for (const { at, level } of points) {
    const start = Math.floor(at / width);
    const [low, high] = steps.get(start) ?? [level, level];
    steps.set(start, [Math.min(low, level), Math.max(high, level)]);
  }
  if (steps.size === 0) return;
  const found = [...steps].sort(([one], [two]) => one - two);
  const edge = place =>
    found.map(([start, levels]) => {
      const [left, right] = [start, start + 1].map(step => axis.within(Math.min(step * width, axis.now)).toFixed(1));
      const y = scale.y(levels[place]).toFixed(1);
      return [`${left} ${y}`, `${right} ${y}`];
    });
  const [low, high] = [edge(0).flat(), edge(1).flat()];
  const [left, right] = [low[0], low.at(-1)].map(point => point.split(' ')[0]);
  const base = scale.y(0).toFixed(1);
  scene.path(`area ${kind}`, `M${left} ${base}L${low.join('L')}L${right} ${base}Z`);
  scene.path(`envelope ${kind}`, `M${high.join('L')}L${low.reverse().join('L')}Z`);
}

function finish(scene, axis, box, marks) {
  drawNow(scene, axis, box.top, box.bottom);
  scene.line('base', axis.left, box.bottom, axis.right, box.bottom);
  drawRequests(scene, axis, marks, box.bottom);
}
