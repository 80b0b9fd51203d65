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

// Expressions on the page.
const (
	rows    = `[...document.querySelectorAll("#functions tbody tr")]`
	firstFn = `document.querySelector("#functions tbody th.name").textContent`
	names   = rows + `.map((r) => r.querySelector("th").textContent).join()`
	sorted  = `[...document.querySelectorAll("#functions [aria-sort]")].map((h) => h.textContent + " " + h.ariaSort).join()`
	target  = `document.querySelector("tr.target td.code")?.textContent`
	inView  = `(() => { const r = document.querySelector("tr.target")?.getBoundingClientRect(); return r && r.top > 40 && r.bottom < innerHeight; })()`
	focused = `document.activeElement.textContent`
)

func TestOracleHTML(t *testing.T) {
	b := newBrowser(t)
	b.Open(page(t, "--threshold=0", "testdata/html/new.out"), "")
	b.Is("testdata/html/prog", `document.title`)
	b.Is("__vfprintf_internal", firstFn)
	b.Is("Ir descending", sorted)
	b.Screenshot("annotate-light")

	// Sorting: by a click on another column, again for the other way, and by keys.
	b.Click("#functions thead th:nth-child(6) button")
	b.Is("Bcm descending", sorted)
	b.Is("__strcmp_avx2", firstFn)
	b.Click("#functions thead th:nth-child(6) button")
	b.Is("Bcm ascending", sorted)
	b.Is("button", `document.activeElement.localName`) // the focus stays
	b.Is("Bcm", `document.activeElement.textContent`)
	b.Keys("0")
	b.Is("Function ascending", sorted)
	b.Is("true", `(() => { const n = `+names+`.split(","); return n.join() === n.toSorted().join(); })()`)
	b.Keys("1")
	b.Is("Ir descending", sorted)

	// Moving through functions, and opening one.
	b.Keys("jj")
	b.Is("_IO_default_xsputn", focused)
	b.Keys("k")
	b.Is("__vfprintf_internal", focused)
	b.Keys("jjjjjj")
	b.Is("lookup", focused)
	b.Keys("\r")
	b.Is("#lookup", `location.hash`)
	b.Is("true", inView)
	b.Is("static struct entry *lookup(const char *word)", `document.querySelector("tr.target").previousElementSibling.querySelector(".code").textContent`)
	b.Is("true", `document.querySelector("tr.current th").textContent === "lookup"`)
	b.Is("rgb(160, 17, 31)", `getComputedStyle(document.querySelector("td.code .k")).color`)

	// Files can be closed and opened.
	b.Keys("c")
	b.Is("0", `document.querySelectorAll("details.file[open]").length`)
	b.Keys("g")
	b.Click("details.file:nth-child(2) > summary")
	b.Is("1", `document.querySelectorAll("details.file[open]").length`)
	b.Keys("e")
	b.Is("true", `document.querySelectorAll("details.file[open]").length > 3`)

	b.search()
	b.columns()
	b.deepLinks()
	b.Keys("?")
	b.Is("true", `document.getElementById("help").open`)
	b.Keys("\x1b")
	b.Is("false", `document.getElementById("help").open`)
	b.Clean()
}

func (b browser) search() {
	b.Keys("/fnv-1A")
	b.Is("0 functions, 0 files, 0 lines", `document.getElementById("status").textContent`)
	b.Keys("\x1b")
	b.Is("", `document.getElementById("status").textContent`)
	b.Keys("/fnv-1a")
	b.Is("0 functions, 1 files, 1 lines", `document.getElementById("status").textContent`)
	b.Keys("\r")
	b.Is("    unsigned h = 2166136261u; /* FNV-1a */", target)
	b.Is("true", inView)
	b.Is("true", `document.querySelector("tr.target").classList.contains("hit")`)
	b.Keys("\x1b/alloc")
	b.Is("true", `document.querySelectorAll("#functions tbody tr").length < 12 && `+names+`.includes("calloc")`)
	b.Keys("\x1b")
	b.Keys("n") // the hottest line
	b.Is("hot line 1", `document.getElementById("status").textContent`)
}

func (b browser) columns() {
	b.Is("6", `document.querySelectorAll("#functions thead th[scope=col]").length - 2`)
	b.Keys("m")
	b.Is("input", `document.activeElement.localName`)
	b.Click("#columns label:nth-of-type(2) input") // I1mr
	b.Is("7", `document.querySelectorAll("#functions thead th[scope=col]").length - 2`)
	b.Keys("p")
	b.Is("0", `document.querySelectorAll("#functions td i").length`)
	b.Keys("p\x1b")
	b.Is("false", `document.getElementById("menu").open`)
}

func (b browser) deepLinks() {
	path := b.Eval(`location.pathname`)
	b.Open(path, "#testdata/html/new.c:24")
	b.Is("        if (strcmp(e->word, word) == 0)", target)
	b.Is("true", inView)
	b.Open(path, "#compare")
	b.Is("compare", `document.querySelector("tr.current th").textContent`)
	b.Is("true", inView)
	b.Open(path, "#no%2")
	b.Is("__vfprintf_internal", firstFn)
	b.Open(path, "#nothing")
	b.Is("there is no nothing", `document.getElementById("status").textContent`)
}

// TestOracleHTMLDark: as the system has it, and by a key.
func TestOracleHTMLDark(t *testing.T) {
	const background = `getComputedStyle(document.body).backgroundColor`
	b := newBrowser(t)
	file := page(t, "testdata/html/new.out")
	b.Open(file, "#lookup")
	b.Is("rgb(255, 255, 255)", background)
	b.Scheme("dark")
	b.Is("rgb(15, 19, 24)", background)
	b.Screenshot("annotate-dark")
	b.Keys("t")
	b.Is("rgb(255, 255, 255)", background)
	b.Open(file, "") // remembered
	b.Is("rgb(255, 255, 255)", background)
	b.Clean()
}

// TestOracleHTMLDiff: old, new and delta, by functions and by lines.
func TestOracleHTMLDiff(t *testing.T) {
	b := newBrowser(t)
	b.Open(page(t, "--diff", "--mod-filename=s/(old|new).c/prog.c/", "testdata/html/old.out", "testdata/html/new.out"), "#hash")
	b.Is("delta other", sorted)
	b.Is("true", inView)
	b.Is("old,new,◆ delta", `[...document.querySelectorAll("#functions thead tr:nth-child(2) th")].slice(1, 4).map((h) => (h.ariaSort ? "◆ " : "") + h.textContent).join()`)
	b.Is("true", `document.querySelectorAll("#functions td.hot").length > 0 && document.querySelectorAll("#functions td.cold").length > 0`)
	b.Is("true", `document.querySelectorAll("tr.gone").length > 0`)
	b.Screenshot("annotate-diff")
	const deltas = rows + `.map((r) => Number(r.cells[3].firstChild.textContent.replace("−", "-").replaceAll(",", "")))`
	b.Is("true", `(() => { const d = `+deltas+`.map(Math.abs); return d.every((x, i) => i === 0 || x <= d[i - 1]); })()`)
	b.Click("#functions thead tr:nth-child(2) th:nth-child(4) button")
	b.Is("delta descending", sorted)
	b.Is("true", `(() => { const d = `+deltas+`; return d.every((x, i) => i === 0 || x <= d[i - 1]); })()`)
	b.Clean()
}

// TestOracleHTMLInert: what a profile names is not run.
func TestOracleHTMLInert(t *testing.T) {
	dir := t.TempDir()
	evil := `<script>alert(1)</script><img src=x onerror=alert(2)>`
	source := filepath.Join(dir, "evil.c")
	require.NoError(t, os.WriteFile(source, []byte("</script>"+evil+"\n"), 0o644))
	profile := filepath.Join(dir, "p.out")
	require.NoError(t, os.WriteFile(profile, []byte("desc: "+evil+"\ncmd: "+evil+"\nevents: Ir\nfl="+source+"\nfn="+evil+"\n1 5\nsummary: 5\n"), 0o644))
	b := newBrowser(t)
	b.Open(page(t, profile), "")
	b.Is(evil, firstFn)
	b.Click("#functions tbody a")
	b.Is("</script>"+evil, target)
	b.Is(evil, `document.title`)
	b.Is("2,0", `[document.scripts.length, document.images.length]`)
	b.Clean()
}

// TestOracleHTMLLarge: 50,000 lines with counts in 250 files, 5,000 functions.
func TestOracleHTMLLarge(t *testing.T) {
	dir := t.TempDir()
	var p strings.Builder
	p.WriteString("cmd: large\nevents: Ir Dr Dw\n")
	var sum [3]int
	for f := range 250 {
		name := filepath.Join(dir, fmt.Sprintf("source%03d.c", f))
		var text strings.Builder
		fmt.Fprintf(&p, "fl=%s\n", name)
		for line := range 200 {
			if line%10 == 0 {
				fmt.Fprintf(&p, "fn=function_%d_%d\n", f, line/10)
			}
			fmt.Fprintf(&text, "    sum[%d] += values[%d] * 3; /* line of file %d */\n", line, line, f)
			counts := [3]int{(f*7919+line*104729)%100000 + 1, f + line, line}
			fmt.Fprintf(&p, "%d %d %d %d\n", line+1, counts[0], counts[1], counts[2])
			for i, c := range counts {
				sum[i] += c
			}
		}
		require.NoError(t, os.WriteFile(name, []byte(text.String()), 0o644))
	}
	fmt.Fprintf(&p, "summary: %d %d %d\n", sum[0], sum[1], sum[2])
	profile := filepath.Join(dir, "large.out")
	require.NoError(t, os.WriteFile(profile, []byte(p.String()), 0o644))

	start := time.Now()
	file := page(t, "--threshold=0", profile)
	written := time.Since(start)
	b := newBrowser(t)
	step := func(name string, act func()) {
		start := time.Now()
		act()
		t.Logf("%s: %v", name, time.Since(start))
	}
	t.Logf("written: %v", written)
	step("open", func() {
		b.Open(file, "")
		b.Is("5000", `document.getElementById("functions-count").textContent`)
	})
	step("sort", func() { b.Keys("2"); b.Is("Dr descending", sorted) })
	step("search", func() {
		b.Keys("/file 249 */")
		b.Is("file 249 */", `document.getElementById("search").value`)
		b.Is("0 functions, 1 files, 200 lines", `document.getElementById("status").textContent`)
		b.Keys("\x1b")
	})
	step("open all files", func() {
		b.Keys("e")
		b.Is("250", `document.querySelectorAll("details.file[open]").length`)
	})
	step("link", func() {
		b.Eval(`location.hash = "function_125_19"`)
		b.Is("true", inView)
	})
	b.Is("true", `document.querySelector("tr.target td.code").clientWidth > 600`)
	b.Is("true", `document.querySelectorAll("tr").length < 60000`)
	b.Clean()
}
