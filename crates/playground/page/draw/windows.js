// Windows of time: a box for each count, and a frame around what counts now.

import { drawGauge, drawNow, drawRequests, drawSpan } from './axis.js';
import { clock, count, level, span } from '../words.js';

/**
 * Permits that count against the limit, some seconds after the engine told of the windows. For several windows, those of
 * the one that has least left.
 */
export function used(windows, passed) {
  if (areSeveral(windows)) {
    const tightest = windows.reduce((one, two) => (two.limit - two.count < one.limit - one.count ? two : one));
    return { used: tightest.count, limit: tightest.limit };
  }
  const sum = windows.reduce((sum, window) => sum + window.count * weightAfter(window, passed), 0);
  return { used: sum, limit: windows[0]?.limit ?? 0 };
}

/** Returns the share of a window that counts, some seconds after the engine told it. */
function weightAfter({ from, to, weight }, passed) {
  return weight === undefined || weight === 1 ? 1 : Math.max(0, weight - passed / (to - from));
}

/** Whether windows have limits of their own, and are not parts of one. */
function areSeveral(windows) {
  return new Set(windows.map(({ window }) => window)).size > 1;
}

export function drawWindows(scene, { state, at, past, marks, axis, box }) {
  if (areSeveral(state.windows)) drawSeveral(scene, axis, box, state.windows, axis.now - at);
  else drawBoxes(scene, axis, box, state.windows, past, axis.now - at);
  drawNow(scene, axis, box.top, box.bottom);
  scene.line('base', axis.left, box.bottom, axis.right, box.bottom);
  drawRequests(scene, axis, marks, box.bottom);
  const { used: counted, limit } = used(state.windows, axis.now - at);
  drawGauge(scene, {
    ...box,
    level: counted,
    most: limit,
    kind: counted >= limit ? 'used full' : 'used',
    value: level(counted),
    unit: 'permits used',
  });
}

/** Returns the rows of the table of windows. */
export function windowRows(state) {
  return state.windows.map(({ from, to, count, limit, weight = 1 }) => [
    `${clock(from)} to ${clock(to)}`,
    weight === 1
      ? `${level(count)} of ${level(limit)}`
      : `${level(count)}, weighted ${level(count * weight)}, of ${level(limit)}`,
  ]);
}

/** Draws parts of one limit: a fixed window, slots of a ring, or the two windows of a weighted counter. */
function drawBoxes(scene, axis, box, windows, past, passed) {
  const { limit, window } = windows[0];
  const [top, bottom] = [box.top + 18, box.bottom];
  // Windows from before a change may have counted more.
  const most = Math.max(limit, ...windows.map(({ count }) => count), ...past.filter(({ to }) => to > axis.from).map(({ count }) => count));
  const y = count => bottom - (count / most) * (bottom - top);
  const isLive = new Set(windows.map(({ from }) => from.toFixed(6)));
  for (const old of past) {
    if (old.to > axis.from && !isLive.has(old.from.toFixed(6)))
      drawBox(scene, axis, { ...old, top: y(old.count), bottom }, 'past');
  }
  for (const live of windows)
    drawBox(scene, axis, { ...live, weight: weightAfter(live, passed), top: y(live.count), bottom }, 'live');
  scene.line('limit', axis.left, y(limit), axis.right, y(limit));
  const isOne = windows.length === 1;
  const kind = isOne ? 'a window of' : windows.some(({ weight }) => weight !== undefined) ? 'about' : 'any';
  const from = isOne ? windows[0].from : Math.max(windows[0].from, axis.now - window);
  const to = isOne ? windows[0].to : axis.now;
  scene.path('frame', `M${axis.within(from)} ${bottom}V${top - 4}H${axis.within(to)}V${bottom}`);
  drawSpan(scene, axis.within(from), axis.within(Math.min(to, axis.now)), bottom, isOne ? 'this window' : `last ${span(window)}`);
  scene.text('note', axis.left, box.top + 9, `limit: ${count(limit, 'permit')} in ${kind} ${span(window)}`);
}

function drawBox(scene, axis, { from, to, count, weight = 1, top, bottom }, state) {
  const [left, right] = [axis.within(from), axis.within(to)];
  if (right <= left) return;
  scene.rect(`box ${state}`, left + 1, top, right - left - 2, bottom - top, 2);
  if (state === 'live' && weight < 1) {
    // The part that still counts is the one that the frame around the last window covers.
    const start = axis.within(to - (to - from) * weight);
    scene.rect('box counted', start, top, right - start - 1, bottom - top, 0);
  }
  if (count > 0 && right - left > 16)
    scene.text(`count ${state}`, (left + right) / 2, Math.min(bottom - 4, top + 14), level(count), 'middle');
}

/** Draws sliding windows with a limit each, one below the other. They have slid since the last frame. */
function drawSeveral(scene, axis, box, windows, passed) {
  const height = (box.bottom - box.top) / windows.length;
  windows.forEach(({ from, to, count, limit, window }, index) => {
    const top = box.top + index * height + 16;
    const bottom = box.top + (index + 1) * height - 4;
    const [left, right] = [axis.within(from + passed), axis.within(to + passed)];
    const filled = Math.min(1, count / limit) * (bottom - top);
    scene.text('note', axis.left, top - 4, `${level(count)} of ${level(limit)} permits in any ${span(window)}`);
    scene.rect('box past', left, top, right - left, bottom - top, 2);
    scene.rect(`box live${count >= limit ? ' full' : ''}`, left, bottom - filled, right - left, filled, 2);
  });
}
