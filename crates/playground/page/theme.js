// Sets the colours that the reader chose the last time, before anything is drawn.
try {
  const theme = localStorage.getItem('theme');
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // No storage: the colours are those of the system.
}
