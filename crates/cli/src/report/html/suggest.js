"use strict";
// Moves the line of each curve to a point of it, and marks the keys that the limit there hits.
for (const section of document.querySelectorAll(".suggestion")) {
  const slider = section.querySelector("input");
  // One point leaves nothing to choose.
  if (!slider || slider.max === "0") continue;
  const points = [...section.querySelectorAll(".points tbody tr")];
  const keys = [...section.querySelectorAll(".keys tbody tr[data-needs]")];
  const line = section.querySelector(".chosen");
  const says = section.querySelector(".says");
  const show = () => {
    const point = points[slider.value];
    const { limit, x } = point.dataset;
    for (const other of points) other.removeAttribute("aria-current");
    point.setAttribute("aria-current", "true");
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    says.textContent = point.dataset.says;
    slider.setAttribute("aria-valuetext", limit);
    for (const key of keys) key.classList.toggle("hit", Number(key.dataset.needs) > Number(limit));
  };
  slider.addEventListener("input", show);
  points.forEach((point, place) => point.addEventListener("click", () => { slider.value = place; show(); }));
  slider.closest("[hidden]").hidden = false;
  slider.setAttribute("aria-valuetext", points[slider.value].dataset.limit);
}
