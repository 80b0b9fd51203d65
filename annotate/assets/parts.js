// Tables of many rows, search, and what is copied.

const CHUNK = 100; // rows that are made at a time
const ROW = 20; // height of a row in px, as in page.css

// A Table shows many rows of one height. They are made in chunks, a tbody each, when they come near the view; before, a chunk is one empty row
// as high as all of its.
class Table {
  constructor(table, box, make) {
    this.observer = new IntersectionObserver((entries) => {
      for (const e of entries) if (e.isIntersecting) this.fill(e.target);
    }, { root: box, rootMargin: "1000px 0px" });
    Object.assign(this, { table, make, list: [], bodies: [] });
  }

  set(list) {
    this.observer.disconnect();
    for (const b of this.bodies) b.remove();
    this.list = list;
    this.bodies = [];
    for (let i = 0; i < list.length; i += CHUNK) {
      const body = el("tbody");
      const space = el("tr", { "aria-hidden": "true" }, el("td", { colSpan: 20 }));
      space.style.height = `${ROW * Math.min(CHUNK, list.length - i)}px`;
      body.append(space);
      this.bodies.push(body);
      this.observer.observe(body);
    }
    this.table.append(...this.bodies);
    this.table.setAttribute("aria-rowcount", list.length);
    if (list.length > 0) this.fill(this.bodies[0]); // at once, lest the table flickers
  }

  fill(body) {
    this.observer.unobserve(body);
    if (body.filled) return;
    body.filled = true;
    const from = CHUNK * this.bodies.indexOf(body);
    body.replaceChildren(...this.list.slice(from, from + CHUNK).map((item, i) => {
      const tr = this.make(item, from + i);
      tr.setAttribute("aria-rowindex", from + i + 1);
      return tr;
    }));
  }

  row(i) {
    const body = this.bodies[Math.floor(i / CHUNK)];
    this.fill(body);
    return body.rows[i % CHUNK];
  }

  fillAll() { for (const b of this.bodies) this.fill(b); }
}

// warm gives an element the colour of a share.
function warm(e, part) {
  const h = heat(part);
  e.classList.toggle("hot", h > 0 && part > 0);
  e.classList.toggle("cold", h > 0 && part < 0);
  if (h > 0) e.style.setProperty("--heat", h.toFixed(3));
  return e;
}

// exact is what a short number says when it is pointed at.
function exact(row, m) {
  const of = whole(m) ? ` (${percent(share(row, m), D.diff)}${THIN}% of ${D.diff ? "the old total" : "all"})` : "";
  if (!D.diff) return `${full(val(row, m), false, m.unit)} ${m.name}${of}`;
  return `${full(val(row, m, OLD), false, m.unit)} → ${full(val(row, m, NEW), false, m.unit)}: ${full(val(row, m), true, m.unit)} ${m.name}${of}`;
}

// number makes a cell of a count.
function number(row, m, part = PART) {
  const signed = part === DELTA, c = val(row, m, part);
  return el("td", { className: Number(c) === 0 ? "n zero" : "n", title: row ? exact(row, m) : "" }, row ? figure(c, m, signed) : "");
}

// Search. A query without capitals matches any. `-word` leaves out what has it, /…/ is a regular expression.

function matcher(query = state.q) {
  const q = query.trim();
  if (!q) return () => true;
  const re = /^\/(.+)\/$/.exec(q);
  if (re) {
    try {
      const r = new RegExp(re[1], re[1] === re[1].toLowerCase() ? "i" : "");
      return (text) => r.test(text);
    } catch { return () => false; }
  }
  const any = q === q.toLowerCase();
  const not = q.length > 1 && q.startsWith("-");
  const word = not ? q.slice(1) : q;
  return (text) => (any ? text.toLowerCase() : text).includes(word) !== not;
}

// functionMatcher returns what reports whether a function, or where it is, matches.
function functionMatcher(query = state.q) {
  const found = matcher(query);
  const both = query.trim().startsWith("-") ? (a, b) => found(a) && found(b) : (a, b) => found(a) || found(b);
  return (f) => both(f.n, D.files[f.f].n);
}

const INLINED = "⤶"; // stands at what was inlined, in place of being called

const say = (text) => { $("status").textContent = text; };

// What is copied.

const cell = (text) => String(text).replace(/\|/g, "\\|").replace(/\s+/g, " ");

// markdown is the list of functions as it is shown, with all digits.
function markdown(list) {
  const m = state.metric, sides = D.diff ? [OLD, NEW, DELTA] : [NEW];
  const head = [...sides.map((s) => D.diff ? `${["new", "old", "Δ"][s]} ${m.name}` : m.name), "%", ...(D.graph ? ["with callees"] : []), "function", "where"];
  const rows = list.map((i) => {
    const f = D.funcs[i];
    const counts = sides.map((s) => full(val(f.c, m, s), s === DELTA, m.unit));
    return [...counts, percent(share(f.c, m), D.diff), ...(D.graph ? [full(val(inclusive(f), m), D.diff, m.unit)] : []), `\`${cell(f.n)}\``, cell(place(f))];
  });
  const right = head.map((h, i) => i < head.length - 2 ? "--:" : "---");
  return [head, right, ...rows].map((r) => `| ${r.join(" | ")} |`).join("\n") + "\n";
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // a page from a disk, or in a frame, may not
    const box = el("textarea", { value: text, readOnly: true, "aria-hidden": "true" });
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
}
