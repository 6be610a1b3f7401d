// Granted and refused requests of all sides over the same time.

import { byId, write } from './dom.js';
import { naturalSpan } from './draw/limiter.js';
import { Scene } from './draw/scene.js';
import { drawTicks, TICKS } from './draw/ticks.js';
import { clock, count, level, span } from './words.js';

/** The height of a side's lane. */
const LANE = 56;
/** Room at the top of a lane for its text. */
const HEAD = 16;
/** Room on the left for the letters of the sides. */
const LEFT = 30;
/** The width of a bar, in pixels. */
const BAR = 10;

export class Timeline {
  #svg = byId('timeline');
  #scene = new Scene(this.#svg);
  #width = 0;

  constructor() {
    new ResizeObserver(([{ contentRect }]) => (this.#width = contentRect.width)).observe(this.#svg);
  }

  draw(sides, now, seconds) {
    if (this.#width === 0) return;
    const height = sides.length * LANE + TICKS;
    const from = Math.max(-0.01 * seconds, now - seconds);
    const x = at => LEFT + ((at - from) / seconds) * (this.#width - LEFT);
    const width = seconds / Math.max(1, Math.floor((this.#width - LEFT) / BAR));
    const lanes = sides.map(side => bins(side.history.since(from - width), width));
    const most = Math.max(
      4,
      ...lanes.flatMap(lane => [...lane.values()].flatMap(bin => [bin.granted + bin.late, bin.refused])),
    );
    this.#scene.draw(this.#width, height, scene => {
      const [left, right, bottom] = [LEFT, this.#width, height - TICKS];
      drawTicks(scene, { left, right, from, to: from + seconds, top: 0, bottom });
      sides.forEach((side, index) => {
        const top = index * LANE + HEAD;
        const middle = top + (LANE - HEAD) / 2;
        const unit = ((LANE - HEAD) / 2 - 4) / most;
        drawEdges(scene, side, x, from, top, (index + 1) * LANE);
        drawBars(scene, lanes[index], { x, width, middle, unit });
        scene.line('base', LEFT, middle, this.#width, middle);
        scene.rect('badge', 0, middle - 10, 20, 20, 6);
        scene.text('badge-text', 10, middle + 4, side.name, 'middle');
        drawBusiest(scene, side, { x, from, top });
        drawChanges(scene, side, { x, from, top, bottom: (index + 1) * LANE, right });
        if (now < from + seconds) scene.line('now', x(now), top, x(now), (index + 1) * LANE);
      });
    });
  }

  /** Says it in words. */
  describe(sides) {
    write(
      byId('timeline-text'),
      sides
        .map(({ name, totals, history }) => {
          const changes = history.changes.map(({ at, text }) => `, changed at ${clock(at)}: ${text}`);
          return `${name}: ${count(totals.granted, 'request')} granted, ${totals.refused} refused${changes.join('')}`;
        })
        .join('; '),
    );
  }
}

/** Sums up decisions in bins of equal width, by permits. */
function bins(marks, width) {
  const found = new Map();
  for (const { at, cost, outcome, granted } of marks) {
    const start = Math.floor(at / width);
    const bin = found.get(start) ?? { granted: 0, late: 0, refused: 0 };
    bin[outcome === 'granted_late' ? 'late' : granted ? 'granted' : 'refused'] += cost;
    found.set(start, bin);
  }
  return found;
}

function drawBars(scene, lane, { x, width, middle, unit }) {
  const paths = { granted: '', late: '', refused: '' };
  for (const [start, { granted, late, refused }] of lane) {
    const left = Math.max(LEFT, x(start * width)).toFixed(1);
    const wide = Math.max(1, x((start + 1) * width) - 1 - left).toFixed(1);
    const bar = (from, height) => `M${left} ${from.toFixed(1)}h${wide}v${height.toFixed(1)}h${-wide}z`;
    if (granted) paths.granted += bar(middle - 1, -granted * unit);
    if (late) paths.late += bar(middle - 1 - granted * unit, -late * unit);
    if (refused) paths.refused += bar(middle + 1, refused * unit);
  }
  for (const kind in paths) scene.path(`bars ${kind}`, paths[kind]);
}

/** Draws the edges at which windows begin, if the limiter has any that stand still. */
function drawEdges(scene, side, x, from, top, bottom) {
  const isOne = side.states.some(({ state }) => state.kind === 'windows' && state.windows.length === 1);
  if (!isOne) return;
  for (const window of side.history.windows.values()) {
    if (window.from > from) scene.line('edge', x(window.from), top, x(window.from), bottom);
  }
}

/** Draws the changes of a limiter in sight, the last one with its text. */
function drawChanges(scene, { history }, { x, from, top, bottom, right }) {
  const changes = history.changes.filter(({ at }) => at > from);
  for (const { at } of changes) scene.line('change', x(at), top, x(at), bottom);
  if (changes.length === 0) return;
  const { at, text } = changes.at(-1);
  const isRight = x(at) > (LEFT + right) / 2;
  scene.text('note', x(at) + (isRight ? -4 : 4), bottom - 2, text, isRight ? 'end' : 'start');
}

/** Draws the span of a window's length in which the most was granted, while it is in sight. */
function drawBusiest(scene, side, { x, from, top }) {
  const limited = limitOf(side.states);
  if (!limited) return;
  const busiest = side.history.busiest(limited.window, side.states[0].key === null);
  if (!busiest) return;
  const isOver = busiest.sum > limited.limit;
  const text = `most permits within ${span(limited.window)}: ${level(busiest.sum)}, limit ${level(limited.limit)}`;
  const kind = isOver ? 'over' : 'within';
  if (busiest.to > from) {
    const left = Math.max(LEFT, x(busiest.from) - 3);
    scene.path(`bracket ${kind}`, `M${left} ${top + 4}V${top}H${x(busiest.to) + 8}V${top + 4}`);
  }
  scene.text(`verdict ${kind}`, LEFT, top - 4, isOver ? `! ${text}` : text);
}

function limitOf(states) {
  const window = naturalSpan(states);
  const [{ state } = {}] = states;
  if (!window || !state) return null;
  const limit = state.kind === 'log' ? state.limit : state.windows?.find(of => of.window === window)?.limit;
  return limit === undefined ? null : { window, limit };
}
