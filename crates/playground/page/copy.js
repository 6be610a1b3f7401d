// The button that copies the address of the set-up.

import { byId, complain } from './dom.js';

/** The time for which the button says what it did, in milliseconds. */
const THANKS = 1500;

/** Returns a function that copies the link. */
export function offerLink() {
  const button = byId('copy-link');
  const label = button.firstChild;
  const usual = label.textContent;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      label.textContent = 'Copied ';
      setTimeout(() => (label.textContent = usual), THANKS);
    } catch {
      // Only pages of this machine or with TLS may write to the clipboard.
      complain(
        byId('notice'),
        'The browser does not let this page copy. The address of the page is the link: copy it from there.',
      );
    }
  };
  button.addEventListener('click', copy);
  return copy;
}
