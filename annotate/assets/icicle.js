// The overview: boxes that are as wide as what they stand for costs. By place it is total, object (or whose code it is), file, function; by
// calls it is who calls whom (graph.js).

const LEAST = 0.0015; // of the width; what is narrower is not drawn
const BOX = 22; // px

// A node has a label, a size, what it is of (a function, or a row of numbers), and its children, which are made when they are drawn.

function functionSize(f) {
  if (!D.diff) return Math.max(0, amount(f.c, pictured()));
  return Math.abs(amount(f.c, pictured(), DELTA));
}

// pictured is the metric that boxes are drawn by: that chosen, unless it is no count.
const pictured = () => state.metric.unit ? firstMetric() : state.metric;

const bySize = (list) => list.sort((a, b) => b.size - a.size);
const total = (list) => list.reduce((s, n) => s + n.size, 0);

// group is a node of others; its row is added up when it is drawn.
function group(node, children) {
  return {
    ...node, size: total(children), children: bySize(children),
    get row() {
      const row = sumRow(this.children.map((c) => c.row));
      Object.defineProperty(this, "row", { value: row });
      return row;
    },
  };
}

function sumRow(list) {
  return D.total.map((_, i) => list.reduce((s, row) => row[i] === null || s === null ? null : plus(s, row[i]), 0));
}

// byPlace makes the tree of objects, files and functions.
function byPlace() {
  const groups = new Map();
  D.funcs.forEach((f, i) => {
    const size = functionSize(f);
    if (!(size > 0)) return;
    const k = kind(f), key = f.b >= 0 ? D.objs[f.b] : KINDS[k];
    if (!groups.has(key)) groups.set(key, { key, label: f.b >= 0 ? base(key) : key, title: key, kinds: [0, 0, 0, 0], files: new Map() });
    const g = groups.get(key);
    g.kinds[k] += size;
    if (!g.files.has(f.f)) g.files.set(f.f, []);
    g.files.get(f.f).push({ key: `f${i}`, label: f.n, title: f.n, fn: i, kind: k, size, row: f.c, children: [] });
  });
  const list = [...groups.values()].map((g) => {
    const inside = [...g.files].map(([file, fns]) => {
      const name = D.files[file].n;
      return group({ key: name, label: base(name), title: name, kind: fns[0].kind }, fns);
    });
    const { key, label, title } = g;
    return group({ key, label, title, kind: g.kinds.indexOf(Math.max(...g.kinds)) }, inside);
  });
  if (D.omitted.n > 0) {
    const size = Math.abs(amount(D.omitted.c, pictured()));
    if (size > 0) list.push({ key: "…", label: "the rest", title: `${D.omitted.n} functions below the threshold`, kind: UNKNOWN, size, row: D.omitted.c, children: [] });
  }
  return root(bySize(list));
}

function root(children, size = D.diff ? 0 : amount(D.total, pictured()), shared = false, upwards = false) {
  return { key: "", label: "all", title: "the whole run", kind: LIBRARY, size: Math.max(total(children), size), row: D.total, children, root: true, shared, upwards };
}

let tree = null; // what is drawn
let pixels = 0; // how wide the boxes are together
const hasCalls = () => D.graph && D.calls.length > 0;

function makeTree() {
  tree = state.view === "calls" && hasCalls() ? byCalls() : byPlace();
}

// zoomed returns the nodes from the root to the one that fills the width.
function zoomed() {
  const path = [tree];
  for (const key of state.zoom) {
    const next = path.at(-1).children.find((c) => c.key === key);
    if (!next) break;
    path.push(next);
  }
  return path;
}

function drawIcicle() {
  const box = $("icicle"), path = zoomed();
  const narrow = innerWidth <= 700, calls = state.view === "calls";
  const rows = calls ? (narrow ? 8 : 11) : narrow ? 2 : 3;
  const found = state.q ? functionMatcher() : null;
  const boxes = [];
  pixels = box.clientWidth;
  let deepest = 0;
  const draw = (n, left, width, level, above) => {
    deepest = Math.max(deepest, level);
    boxes.push(boxOf(n, left, width, level, above, found));
    if (level - (path.length - 1) >= rows || (n.children.length === 0)) return;
    let at = left;
    const scale = n.size > 0 ? width / n.size : 0;
    for (const c of n.children) {
      const w = c.size * scale;
      if (w < LEAST) break; // the others are smaller still
      draw(c, at, w, level + 1, [...above, c.key]);
      at += w;
    }
  };
  path.slice(0, -1).forEach((n, i) => boxes.push(boxOf(n, 0, 1, i, path.slice(1, i + 1).map((p) => p.key), null)));
  draw(path.at(-1), 0, 1, path.length - 1, path.slice(1).map((p) => p.key));
  box.replaceChildren(...boxes);
  box.style.height = `${(deepest + 1) * BOX}px`;
  $("zoom-out").hidden = state.zoom.length === 0;
  const notes = calls ? [tree.upwards ? "Callers stand below what they call." : "Who calls whom, from above."] : [];
  if (D.diff) notes.push(calls ? "Boxes are as wide as the larger of old and new." : "Boxes are as wide as what changed.");
  if (boxes.some((b) => b.shared)) notes.push("≈: a function with several callers is shared out among them by what their calls cost.");
  if (boxes.some((b) => b.node.inlined)) notes.push(`${INLINED}: inlined in the box ${tree.upwards ? "below" : "above"}.`);
  if (state.done.length > 0 && calls) notes.push("What was done to the tree is not done to the other panes.");
  $("icicle-note").textContent = notes.join(" ");
}

// matches reports whether a box, or one in it, is what was searched for.
function matches(n, found, calls) {
  if (n.fn !== undefined) return found(D.funcs[n.fn]);
  return calls || n.children.some((c) => matches(c, found, calls));
}

// boxOf draws one box.
function boxOf(n, left, width, level, above, found) {
  const m = pictured(), calls = state.view === "calls";
  const part = whole(m) ? share(n.row, m) : 0;
  const estimate = calls && n.shared && !D.diff ? n.size / (whole(m) || 1) : null;
  const figures = estimate === null ? percent(part, D.diff) : `≈${percent(estimate)}`;
  const b = el("button", {
    type: "button", className: "box", tabIndex: n.fn === state.fn || n.root ? 0 : -1,
    title: `${n.title}${n.inlined ? `, inlined (${INLINED})` : ""}\n${exact(n.row, m)}${estimate === null ? "" : `\nhere ≈ ${short(Math.round(n.size))}`}`,
  }, el("span", {}, n.inlined ? `${n.label} ${INLINED}` : n.label), ...(width * pixels > 96 ? [el("small", {}, `${figures}${THIN}%`)] : []));
  b.shared = estimate !== null;
  b.node = n;
  b.path = above;
  b.style.left = `${100 * left}%`;
  b.style.width = `${100 * width}%`;
  b.style.top = `${level * BOX}px`;
  if (D.diff) warm(b, n.root ? 0 : part); else b.classList.add(n.root ? "root" : ["own", "library", "loader", "unknown"][n.kind]);
  if (n.fn !== undefined && n.fn === state.fn) b.classList.add("chosen");
  if (found && !matches(n, found, calls)) b.classList.add("faded");
  return b;
}

// onBox is a click on a box: a function is chosen, anything else, or a function among calls, fills the width.
function onBox(e) {
  const b = e.target.closest(".box");
  if (!b) return;
  const n = b.node, patch = {};
  if (n.fn === undefined || state.view === "calls") {
    if (n.children.length > 0 || n.root) patch.zoom = b.path;
  }
  if (n.fn !== undefined) Object.assign(patch, { fn: n.fn, file: -1, line: 0, tab: "" });
  go(patch);
}

// moveBox moves the focus to the box beside, above or below.
function moveBox(from, key) {
  const at = from.getBoundingClientRect(), middle = (at.left + at.right) / 2;
  const row = (top) => [...$("icicle").children].filter((b) => Math.abs(b.getBoundingClientRect().top - top) < 2);
  let to;
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const list = row(at.top);
    to = list[list.indexOf(from) + (key === "ArrowLeft" ? -1 : 1)];
  } else {
    const list = row(at.top + (key === "ArrowDown" ? BOX : -BOX));
    to = key === "ArrowDown" ? list.find((b) => b.getBoundingClientRect().left >= at.left - 1 && b.getBoundingClientRect().left < at.right) :
      list.find((b) => b.getBoundingClientRect().left <= middle && middle <= b.getBoundingClientRect().right);
  }
  if (!to) return;
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

// legend says whose code costs how much.
function legend() {
  const m = pictured(), sums = [[], [], [], []];
  for (const f of D.funcs) sums[kind(f)].push(f.c);
  const items = KINDS.map((name, k) => {
    const part = sums[k].reduce((s, row) => s + share(row, m), 0);
    if (sums[k].length === 0) return "";
    return el("span", { className: `key ${["own", "library", "loader", "unknown"][k]}` }, el("i"), `${name} `, el("b", {}, `${percent(part, D.diff)}${THIN}%`));
  });
  if (D.omitted.n > 0) items.push(el("span", { className: "key" }, `the rest `, el("b", {}, `${percent(share(D.omitted.c, m), D.diff)}${THIN}%`)));
  $("legend").replaceChildren(...items.filter(Boolean));
}
