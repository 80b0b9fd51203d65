//go:build oracles

package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/browsertest"
)

// A browser is one that shows pages of profiles.
type browser struct{ *browsertest.Browser }

func newBrowser(t *testing.T) browser { return browser{browsertest.New(t)} }

// page writes a page by the command line and returns its name.
func page(t *testing.T, args ...string) string {
	file := filepath.Join(t.TempDir(), "page.html")
	var stderr strings.Builder
	status := Annotate("cgemu annotate", append(args, "--html="+file), io.Discard, &stderr)
	require.Zero(t, status, stderr.String())
	return file
}

const (
	oldPage = "testdata/page/old.out"
	newPage = "testdata/page/new.out"
)

// Expressions on the page.
const (
	firstFn  = `document.querySelector("#functions tbody th.name a").textContent`
	names    = `[...document.querySelectorAll("#functions tbody th.name > a")].map((a) => a.textContent).join()`
	sorted   = `[...document.querySelectorAll("#functions [aria-sort]")].map((h) => h.textContent + " " + h.ariaSort).join()`
	target   = `document.querySelector("#pane tr.target td.code")?.firstChild && [...document.querySelector("#pane tr.target td.code").childNodes].filter((n) => !n.matches?.("a")).map((n) => n.textContent).join("")`
	inView   = `(() => { const r = document.querySelector("#pane tr.target")?.getBoundingClientRect(), p = document.getElementById("pane").getBoundingClientRect(); return r !== undefined && r.top >= p.top && r.bottom <= p.bottom; })()`
	focused  = `document.activeElement.textContent`
	chosen   = `document.querySelector("#detail-head h2").textContent`
	event    = `document.querySelector("#totals [aria-pressed=true] span").textContent`
	status   = `document.getElementById("status").textContent`
	boxNames = `[...document.querySelectorAll("#icicle .box span")].map((b) => b.textContent)`
	tabNames = `[...document.querySelectorAll("#tabs [role=tab]")].map((b) => b.textContent + (b.ariaSelected === "true" ? "*" : "")).join()`
)

// box is the selector of a box of the overview, by its text; numbered from 1 among those of that text.
func (b browser) clickBox(text string) {
	b.Eval(fmt.Sprintf(`(() => { const x = [...document.querySelectorAll("#icicle .box")].find((b) => b.querySelector("span").textContent === %q); x.id = "wanted"; return x !== undefined; })()`, text))
	b.Click("#wanted")
}

func (b browser) clickFunction(name string) {
	b.Eval(fmt.Sprintf(`(() => { for (const e of document.querySelectorAll(".wanted")) e.classList.remove("wanted"); const x = [...document.querySelectorAll("#functions th.name > a")].find((b) => b.textContent === %q); x.classList.add("wanted"); return x !== undefined; })()`, name))
	b.Click("#functions a.wanted")
}

// TestOracleHTMLTasks: what people want to know, with the clicks that it takes.
func TestOracleHTMLTasks(t *testing.T) {
	b := newBrowser(t)
	b.Open(page(t, oldPage), "")

	// 1. Where do the instructions go, by library and by my own code? No click.
	b.Is("true", `/your code \d+\.\d.% libraries \d+\.\d.% loader/.test([...document.querySelectorAll("#legend .key")].map((k) => k.textContent.replace("key", "")).join(" "))`)
	b.Is("true", boxNames+`.includes("libc.so.6") && `+boxNames+`.includes("words") && `+boxNames+`.includes("table.c")`)
	b.Is("words", `document.querySelector("#program").firstChild.textContent`)
	b.Is("85.0 M", `document.querySelector(".total b").textContent.replace(/\s/g, " ")`)
	b.Screenshot("page-light")

	// 2. Which line of my code is hot? It is shown at once; of another function one click away.
	b.Is("main", chosen)
	b.Is("\t\t\tif (list[j]->count < list[j + 1]->count) {", target)
	b.Is("true", inView)
	b.clickBox("table_add")
	b.Is("table_add", chosen)
	b.Is("\twhile (e && strcmp(e->key, key))", target)
	b.Is("true", inView)
	b.Is("#table_add", `location.hash`)

	// 3. Who calls this library function, and how often? One click on the function, which has no source.
	b.clickFunction("__strcmp_avx2")
	b.Is("__strcmp_avx2", chosen)
	b.Is("Source,Callers 1 · Callees 0*", tabNames)
	b.Is("table_add|table.c:19", `["th a", ".at a"].map((s) => document.querySelector("#pane table.calls tbody tr").querySelector(s).textContent).join("|")`)
	b.Is("785,105 calls", `document.querySelector("#pane .times").title`)
	b.Screenshot("page-callers")

	// 5. Is it instructions, misses or mispredictions? One click changes every pane.
	before := b.Eval(names)
	b.Click(".total:nth-child(2)")
	b.Is("D1 misses", event)
	require.NotEqual(t, before, b.Eval(names))
	b.Is("true", `document.querySelector("#pane th").textContent === "D1 misses" && document.querySelector(".box.root").title.includes("D1 misses")`)
	b.Is("1", `document.querySelectorAll("#functions tbody tr:first-child td.n:not(.share):not(.with)").length`)
	b.Clean()
}

// TestOracleHTMLDiff: the first sentence says what moved and why, and leads to the lines.
func TestOracleHTMLDiff(t *testing.T) {
	b := newBrowser(t)
	b.Open(page(t, "--diff", oldPage, newPage), "")
	sentence := `document.getElementById("sentence").textContent.replace(/\s/g, " ")`
	b.Is("true", `/^Instructions went down by [\d.]+ M \(−[\d.]+ %\), from 85\.0 M to [\d.]+ M: __strcmp_avx2 −[\d.]+ M, table_add −[\d.]+ M, /.test(`+sentence+`)`)
	b.Screenshot("page-diff")
	b.Click("#sentence a:nth-of-type(2)") // 4. One click to the lines.
	b.Is("table_add", chosen)
	b.Is("\twhile (e && strcmp(e->key, key))", target)
	b.Is("true", inView)
	b.Is("true", `document.querySelectorAll("#icicle .cold").length > 2 && document.querySelectorAll("#pane tr.hot").length > 0`)
	// The largest change comes first, and the counts add up to what the sentence says.
	const deltas = `[...document.querySelectorAll("#functions tbody tr")].map((r) => Number(/: ([+−][\d,]+)/.exec(r.cells[0].title)?.[1].replace("−", "-").replaceAll(",", "") ?? 0))`
	b.Is("true", `(() => { const d = `+deltas+`; return d.length > 3 && d.every((x, i) => i === 0 || Math.abs(x) <= Math.abs(d[i - 1])); })()`)
	b.Is("true", `(() => { const all = Number(/: ([+−][\d,]+)/.exec(document.querySelector(".total").title)[1].replace("−", "-").replaceAll(",", "")); return `+deltas+`.reduce((a, b) => a + b) === all; })()`)
	b.Click(".total:nth-child(2)")
	b.Is("true", sentence+`.startsWith("D1 misses went down by ")`)
	b.Open(b.Eval(`location.pathname`), "#table_add;v=calls")
	b.Is("true", boxNames+`.includes("table_add") && `+boxNames+`.includes("__strcmp_avx2") && document.querySelectorAll("#icicle .cold").length > 2`)
	b.Screenshot("page-diff-calls")
	b.Open(page(t, "--diff", oldPage, oldPage), "")
	b.Is("Instructions: nothing changed, 84,969,069 both times.", sentence)
	b.Open(page(t, "--diff", "--mod-filename=s/(old|new).c/prog.c/", "testdata/html/old.out", "testdata/html/new.out"), "#hash")
	b.Is("true", inView)
	b.Is("true", `document.querySelectorAll("#pane tr.gone").length > 0`)
	b.Clean()
}

// TestOracleHTMLKeys: all of the page by the keyboard, and the address has all of the state.
func TestOracleHTMLKeys(t *testing.T) {
	b := newBrowser(t)
	file := page(t, "--asm", oldPage)
	b.Open(file, "")
	b.Is("main", chosen)
	list := strings.Split(b.Eval(names), ",")
	b.Keys("k")
	b.Is(list[0], chosen)
	b.Is(list[0], focused)
	b.Keys("jj")
	b.Is(list[2], chosen)
	b.Keys("kk")
	b.Keys("]")
	b.Is("D1 misses", event)
	b.Keys("[[")
	b.Is("Cycles", event)
	b.Keys("]")
	b.Is("Instructions", event)
	b.Keys("/table_add\r")
	b.Is("true", `location.hash.includes("q=table_add")`)
	b.Keys("\x1b")
	b.Is("", `document.getElementById("search").value`)
	b.Open(file, "#table_add")
	b.Is("Source*,Assembly,Callers 1 · Callees 8", tabNames)
	b.Keys("a")
	b.Is("Source,Assembly*,Callers 1 · Callees 8", tabNames)
	b.Is("true", `[...document.querySelectorAll("#pane td.code")].some((c) => /^(call|jmp|mov) /.test(c.textContent)) && document.querySelector("#pane tr.of td.line a").textContent.startsWith("table.c:")`)
	b.Keys("c")
	b.Is("#table_add;t=calls", `location.hash`)
	b.Keys("s")
	b.Is("#table_add;t=source", `location.hash`)
	b.Keys("v")
	b.Is("true", boxNames+`.includes("snprintf")`)
	b.Is("true", `location.hash.includes("v=calls")`)
	b.clickBox("table_add")
	b.Is("true", `document.querySelector("#icicle .box.chosen").style.width === "100%" && !document.getElementById("zoom-out").hidden`)
	link := b.Eval(`location.hash`)
	b.Keys("z")
	b.Is("true", `document.querySelector("#icicle .box.chosen").style.width !== "100%"`)
	b.Open(file, link) // what a link shows
	b.Is("true", `document.querySelector("#icicle .box.chosen").style.width === "100%"`)
	b.Is("table_add", chosen)
	b.Open(file, "#main")
	b.Eval(`document.querySelector("#icicle .root").focus()`)
	b.Keys("↓")
	b.Is("libc.so.6", `document.activeElement.firstChild.textContent`)
	b.Keys("→↓↓")
	b.Is("main", `document.activeElement.firstChild.textContent`)
	b.Keys("↑→")
	b.Is("table.c", `document.activeElement.firstChild.textContent`)
	b.Keys("↓\r")
	b.Is("table_add", chosen)
	b.Open(file, "#main")
	b.clickFunction("table_add")
	b.Is("table_add", chosen)
	b.Keys("\b")
	b.Is("main", chosen)
	b.Keys("?")
	b.Is("true", `document.getElementById("help").open`)
	b.Keys("\x1b")
	b.Is("false", `document.getElementById("help").open`)
	b.Keys("n")
	b.Is("hot line 1", status)
	b.Clean()
}

// TestOracleHTMLSearch: names, files, lines; what is left out; expressions; what cannot be one.
func TestOracleHTMLSearch(t *testing.T) {
	b := newBrowser(t)
	b.Open(page(t, oldPage), "")
	b.Keys("/ANAGRAMS")
	b.Is("0 functions, 0 lines", status)
	b.Keys("\x1b/anagrams")
	b.Is("0 functions, 1 lines", status)
	b.Keys("\r")
	b.Is("/* The sum of the letters: anagrams collide, and so do most short words. */", target)
	b.Is("true", inView)
	b.Is("true", `document.querySelector("#pane tr.target").classList.contains("hit")`)
	b.Keys("\x1b/alloc")
	b.Is("true", names+`.split(",").includes("calloc") && document.querySelectorAll("#icicle .faded").length > 3`)
	all := b.Eval(names)
	b.Keys("\x1b/-alloc")
	b.Is("false", names+`.includes("calloc")`)
	b.Keys("\x1b//^(main|table_)/")
	b.Is("main,table_add,table_list", names)
	b.Keys("\x1b//((/")
	b.Is("0 functions, 0 lines", status)
	b.Keys("\x1b")
	b.Is("", status)
	require.NotEqual(t, all, b.Eval(names))
	b.Clean()
}

// TestOracleHTMLLinks: names of files may be short, and what is not there is said.
func TestOracleHTMLLinks(t *testing.T) {
	b := newBrowser(t)
	file := page(t, oldPage)
	for _, link := range []string{"#table.c:19", "#testdata/page/old/table.c:19", "#testdata%2Fpage%2Fold%2Ftable.c%3A19"} {
		b.Open(file, link)
		b.Is("\twhile (e && strcmp(e->key, key))", target)
		b.Is("true", inView)
		b.Is("table_add", chosen)
	}
	b.Open(file, "#words.c:main")
	b.Is("main", chosen)
	b.Open(file, "#table.c")
	b.Is("table.c", chosen)
	b.Open(file, "#no%2;e=nothing;z=%ff;own=1;t=x;s=-y;q")
	b.Is("main", chosen)
	b.Open(file, "#nothing")
	b.Is("there is no nothing", status)
	b.Open(file, "#main;e=mispredictions;s=with;own=object")
	b.Is("Mispredictions", event)
	b.Is("with callees descending", sorted)
	b.Is("object", `document.getElementById("own").value`)
	b.Click("#functions thead th.name button")
	b.Is("function ascending", sorted)
	b.Is("button", `document.activeElement.localName`) // the focus stays
	b.Is("true", `(() => { const n = `+names+`.split(","); return n.join() === n.toSorted().join(); })()`)
	b.Open(file, "")
	b.Eval(`Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied = text; } } })`)
	b.Click("#copy")
	b.Is("true", status+`.startsWith("copied as Markdown")`)
	b.Is("| Instructions | % | with callees | function | where |", `window.copied.split("\n")[0]`)
	b.Is("true", `/^\| 8,136,461 \| 9\.6 \| 26,\d{3},\d{3} \| .table_add. \| table\.c:16 \|$/m.test(window.copied)`)
	b.Clean()
}

// TestOracleHTMLPhone: one column of figures, and nothing scrolls sideways but the source.
func TestOracleHTMLPhone(t *testing.T) {
	b := newBrowser(t)
	b.Size(390, 844)
	b.Open(page(t, oldPage), "#table.c:19")
	b.Is("true", `document.documentElement.scrollWidth <= innerWidth`)
	b.Is("", `[...document.querySelectorAll("body *")].filter((e) => e.scrollWidth > e.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.id !== "pane" && e.checkVisibility()).map((e) => e.id || e.className).join()`)
	b.Is("2", `[...document.querySelector("#functions tbody tr").cells].filter((c) => c.matches("td") && c.offsetWidth > 0).length`) // the count and its share
	b.Is("3", `new Set([...document.querySelectorAll("#icicle .box")].map((b) => b.style.top)).size`)
	b.Is("true", `document.querySelector("#pane tr.target td.code").getBoundingClientRect().left < 130`)
	b.Screenshot("page-phone")
	b.Clean()
}

// TestOracleHTMLDark: as the system has it, and by a key.
func TestOracleHTMLDark(t *testing.T) {
	const background = `getComputedStyle(document.body).backgroundColor`
	b := newBrowser(t)
	file := page(t, oldPage)
	b.Open(file, "#table_add;v=calls")
	b.Is("rgb(255, 255, 255)", background)
	b.Screenshot("page-calls")
	b.Is("rgb(160, 17, 31)", `getComputedStyle(document.querySelector("td.code .k")).color`)
	b.Scheme("dark")
	b.Is("rgb(15, 19, 24)", background)
	b.Screenshot("page-dark")
	b.Keys("t")
	b.Is("rgb(255, 255, 255)", background)
	b.Open(file, "") // remembered
	b.Is("rgb(255, 255, 255)", background)
	b.Clean()
}

// TestOracleHTMLEditor: links to an editor, of sources that were read.
func TestOracleHTMLEditor(t *testing.T) {
	b := newBrowser(t)
	b.Open(page(t, "--editor=vscode", oldPage), "#table.c:19")
	dir, err := os.Getwd()
	require.NoError(t, err)
	b.Is("vscode://file"+dir+"/testdata/page/old/table.c:19", `document.querySelector("#pane tr.target a.edit").getAttribute("href")`)
	b.Open(page(t, oldPage), "#table.c:19")
	b.Is("0", `document.querySelectorAll("a.edit").length`)
	b.Clean()
}

// TestOracleHTMLFlat: a profile without a call graph has all of it but calls, and files without source say where they
// were looked for.
func TestOracleHTMLFlat(t *testing.T) {
	b := newBrowser(t)
	b.Open(page(t, "--threshold=0", "testdata/html/new.out"), "")
	b.Is("prog", `document.querySelector("#program").firstChild.textContent`)
	b.Is("true", boxNames+`.includes("your code") && `+boxNames+`.includes("new.c") && document.getElementById("by-calls").hidden`)
	b.Is("__vfprintf_internal", firstFn)
	b.Is("true", `new Set(`+names+`.split(",")).size === `+names+`.split(",").length`) // a function once
	b.clickFunction("__vfprintf_internal")
	b.Is("true", `document.querySelector("#pane .note").textContent.includes("Looked for ") && document.querySelector("#detail-head .parts").textContent.startsWith("in ")`)
	b.Open(b.Eval(`location.pathname`), "#lookup")
	b.Is("        if (strcmp(e->word, word) == 0)", target)
	b.Clean()
}

// TestOracleHTMLInert: what a profile names is not run.
func TestOracleHTMLInert(t *testing.T) {
	dir := t.TempDir()
	evil := `</script><script>alert(1)</script><img src=x onerror=alert(2)>`
	source := filepath.Join(dir, "evil.c")
	require.NoError(t, os.WriteFile(source, []byte("</script>"+evil+"\n"), 0o644))
	profile := filepath.Join(dir, "p.out")
	huge := "123456789012345678901234567890"
	require.NoError(t, os.WriteFile(profile, []byte("desc: "+evil+"\ncmd: "+evil+"\nevents: Ir "+strings.ReplaceAll(evil, " ", "_")+"\nfl="+source+"\nfn="+evil+
		"\n1 "+huge+" 5\nfn=__proto__\n1 1 1\nfn=constructor\n1 1 1\nsummary: 123456789012345678901234567892 7\n"), 0o644))
	b := newBrowser(t)
	b.Open(page(t, "--threshold=0", profile), "")
	b.Is(evil, firstFn)
	b.Click("#functions tbody a")
	b.Is("</script>"+evil, target)
	b.Is("true", `document.querySelector("#functions td.n").title.startsWith("123,456,789,012,345,678,901,234,567,890 ")`)
	b.Is(evil, `document.title`)
	b.Is("1,0", `[[...document.scripts].filter((s) => s.type === "").length, document.images.length]`)
	b.clickFunction("__proto__")
	b.Is("__proto__", chosen)
	b.Clean()
}

// TestOracleHTMLStrange: profiles of nothing, of one line, of circles, and a deep recursion.
func TestOracleHTMLStrange(t *testing.T) {
	b := newBrowser(t)
	dir := t.TempDir()
	write := func(text string) string {
		name := filepath.Join(dir, fmt.Sprintf("p%d.out", len(text)))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		return name
	}
	empty := write("cmd: nothing\nevents: Ir\nsummary: 0\n")
	b.Open(page(t, empty), "")
	b.Is("Nothing chosen", chosen)
	b.Keys("jk]nvza?\x1b")
	b.Open(page(t, "--diff", empty, empty), "")
	b.Is("true", `document.getElementById("sentence").textContent.includes("nothing changed")`)

	var deep strings.Builder
	deep.WriteString("# callgrind format\nversion: 1\nevents: Ir\n\nfl=a.c\n")
	const n = 3000
	for i := range n {
		fmt.Fprintf(&deep, "fn=f%d\n%d 1\n", i, i+1)
		fmt.Fprintf(&deep, "cfn=f%d\ncalls=1 %d\n%d %d\n", (i+1)%n, (i+1)%n+1, i+1, n)
	}
	circle := write(deep.String())
	b.Open(page(t, "--threshold=0", circle), "#;v=calls")
	b.Is("true", `document.querySelectorAll("#functions .name small").length > 0`)
	b.Open(page(t, "--threshold=0", write(strings.ReplaceAll(deep.String(), "cfn=f0\ncalls=1 1\n3000 3000\n", ""))), "#f0;v=calls")
	b.Is("true", `document.querySelectorAll("#icicle .box").length > 5`)
	b.Keys("vvccssz")

	// What is called by functions that are not on the page is not drawn twice.
	b.Open(page(t, "--top=3", oldPage), "#;v=calls")
	b.Is("3", `document.getElementById("functions-count").textContent`)
	b.Is("all,main", boxNames+`.join()`)
	b.Open(page(t, "--only=table.c", oldPage), "#;v=calls")
	b.Is("all,table_add", boxNames+`.join()`)
	b.Open(page(t, "--derived=rates,cycles", "--diff", oldPage, newPage), "#;e=D1mr/Dr")
	b.Is("true", `document.getElementById("sentence").textContent.startsWith("D1mr/Dr: ")`)
	b.Clean()
}

// TestOracleHTMLLarge: 100,000 lines with counts of nine events in 500 files, 10,000 functions: the page is small
// enough and fast enough.
func TestOracleHTMLLarge(t *testing.T) {
	dir := t.TempDir()
	var p strings.Builder
	p.WriteString("cmd: large\nevents: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw\n")
	sum := [9]int{}
	for f := range 500 {
		name := filepath.Join(dir, fmt.Sprintf("source%03d.c", f))
		var text strings.Builder
		fmt.Fprintf(&p, "fl=%s\n", name)
		for line := range 200 {
			if line%10 == 0 {
				fmt.Fprintf(&p, "fn=function_%d_%d\n", f, line/10)
			}
			fmt.Fprintf(&text, "    sum[%d] += values[%d] * 3; /* line of file %d */\n", line, line, f)
			counts := [9]int{(f*7919+line*104729)%100000 + 1, line % 2, 0, (f + line) * 7 % 10000, line, 0, line * 31 % 1000, f % 10, 0}
			p.WriteString(fmt.Sprint(line + 1))
			for i, c := range counts {
				fmt.Fprintf(&p, " %d", c)
				sum[i] += c
			}
			p.WriteString("\n")
		}
		require.NoError(t, os.WriteFile(name, []byte(text.String()), 0o644))
	}
	p.WriteString("summary:" + strings.Trim(fmt.Sprint(sum), "[]")[0:0])
	for _, c := range sum {
		fmt.Fprintf(&p, " %d", c)
	}
	p.WriteString("\n")
	profile := filepath.Join(dir, "large.out")
	require.NoError(t, os.WriteFile(profile, []byte(p.String()), 0o644))

	start := time.Now()
	file := page(t, "--threshold=0", profile)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(15_000_000))
	t.Logf("written: %v, %d bytes", time.Since(start), info.Size())
	b := newBrowser(t)
	b.Open(file, "")
	b.Is("10000", `document.getElementById("functions-count").textContent`)
	t.Logf("functions and overview: %s ms", b.Eval(`Math.round(performance.getEntriesByName("drawn")[0].startTime)`))
	t.Logf("load: %s ms", b.Eval(`Math.round(performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd)`))
	step := func(name string, act func()) {
		start := time.Now()
		act()
		t.Logf("%s: %v", name, time.Since(start))
	}
	step("event", func() { b.Keys("]"); b.Is("D1 misses", event) })
	step("search", func() {
		b.Keys("/file 249 */")
		b.Is("0 functions, 200 lines", status)
		b.Keys("\x1b")
	})
	step("link", func() {
		b.Eval(`location.hash = "function_125_19"`)
		b.Is("true", inView)
		b.Is("function_125_19", chosen)
	})
	b.Is("true", `document.querySelectorAll("tr").length < 3000`)
	b.Clean()
}

// TestOracleHTMLManyFunctions: 200,000 of them.
func TestOracleHTMLManyFunctions(t *testing.T) {
	var p strings.Builder
	p.WriteString("cmd: many\nevents: Ir\nfl=a.c\n")
	for f := range 200_000 {
		fmt.Fprintf(&p, "fn=function_%d\n%d 1\n", f, f+1)
	}
	p.WriteString("summary: 200000\n")
	profile := filepath.Join(t.TempDir(), "many.out")
	require.NoError(t, os.WriteFile(profile, []byte(p.String()), 0o644))
	b := newBrowser(t)
	b.Open(page(t, "--threshold=0", profile), "#function_199999")
	b.Is("200000", `document.getElementById("functions-count").textContent`)
	b.Is("function_199999", chosen)
	b.Keys("/function_1234\x1b")
	b.Clean()
}
