// A drawing that is described anew for each picture: elements of the last picture are used again, and only attributes that
// differ are written.

const SVG = 'http://www.w3.org/2000/svg';

export class Scene {
  #root;
  #next = 0;

  constructor(root) {
    this.#root = root;
  }

  /** Draws a picture: `paint` calls the methods below, back to front. */
  draw(width, height, paint) {
    set(this.#root, 'viewBox', `0 0 ${width} ${height}`);
    set(this.#root, 'height', height);
    this.#next = 0;
    paint(this);
    while (this.#root.childNodes.length > this.#next) this.#root.lastChild.remove();
  }

  rect(className, x, y, width, height, radius = 0) {
    if (!(width > 0 && height > 0)) return;
    this.#element('rect', className, { x: fix(x), y: fix(y), width: fix(width), height: fix(height), rx: radius });
  }

  line(className, x1, y1, x2, y2) {
    this.#element('line', className, { x1: fix(x1), y1: fix(y1), x2: fix(x2), y2: fix(y2) });
  }

  circle(className, cx, cy, r) {
    this.#element('circle', className, { cx: fix(cx), cy: fix(cy), r: fix(r) });
  }

  path(className, d) {
    this.#element('path', className, { d });
  }

  /** Writes a text; `anchor` is `start`, `middle` or `end`. */
  text(className, x, y, text, anchor = 'start') {
    const node = this.#element('text', className, { x: fix(x), y: fix(y), 'text-anchor': anchor });
    if (node.textContent !== text) node.textContent = text;
  }

  #element(tag, className, attributes) {
    let node = this.#root.childNodes[this.#next];
    if (!node || node.localName !== tag) {
      const fresh = document.createElementNS(SVG, tag);
      if (node) node.replaceWith(fresh);
      else this.#root.append(fresh);
      node = fresh;
    }
    this.#next += 1;
    set(node, 'class', className);
    for (const name in attributes) set(node, name, attributes[name]);
    return node;
  }
}

/** Returns a coordinate in hundredths of a pixel. */
export function fix(value) {
  return Math.round(value * 100) / 100;
}

function set(node, name, value) {
  const text = String(value);
  const written = (node.written ??= {});
  if (written[name] === text) return;
  written[name] = text;
  node.setAttribute(name, text);
}
