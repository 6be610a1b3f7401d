// Single keys as shortcuts, which can be switched off; never while somebody types.

import { byId } from './dom.js';

/** `actions` has a function for each key. */
export function listen(actions) {
  const dialog = byId('keys-dialog');
  const help = () => dialog.showModal();
  byId('help').addEventListener('click', help);
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || dialog.open) return;
    if (isTyping(event.target) || !byId('shortcuts-on').checked) return;
    const action = event.key === '?' ? help : actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function isTyping(target) {
  return target.matches?.('select, textarea, input:not([type=checkbox], [type=radio])') ?? false;
}
