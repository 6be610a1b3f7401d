// Starts the page.

import { byId, calm, complain } from './dom.js';
import { Playground } from './playground.js';
import { Session } from './session.js';
import { listen } from './shortcuts.js';
import { offerColours } from './colours.js';
import { offerLink } from './copy.js';

/** The time between two pictures for readers who ask for less movement, and between two writings of tables, in milliseconds. */
const CALM = 500;
const WRITING = 250;

async function start() {
  offerColours();
  const copy = offerLink();
  const lists = ['algorithms', 'limiters', 'scenarios'].map(name => Session.list(name));
  const [algorithms, offer, scenarios] = await Promise.all(lists);
  byId('live').hidden = offer.limiters.length === 0;
  const playground = new Playground(algorithms, offer, scenarios);
  const { requests, time } = playground;
  const number = index => () => playground.scenarios.at(index) && playground.play(playground.scenarios.at(index));
  listen({
    s: () => requests.one(),
    b: () => requests.burst(),
    t: () => (requests.streams.length ? requests.stopAll() : requests.stream()),
    p: () => time.toggle(),
    r: () => playground.reset(),
    l: copy,
    ...Object.fromEntries(scenarios.map((_, index) => [index + 1, number(index)])),
  });
  draw(playground);
  await playground.start();
}

/** Draws from now on: with each picture of the screen, or rarely. */
function draw(playground) {
  let [drawn, written] = [-Infinity, -Infinity];
  const picture = now => {
    if (!calm.matches || now - drawn >= CALM) {
      drawn = now;
      playground.draw();
    }
    if (now - written >= WRITING) {
      written = now;
      playground.write();
    }
    requestAnimationFrame(picture);
  };
  requestAnimationFrame(picture);
}

start().catch(error => {
  complain(byId('notice'), `The playground cannot start: ${error.message}. Reload the page when the server runs.`);
});
