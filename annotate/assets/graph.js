// The tree of calls, and what the reader does to it. What was done is in state.done, one text each: "focus FUNCTION", "callers FUNCTION",
// "hide FUNCTION", "drop SEARCH", "cycles".

const DEEPEST = 100;

const larger = (row) => Math.max(0, amount(row, pictured(), NEW), D.diff ? amount(row, pictured(), OLD) : 0);

// callGraph returns what functions cost with what they call (size), and what their calls of each other do (out), of the metric that is drawn. In a
// comparison it is the larger of the old and the new cost, so that what is gone is seen, too. Entry has the functions that the tree begins with.
function callGraph() {
  const g = { size: D.funcs.map((f) => larger(inclusive(f))), out: D.funcs.map(() => new Map()), entry: null, focused: false, upwards: false, total: larger(D.total), cycles: [], inlined: new Set() };
  for (const [i, calls] of callees) {
    if (i < 0) continue;
    const called = new Set(calls.filter((c) => !c.inlined).map((c) => c.callee));
    for (const c of calls) {
      if (!called.has(c.callee)) g.inlined.add(`${i} ${c.callee}`);
      const n = larger(c.c);
      if (c.callee >= 0 && c.callee !== i && n > 0) g.out[i].set(c.callee, (g.out[i].get(c.callee) || 0) + n);
    }
  }
  return g;
}

// parts returns what of a function's cost its calls are: no more than all of it, as calls within a cycle would have it.
function parts(g, i) {
  const sum = [...g.out[i].values()].reduce((s, n) => s + n, 0), fit = sum > g.size[i] ? g.size[i] / sum : 1;
  return [...g.out[i]].map(([callee, n]) => [callee, g.size[i] > 0 ? n * fit / g.size[i] : 0]);
}

// entries are the functions that nobody calls; and, as far as there is room, one of each circle that nobody else calls, and those that
// functions call that are not on the page, unless these are below one that is.
function entries(g) {
  const called = new Set([...(callees.get(-1) || []).map((c) => c.callee), ...g.out.flatMap((to) => [...to.keys()])]);
  let room = g.total * 1.001;
  const reached = new Set(), list = new Map();
  const reach = (i) => {
    const todo = [i];
    room -= g.size[i];
    list.set(i, g.size[i]);
    reached.add(i);
    while (todo.length > 0) {
      for (const callee of g.out[todo.pop()].keys()) {
        if (!reached.has(callee)) {
          reached.add(callee);
          todo.push(callee);
        }
      }
    }
  };
  const order = g.size.map((_, i) => i).sort((i, j) => g.size[j] - g.size[i]);
  for (const i of order) if (!called.has(i) && g.size[i] > 0) reach(i);
  for (const i of order) if (!reached.has(i) && g.size[i] > 0 && g.size[i] <= room) reach(i);
  return list;
}

// The function that a text of state.done names, -1 for none.
function named(label) {
  const s = { fn: -1, line: 0 };
  return find(label, s) && s.line === 0 ? s.fn : -1;
}

const transforms = {
  // focus has the tree begin with one function, with all that its calls cost.
  focus(g, label) {
    const i = named(label);
    if (i < 0) return;
    g.entry = new Map([[i, g.size[i]]]);
    g.total = g.size[i];
    g.focused = true;
  },
  // callers has the tree begin with a function, too, but with its callers below it: who is to blame for its cost. What a caller brings is shared out among its own
  // callers by what their calls of it cost.
  callers(g, label) {
    const i = named(label);
    if (i < 0) return;
    transforms.focus(g, label);
    const from = g.out.map(() => new Map()), whole = g.out.map(() => 0);
    for (const [caller, to] of g.out.entries()) {
      for (const [callee, n] of to) {
        from[callee].set(caller, n);
        whole[callee] += n;
      }
    }
    g.size = g.size.map((n, at) => whole[at] || n);
    g.inlined = new Set([...g.inlined].map((pair) => pair.split(" ").toReversed().join(" ")));
    g.out = from;
    g.upwards = !g.upwards;
  },
  // hide gives what a function costs to its callers, and these its callees.
  hide(g, label) {
    const i = named(label);
    if (i < 0) return;
    const inside = parts(g, i);
    for (const [caller, to] of g.out.entries()) {
      const n = to.get(i);
      if (n === undefined) continue;
      to.delete(i);
      for (const [callee, part] of inside) if (callee !== caller) to.set(callee, (to.get(callee) || 0) + n * part);
    }
    const own = g.entry.get(i);
    g.entry.delete(i);
    if (own !== undefined) for (const [callee, part] of inside) g.entry.set(callee, (g.entry.get(callee) || 0) + own * part);
    g.out[i] = new Map();
    g.size[i] = 0;
  },
  // drop leaves out functions with all that they call, as if they had never been called: what is left of each function is found from below.
  drop(g, query) {
    const found = functionMatcher(query);
    const left = g.size.map((_, i) => g.cycles.some((c) => c.at === i) || !found(D.funcs[i]) ? 1 : 0);
    const inside = g.size.map((_, i) => parts(g, i)), order = upwards(g);
    for (let round = 0, moved = 1; round < 50 && moved > 1e-6; round++) { // once is enough but for cycles
      moved = 0;
      for (const i of order) {
        if (left[i] === 0) continue;
        const now = inside[i].reduce((s, [callee, part]) => s - part * (1 - left[callee]), 1);
        moved = Math.max(moved, left[i] - now);
        left[i] = Math.max(0, now);
      }
    }
    for (const [i, n] of g.entry) {
      g.total -= n * (1 - left[i]);
      g.entry.set(i, n * left[i]);
    }
    for (const [i, to] of g.out.entries()) {
      g.size[i] *= left[i];
      for (const [callee, n] of to) to.set(callee, n * left[callee]);
    }
  },
  // cycles makes one box of functions that call each other.
  cycles(g) {
    const of = new Map();
    D.funcs.forEach((f, i) => { if (f.y > 0 && g.size[i] > 0) of.set(f.y, [...(of.get(f.y) || []), i]); });
    for (const [number, members] of of) {
      const at = g.size.length, inside = new Set(members), out = new Map(), share = (i) => g.size[i] / (larger(inclusive(D.funcs[i])) || 1);
      for (const i of members) {
        for (const [callee, n] of g.out[i]) if (!inside.has(callee)) out.set(callee, (out.get(callee) || 0) + n);
        g.out[i] = new Map();
      }
      g.size.push(members.reduce((s, i) => s + larger(D.funcs[i].c) * share(i), [...out.values()].reduce((s, n) => s + n, 0)));
      for (const to of [...g.out, g.entry]) {
        const n = members.reduce((s, i) => s + (to.get(i) || 0), 0);
        for (const i of members) to.delete(i);
        if (n > 0) to.set(at, to === g.entry ? Math.min(n, g.size[at]) : n);
      }
      for (const i of members) g.size[i] = 0;
      g.out.push(out);
      const row = sumRow(members.flatMap((m) => [D.funcs[m].c, ...(callees.get(m) || []).filter((c) => !inside.has(c.callee)).map((c) => c.c)]));
      g.cycles.push({ at, number, members, row });
    }
  },
};

// upwards returns functions so that those that one calls come before it, but for cycles.
function upwards(g) {
  const order = [], seen = new Set();
  for (let from = 0; from < g.size.length; from++) {
    const todo = [from];
    while (todo.length > 0) {
      const i = todo.pop();
      if (i < 0) { order.push(~i); continue; } // all below it are there
      if (seen.has(i)) continue;
      seen.add(i);
      todo.push(~i, ...g.out[i].keys());
    }
  }
  return order;
}

// byCalls makes the tree of calls. A graph does not know whole stacks: where a function has several callers, what it calls is
// shared out among them by what they cost.
function byCalls() {
  const g = callGraph();
  g.entry = entries(g);
  for (const d of state.done) {
    const [, name, about] = /^(\w+) ?(.*)$/s.exec(d) || [];
    if (Object.hasOwn(transforms, name)) transforms[name](g, about);
  }
  const node = (i, size, path) => ({
    ...describe(g, i), size, inlined: path.length > 0 && g.inlined.has(`${path.at(-1)} ${i}`), shared: state.done.length > 0 || size < g.size[i] * 0.9995,
    get children() {
      const inside = new Set(path).add(i);
      const list = path.length >= DEEPEST ? [] : parts(g, i).filter(([callee]) => !inside.has(callee)).map(([callee, part]) => node(callee, part * size, [...path, i]));
      Object.defineProperty(this, "children", { value: bySize(list.filter((n) => n.size > 0)) });
      return this.children;
    },
  });
  const list = [...g.entry].filter(([, n]) => n > 0).map(([i, n]) => node(i, n, []));
  return root(bySize(g.focused ? list : list.map((n) => chain(n))), g.total, state.done.length > 0, g.upwards);
}

// describe is what a box says of a function, or of a cycle that is one box.
function describe(g, i) {
  const cycle = g.cycles.find((c) => c.at === i);
  if (!cycle) return { key: `f${i}`, label: D.funcs[i].n, title: D.funcs[i].n, fn: i, kind: kind(D.funcs[i]), row: inclusive(D.funcs[i]) };
  const { number, members, row } = cycle, first = [...members].sort((a, b) => larger(D.funcs[b].c) - larger(D.funcs[a].c));
  const names = first.slice(0, 8).map((m) => D.funcs[m].n).join(", ");
  return {
    key: `y${number}`, label: `cycle ${number}: ${members.length} functions`, kind: kind(D.funcs[first[0]]), row,
    title: `${members.length} functions that call each other: ${names}${members.length > 8 ? ", …" : ""}`,
  };
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

// What the reader does.

// did does something to the tree, which is shown then; it is about the box that has the focus, or the function chosen.
function did(what) {
  if (!hasCalls()) return;
  const fn = document.activeElement?.closest?.(".box") ? document.activeElement.node.fn ?? -1 : state.fn;
  const about = { focus: fn, callers: fn, hide: fn }[what] ?? 0;
  if (about < 0 || what === "drop" && !state.q.trim() || what === "cycles" && (state.done.includes(what) || !D.funcs.some((f) => f.y > 0))) return;
  const text = what === "drop" ? `drop ${state.q.trim()}` : what === "cycles" ? what : `${what} ${functionLabel(fn)}`;
  go({ done: [...state.done, text], view: "calls", zoom: [], q: what === "drop" ? "" : state.q });
}

// undo takes back what was done, the last thing unless it is said which.
function undo(at = state.done.length - 1) {
  if (state.done.length > 0) go({ done: state.done.toSpliced(at, 1), zoom: [] });
}

// drawTransforms shows what can be done, and what has been done.
function drawTransforms() {
  const at = D.funcs[state.fn], calls = state.view === "calls" && hasCalls();
  $("transforms").hidden = !calls;
  if (!calls) return;
  const can = { "do-focus": at, "do-callers": at, "do-hide": at, "do-drop": state.q.trim(), "do-cycles": D.funcs.some((f) => f.y > 0) && !state.done.includes("cycles") };
  for (const [id, ok] of Object.entries(can)) $(id).disabled = !ok;
  $("do-what").textContent = at ? at.n : "";
  const says = { focus: "focus", callers: "callers of", hide: "hidden", drop: "dropped", cycles: "cycles as one" };
  $("done").replaceChildren(...state.done.map((d, i) => {
    const [, name, about] = /^(\w+) ?(.*)$/s.exec(d) || ["", "", d];
    const text = `${says[name] || name} ${about}`.trim();
    return el("li", {}, el("button", { type: "button", title: "Take this back (u: the last)", "aria-label": `Take back: ${text}`, onclick: () => undo(i) }, `${text} ✕`));
  }));
}
