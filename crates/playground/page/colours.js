// The switch between dark and light.

import { byId, write } from './dom.js';

export function offerColours() {
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);
  const show = () => write(byId('theme'), isDark() ? 'Light' : 'Dark');
  byId('theme').addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    show();
    try {
      localStorage.setItem('theme', root.dataset.theme);
    } catch {
      // No storage: the choice lasts as long as the page.
    }
  });
  system.addEventListener('change', show);
  show();
}
