"use strict";
// Zoom and search of a flame graph. Each frame is a <g> with its begin and width in counts (data-x, data-w), its depth (data-d) and a <title>.
(() => {
  const svg = document.documentElement, width = 1200, margin = 10, char = 6.6;
  const total = Number(svg.dataset.total);
  const frames = [...document.querySelectorAll("g.f")].map(g => ({
    g, x: Number(g.dataset.x), w: Number(g.dataset.w), d: Number(g.dataset.d),
    rect: g.querySelector("rect"), text: g.querySelector("text"), name: g.dataset.n,
  }));
  const at = id => document.getElementById(id);
  let zoomed = null, wanted = null;

  // draw shows what lies below the zoomed frame, on the whole width, and the frames that lead to it.
  function draw() {
    const lo = zoomed ? zoomed.x : 0, w = zoomed ? zoomed.w : total, scale = (width - 2 * margin) / w;
    for (const f of frames) {
      const left = Math.max(f.x, lo), right = Math.min(f.x + f.w, lo + w);
      const shown = right > left;
      f.g.style.display = shown ? "" : "none";
      if (!shown) continue;
      const x = margin + (left - lo) * scale, px = (right - left) * scale;
      f.rect.setAttribute("x", x.toFixed(2));
      f.rect.setAttribute("width", px.toFixed(2));
      f.text.setAttribute("x", (x + 3).toFixed(2));
      const n = Math.floor((px - 6) / char);
      f.text.textContent = n < 3 ? "" : f.name.length <= n ? f.name : f.name.slice(0, n - 2) + "..";
      f.g.classList.toggle("above", zoomed !== null && f.d < zoomed.d);
    }
    at("reset").style.display = zoomed ? "" : "none";
  }

  function zoom(f) {
    zoomed = f && f.d > 0 ? f : null;
    draw();
  }

  // search marks frames whose names match, and says what share of all they cover: those above others count once.
  function search() {
    const text = window.prompt("Search for functions (a regular expression); nothing ends the search", wanted ? wanted.source : "");
    if (text === null) return;
    try {
      wanted = text === "" ? null : new RegExp(text, "i");
    } catch (e) {
      window.alert(e.message);
      return;
    }
    let covered = 0, end = -1;
    for (const f of [...frames].sort((a, b) => a.x - b.x || a.d - b.d)) {
      const hit = wanted !== null && wanted.test(f.name);
      f.g.classList.toggle("hit", hit);
      if (hit && f.x >= end) {
        covered += f.w;
        end = f.x + f.w;
      }
    }
    at("matched").textContent = wanted === null ? "" : "matched: " + (100 * covered / total).toFixed(2) + "%";
  }

  for (const f of frames) {
    f.g.addEventListener("click", () => zoom(f));
    f.g.addEventListener("keydown", e => { if (e.key === "Enter") zoom(f); });
    f.g.addEventListener("mouseover", () => { at("details").textContent = f.g.querySelector("title").textContent; });
    f.g.addEventListener("focus", () => { at("details").textContent = f.g.querySelector("title").textContent; });
  }
  at("reset").addEventListener("click", () => zoom(null));
  at("search").addEventListener("click", search);
  window.addEventListener("keydown", e => {
    if (e.key === "Escape") zoom(null);
    if (e.key === "/" || (e.key === "f" && (e.ctrlKey || e.metaKey))) {
      e.preventDefault();
      search();
    }
  });
})();
