// The overview: boxes that are as wide as what they stand for costs. By place it is total, object (or whose code it is), file, function; by
// calls it is who calls whom.

const LEAST = 0.0015; // of the width; what is narrower is not drawn
const DEEPEST = 100;
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

function root(children) {
  return { key: "", label: "all", title: "the whole run", kind: LIBRARY, size: Math.max(total(children), D.diff ? 0 : amount(D.total, pictured())), row: D.total, children, root: true };
}

// byCalls makes the tree of calls. A graph does not know whole stacks: where a function has several callers, what it calls is
// shared out among them by what they cost.
function byCalls() {
  const m = pictured(), side = NEW;
  const cost = D.funcs.map((f) => Math.max(0, amount(inclusive(f), m, side)));
  const node = (i, size, path) => {
    const f = D.funcs[i];
    return {
      key: `f${i}`, label: f.n, title: f.n, fn: i, kind: kind(f), size, row: inclusive(f), shared: size < cost[i] * 0.9995,
      get children() {
        const inside = new Set(path).add(i), sums = new Map();
        for (const c of callees.get(i) || []) {
          if (c.callee >= 0 && !inside.has(c.callee)) sums.set(c.callee, (sums.get(c.callee) || 0) + amount(c.c, m, side));
        }
        const scale = cost[i] > 0 ? size / cost[i] : 0;
        const all = [...sums].reduce((s, [, n]) => s + n, 0) * scale;
        const fits = all > size ? size / all : 1; // calls within a cycle cost more than their caller
        const list = path.length >= DEEPEST ? [] : [...sums].filter(([, n]) => n > 0).map(([callee, n]) => node(callee, n * scale * fits, [...path, i]));
        Object.defineProperty(this, "children", { value: bySize(list) });
        return list;
      },
    };
  };
  return root(bySize(entries(cost).map((i) => chain(node(i, cost[i], [])))));
}

// chain makes one box of the first functions if they do nothing but call the next: what leads to main.
function chain(n, most = 6) {
  const [first, ...rest] = n.children;
  if (most === 0 || n.kind === OWN || !first || first.size < 0.998 * n.size) return n;
  const next = chain(first, most - 1);
  const label = `${n.label} ▸ ${next.label}`;
  if (next.kind === OWN) return { ...n, children: [first, ...rest] };
  return { ...next, label, title: label, size: n.size, row: n.row, children: bySize([...next.children, ...rest]) };
}

// entries are the functions that nobody calls; and, as far as there is room, one of each circle that nobody else calls, and those that
// functions call that are not on the page, unless these are below one that is.
function entries(cost) {
  const called = (i) => (callers.get(i) || []).some((c) => c.caller !== i);
  const all = amount(D.total, pictured(), NEW);
  let room = all * 1.001;
  const reached = new Set(), list = [];
  const reach = (i) => {
    const todo = [i];
    room -= cost[i];
    list.push(i);
    reached.add(i);
    while (todo.length > 0) {
      for (const c of callees.get(todo.pop()) || []) {
        if (c.callee >= 0 && !reached.has(c.callee)) {
          reached.add(c.callee);
          todo.push(c.callee);
        }
      }
    }
  };
  const order = D.funcs.map((_, i) => i).sort((i, j) => cost[j] - cost[i]);
  for (const i of order) if (!called(i) && cost[i] > 0) reach(i);
  for (const i of order) if (!reached.has(i) && cost[i] > 0 && cost[i] <= room) reach(i);
  return list;
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
  $("icicle-note").textContent = calls ? (boxes.some((b) => b.shared) ?
    "Who calls whom, from above. ≈: a function with several callers is shared out among them by what their calls cost." : "Who calls whom, from above.") : "";
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
    title: `${n.title}\n${exact(n.row, m)}${estimate === null ? "" : `\nhere ≈ ${short(Math.round(n.size))}`}`,
  }, el("span", {}, n.label), ...(width * pixels > 96 ? [el("small", {}, `${figures}${THIN}%`)] : []));
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
