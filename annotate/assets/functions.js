// The list of functions.

let functions; // the Table

// listed are the functions that the search leaves, as they are sorted.
function listed() {
  const found = functionMatcher(), m = state.metric;
  const moved = (f) => !D.diff || m.unit || Number(val(f.c, m)) !== 0 || Number(val(inclusive(f), m)) !== 0;
  const list = D.funcs.map((_, i) => i).filter((i) => found(D.funcs[i]) && moved(D.funcs[i]));
  const row = (f) => state.sort === "with" ? inclusive(f) : f.c;
  if (state.sort === "name") {
    list.sort((i, j) => D.funcs[i].n < D.funcs[j].n ? -1 : D.funcs[i].n > D.funcs[j].n ? 1 : i - j);
  } else {
    const keys = D.funcs.map((f) => size(val(row(f), m)));
    list.sort((i, j) => compare(keys[j], keys[i]) || i - j);
  }
  return state.up ? list.reverse() : list;
}

function listFunctions() {
  const list = listed();
  functionHead();
  functions.set(list);
  $("functions-count").textContent = list.length === D.funcs.length ? `${list.length}` : `${list.length} of ${D.funcs.length}`;
  const m = state.metric;
  const unmoved = D.diff && Number(val(D.omitted.c, m)) === 0;
  $("omitted").textContent = D.omitted.n > 0 && unmoved ? `${full(D.omitted.n)} more, which together did not change.` : D.omitted.n > 0 ?
    `${full(D.omitted.n)} more below the threshold: ${figure(val(D.omitted.c, m), m, D.diff).trim()} ${m.name} (--threshold=0 has them)` : "";
}

function functionHead() {
  const head = (text, sort, className, title) => {
    const th = el("th", { scope: "col", className, title }, el("button", { type: "button", onclick: () => sortBy(sort) }, text));
    if (state.sort === sort) th.setAttribute("aria-sort", (sort === "name") !== state.up ? "ascending" : "descending");
    return th;
  };
  const columns = D.diff ? [head("change", "self", "", "new less old"), el("th", { scope: "col" }, "new")] : [head("self", "self", "", "what the function itself costs")];
  const row = el("tr", {}, ...columns, el("th", { scope: "col", className: "share" }, D.diff ? "% of old" : "%"), el("td", { className: "bar" }),
    ...(D.graph ? [head("with callees", "with", "with", "with what the function calls")] : []), head("function", "name", "name", ""));
  functions.table.tHead.replaceChildren(row);
}

// sortBy sorts, again: the other way round.
function sortBy(sort) {
  const inHead = document.activeElement?.closest?.("thead") !== null;
  go({ sort, up: state.sort === sort ? !state.up : false }, true);
  if (inHead) functions.table.tHead.querySelector("[aria-sort] button")?.focus();
}

function functionRow(i) {
  const f = D.funcs[i], m = state.metric, part = share(f.c, m);
  const bar = el("i");
  bar.hidden = Math.abs(part) < 0.0005;
  bar.style.width = `${hottest > 0 ? 100 * Math.abs(part) / hottest : 0}%`;
  const link = el("a", { href: fragmentOf({ fn: i }), title: f.o ? `${f.n}\nwas ${f.o}` : f.n, tabIndex: i === state.fn ? 0 : -1 }, f.n);
  const tr = el("tr", { className: ["own", "library", "loader", "unknown"][kind(f)] },
    number(f.c, m), ...(D.diff ? [number(f.c, m, NEW)] : []),
    warm(el("td", { className: "n share" }, m.unit ? "" : percent(part, D.diff)), part),
    el("td", { className: part < 0 ? "bar less" : "bar", "aria-hidden": "true" }, bar));
  if (D.graph) {
    const td = number(inclusive(f), m);
    td.classList.add("with");
    tr.append(td);
  }
  tr.append(el("th", { scope: "row", className: "name" }, link, f.y ? el("small", { title: "functions of a cycle call each other" }, ` cycle ${f.y}`) : "",
    el("small", { className: "place", title: D.files[f.f].n }, ` ${place(f)}`)));
  if (i === state.fn) tr.classList.add("current");
  return tr;
}

// showCurrent marks the function that is shown, and brings it into view.
function showCurrent(scroll) {
  for (const tr of functions.table.querySelectorAll("tr.current")) {
    tr.classList.remove("current");
    tr.querySelector("a").tabIndex = -1;
  }
  const at = functions.list.indexOf(state.fn);
  if (at < 0) return;
  const tr = functions.row(at);
  tr.classList.add("current");
  tr.querySelector("a").tabIndex = 0;
  if (scroll) within($("functions"), tr);
}

// within scrolls a box so that a row of it is in view, and nothing around the box.
function within(box, tr, middle) {
  const b = box.getBoundingClientRect(), r = tr.getBoundingClientRect();
  const head = box.querySelector("thead")?.offsetHeight || 0;
  if (!middle && r.top >= b.top + head && r.bottom <= b.bottom) return;
  box.scrollTop += r.top - b.top - (middle ? (b.height - r.height) / 2 : head + ROW);
}

// moveFunction goes to the next function in the list.
function moveFunction(by) {
  if (functions.list.length === 0) return;
  const at = functions.list.indexOf(state.fn);
  const next = at < 0 ? 0 : Math.min(Math.max(at + by, 0), functions.list.length - 1);
  go({ fn: functions.list[next], file: -1, line: 0 }, true);
  functions.row(next).querySelector("a").focus({ preventScroll: true });
}
