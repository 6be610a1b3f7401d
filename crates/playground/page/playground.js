// The set-up that is shown, and what happens when somebody changes it.

import { byId, complain, write } from './dom.js';
import { Clock } from './clock.js';
import { Decisions, drawResponses } from './decisions.js';
import { naturalSpan } from './draw/limiter.js';
import { fromFragment, scenarioOf, toFragment } from './link.js';
import { Requests } from './requests.js';
import { Scenarios } from './scenarios.js';
import { Session } from './session.js';
import { companionOf, completed, NAMES, sideOf } from './setup.js';
import { addButton, Side } from './side.js';
import { Summary } from './summary.js';
import { Time } from './time.js';
import { Timeline } from './timeline.js';
import { count } from './words.js';

/** Changes of a form are sent when nobody has typed for so long, in milliseconds. */
const TYPING = 300;

/** The scenario that is played for somebody who comes without a set-up. */
const FIRST = 'edge_burst';

export class Playground {
  sides = [];
  #catalogue;
  #offer;
  #seed = 1;
  #run = null;
  #typing = 0;
  #sent = 0;
  #dropped = 0;
  #clock = new Clock();
  #decisions = new Decisions();
  #session = new Session();
  #summary = new Summary();
  #timeline = new Timeline();
  #isDirty = true;

  /** `catalogue` has all algorithms, and `offer` the limiters of the server's policy. */
  constructor(catalogue, offer, scenarios) {
    this.#catalogue = catalogue;
    this.#offer = offer;
    this.scenarios = new Scenarios(scenarios, scenario => this.play(scenario));
    this.requests = new Requests({
      send: request => this.#session.send(request),
      streams: streams => this.#session.streams(streams).then(() => this.#remember(streams)),
    });
    this.time = new Time({ change: speed => this.#changeSpeed(speed), reset: () => this.reset() });
    this.#session.addEventListener('frame', ({ detail }) => this.#hear(detail));
    this.#session.addEventListener('connection', ({ detail }) => this.#showConnection(detail));
    this.#session.addEventListener('renewed', () => this.#renewed());
    addEventListener('hashchange', () =>
      this.#open(location.hash, () => this.#session.restart(this.setup, this.requests.streams)),
    );
  }

  /** The set-up as it is shown. */
  get setup() {
    return { sides: this.sides.map(({ form }) => form.side), speed: this.time.speed, seed: this.#seed };
  }

  /** Shows the set-up of the address, or else plays the first scenario. */
  start() {
    return this.#open(location.hash, () =>
      this.#session.start(() => ({ setup: this.setup, streams: this.requests.streams })),
    );
  }

  /** Plays a scenario from its beginning. */
  async play(scenario) {
    this.#show(scenario.setup, scenario);
    history.replaceState(null, '', `#scenario=${scenario.id}`);
    await this.#try(this.#session.play(scenario.id));
  }

  async reset() {
    this.scenarios.show(null);
    await this.#try(this.#session.reset());
    this.#clear();
    this.#remember();
  }

  /** Draws everything as it is at this instant. */
  draw() {
    const now = this.#clock.now();
    byId('clock').value = this.#clock.text(now);
    const seconds = this.#spans();
    this.sides.forEach((side, index) => side.draw(now, seconds.drawings[index], this.time.pace));
    this.#timeline.draw(this.sides, now, seconds.timeline);
  }

  /** Writes what changes too often to be written with every picture: tables and texts. */
  write() {
    const now = this.#clock.now();
    for (const side of this.sides) side.describe(now);
    this.#summary.tell(this.sides);
    if (!this.#isDirty) return;
    this.#isDirty = false;
    byId('dropped').hidden = this.#dropped === 0;
    write(byId('dropped'), `${count(this.#dropped, 'decision')} too many to be drawn`);
    this.#decisions.draw();
    this.#timeline.describe(this.sides);
    drawResponses(this.sides);
  }

  async #open(fragment, begin) {
    const linked = fromFragment(fragment, this.#catalogue);
    if (linked) {
      this.#show(linked.setup, null);
      this.requests.show(linked.streams);
      await this.#try(begin(), linked.corrected);
      return;
    }
    const scenario = this.scenarios.named(scenarioOf(fragment) ?? FIRST) ?? this.scenarios.at(0);
    this.#show(scenario.setup, scenario);
    await this.#try(begin());
    await this.play(scenario);
  }

  /** Shows a set-up, and the caption of its scenario. */
  #show(setup, scenario) {
    const named = id => this.#catalogue.find(algorithm => algorithm.id === id);
    const sides = setup.sides.map(side => completed(side, named(side.algorithm)));
    this.#seed = setup.seed ?? 1;
    this.time.show(setup.speed ?? 1);
    this.#layOut(sides);
    this.scenarios.show(scenario);
    this.requests.show([]);
    this.#clear();
  }

  /** Makes one `Side` for each set-up of a side. */
  #layOut(setups) {
    while (this.sides.length > setups.length) this.sides.pop().remove();
    setups.forEach((side, index) => {
      if (this.sides[index]) this.sides[index].form.show(side);
      else this.#addSide(side, index);
    });
    byId('add-side')?.remove();
    if (setups.length < NAMES.length) this.#offerCompare(setups.length);
    byId('sides').dataset.count = setups.length;
    this.requests.holds(this.sides.some(({ form }) => form.definition.holds));
  }

  #addSide(side, index) {
    const made = new Side({
      index,
      catalogue: this.#catalogue,
      offer: this.#offer,
      side,
      changed: () => this.#edited(),
      removed: () => this.#removed(made),
    });
    this.sides[index] = made;
    byId('sides').append(made.node);
  }

  /** Offers one more side: beside a lone one, or in the head of the last one. */
  #offerCompare(count) {
    const place = count === 1 ? byId('sides') : this.sides.at(-1).node.querySelector('.side-head');
    place.append(addButton(count === 1, () => this.#compare()));
  }

  #compare() {
    const { sides } = this.setup;
    this.#layOut([...sides, sideOf(companionOf(sides, this.#catalogue), sides[0])]);
    this.#decisions.layOut(this.sides.length);
    this.#send();
  }

  #removed(side) {
    const index = this.sides.indexOf(side);
    this.#layOut(this.sides.filter(other => other !== side).map(({ form }) => form.side));
    // The sides behind it move up, into limiters that have counted something else.
    const moved = this.sides.slice(index);
    for (const other of moved) other.clear();
    if (moved.length) this.#decisions.clear(this.sides.length);
    else this.#decisions.layOut(this.sides.length);
    byId('sides').focus();
    this.#send();
  }

  #edited() {
    this.requests.holds(this.sides.some(({ form }) => form.definition.holds));
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => this.#send(), TYPING);
  }

  /** Sends the set-up, and shows at its field what the server refuses. */
  async #send() {
    const number = ++this.#sent;
    this.scenarios.show(null);
    const { setup } = this;
    try {
      await this.#session.change(setup);
      setup.sides.forEach((side, index) => this.sides[index]?.changed(side, this.#clock.now()));
      if (number === this.#sent) this.#showErrors([]);
      this.#remember();
    } catch (error) {
      if (number === this.#sent) this.#showErrors(error.errors?.length ? error.errors : [{ message: error.message }]);
    }
  }

  #showErrors(errors) {
    const rest = errors.filter(({ side }) => !this.sides[side]);
    const left = this.sides.flatMap(({ form }, index) => form.complain(errors.filter(({ side }) => side === index)));
    complain(byId('notice'), [...rest, ...left].map(({ message }) => message).join(' '));
  }

  async #changeSpeed(speed) {
    this.time.show(speed);
    await this.#try(this.#session.speed(speed));
    this.#remember();
  }

  #hear(frame) {
    if (frame.run !== this.#run) this.#clear();
    this.#run = frame.run;
    this.#clock.hear(frame.at, frame.speed);
    this.#dropped += frame.dropped;
    byId('slowed').hidden = !frame.slowed;
    this.requests.show(frame.streams);
    this.scenarios.hear(frame.scenario);
    if (frame.sides.length !== this.sides.length) return;
    frame.sides.forEach((side, index) => this.sides[index].hear(frame.at, side));
    this.#decisions.hear(frame.sides);
    this.#isDirty = true;
  }

  #clear() {
    for (const side of this.sides) side.clear();
    this.#decisions.clear(this.sides.length);
    this.#summary.clear();
    this.#dropped = 0;
    this.#isDirty = true;
  }

  /** Keeps the set-up in the address, so that it can be copied and survives a reload. */
  #remember(streams = this.requests.streams) {
    if (this.scenarios.playing) return;
    history.replaceState(null, '', `#${toFragment({ setup: this.setup, streams })}`);
  }

  #renewed() {
    this.#clear();
    if (this.scenarios.playing) this.play(this.scenarios.playing);
  }

  #showConnection(state) {
    const node = byId('connection');
    node.dataset.state = state;
    // A stream begins with the decisions that came last, those that were shown before among them.
    if (state === 'live') this.#clear();
    const texts = {
      connecting: 'connecting',
      live: 'live',
      lost: 'connection lost, trying again',
      refused: 'not started: a value is not allowed',
    };
    node.textContent = texts[state];
  }

  /** Waits for an action, and shows what is wrong with it, or else a remark. */
  async #try(action, remark) {
    try {
      await action;
      this.#showErrors(remark ? [{ message: remark }] : []);
    } catch (error) {
      this.#showErrors(error.errors?.length ? error.errors : [{ message: error.message }]);
    }
  }

  /** Returns the seconds that the drawings and the time line show. */
  #spans() {
    const { pace } = this.time;
    const windows = this.sides.map(({ states }) => naturalSpan(states));
    const longest = Math.max(0, ...windows.filter(window => window <= 40 * pace));
    return {
      // A window that passes in moments is no measure for what has none.
      drawings: windows.map(window => 1.7 * (window ?? (longest >= 2 * pace ? longest : 8 * pace))),
      timeline: Math.max(15 * pace, 2.2 * longest),
    };
  }
}
