//go:build oracles

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a comparison shows.
const (
	sentence  = `document.getElementById("sentence").textContent.replace(/\s/g, " ")`
	notes     = `document.getElementById("notes").textContent`
	listTexts = `[...document.querySelectorAll("#functions tbody tr")].map((r) => [...r.cells].map((c) => c.textContent + "|" + c.title).join()).toSorted().join("\n")`
	boxTexts  = `[...document.querySelectorAll("#icicle .box")].map((b) => b.title + b.style.width).toSorted().join("\n")`
	paneTexts = `[...document.querySelectorAll("#pane tbody tr")].map((r) => r.className.replace("target", "") + [...r.cells].map((c) => c.textContent + "|" + c.title).join()).toSorted().join("\n")`
	boxWidths = `[...document.querySelectorAll("#icicle .box")].map((b) => b.firstChild.textContent + " " + parseFloat(b.style.width).toFixed(1)).join("\n")`
	allTotals = `document.getElementById("all").textContent.replace(/\s/g, "")`
)

// compared waits until the page shows a comparison.
func (b browser) compared() { b.Is("End comparison", `document.getElementById("compare").textContent`) }

// TestOracleHTMLCompare: a page that is given another one shows what the page of cgemu diff shows.
func TestOracleHTMLCompare(t *testing.T) {
	b := newBrowser(t)
	const prog = "--mod-filename=s/(old|new).c/prog.c/"
	for _, tt := range []struct {
		old, new, mod string
		places        []string
	}{
		{oldPage, newPage, "--threshold=0", []string{"#table_add;t=source", "#main;t=source", "#main;e=d1;v=calls;t=source"}},
		{"testdata/html/old.out", "testdata/html/new.out", prog, []string{"#hash", "#main", "#lookup"}},
	} {
		old, new := page(t, "--threshold=0", tt.mod, tt.old), page(t, "--threshold=0", tt.mod, tt.new)
		diff := page(t, "--diff", tt.mod, tt.old, tt.new)
		for _, place := range tt.places {
			var want, got []string
			texts := func() (list []string) {
				for _, expression := range []string{sentence, listTexts, boxTexts, paneTexts, allTotals} {
					list = append(list, b.Eval(expression))
				}
				return list
			}
			b.Open(diff, place)
			b.Is("true", `document.querySelectorAll("#pane tbody tr").length > 1 && document.getElementById("compare").hidden`)
			want = texts()
			b.Open(new, "")
			b.Pick("#other", old)
			b.compared()
			b.Is("", notes)
			b.Eval(`location.hash = "` + place + `"`)
			b.Is("true", `document.querySelectorAll("#pane tbody tr").length > 1`)
			got = texts()
			require.Equal(t, want, got, place)
		}
	}
	b.Clean()
}

// TestOracleHTMLCompareControls: the button, a file that is dropped, what is old and what is new, the end; profiles
// without a page; light, dark, a phone.
func TestOracleHTMLCompareControls(t *testing.T) {
	b := newBrowser(t)
	old, new := page(t, oldPage), page(t, newPage)
	b.Open(new, "#table_add;e=d1;t=calls")
	single := b.Eval(listTexts)
	title := b.Eval(`document.title`)
	b.Is("true", `(() => { let asked = 0; document.getElementById("other").click = () => { asked++; }; document.getElementById("compare").click(); return asked === 1; })()`)
	b.Drop(600, 400, old)
	b.compared()
	b.Is("true", sentence+`.startsWith("D1 misses went down by ")`)
	b.Screenshot("page-compare")
	b.Scheme("dark")
	b.Screenshot("page-compare-dark")
	b.Scheme("light")
	b.Click("#swap")
	b.Is("true", sentence+`.startsWith("D1 misses went up by ")`)
	b.Is("old.out", `document.getElementById("about").textContent.split(" → ")[1].split(" ")[0]`)
	b.Keys("x")
	b.Is("Compare…", `document.getElementById("compare").textContent`)
	b.Is("", notes)
	b.Is("true", `document.getElementById("sentence").hidden && document.getElementById("swap").hidden`)
	b.Is(title, `document.title`)
	require.Equal(t, single, b.Eval(listTexts))

	// Profiles: of one format and of the other, with lines by their numbers.
	for _, file := range []string{oldPage, "testdata/html/old.out"} {
		b.Open(new, "")
		path, err := filepath.Abs(file)
		require.NoError(t, err)
		b.Pick("#other", path)
		b.compared()
		require.Contains(t, b.Eval(notes), "old.out (old) has no calls here: who calls whom is not compared.")
		if file == oldPage {
			b.Is("true", sentence+`.startsWith("Instructions went down by 20.8 M (−24.4 %), from 85.0 M to 64.2 M: __strcmp_avx2 −14.6 M, table_add −5.38 M, ")`)
			b.Eval(`location.hash = "#table_add"`)
			b.Is("\twhile (e && strcmp(e->key, key))", target)
			require.Contains(t, b.Eval(`document.getElementById("pane").textContent`), "Lines are matched by their numbers")
		}
	}

	b.Size(390, 844)
	b.Is("true", `document.documentElement.scrollWidth <= innerWidth`)
	b.Screenshot("page-compare-phone")

	// Profiles of one name are told apart by their directories.
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/html/old.out")
	require.NoError(t, err)
	var files []string
	for _, name := range []string{"before", "after"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		files = append(files, filepath.Join(dir, name, "p.out"))
		require.NoError(t, os.WriteFile(files[len(files)-1], text, 0o644))
	}
	b.Open(page(t, append([]string{"--diff"}, files...)...), "")
	b.Is("before/p.out → after/p.out", `document.getElementById("about").textContent.split(" · ")[0]`)
	b.Clean()
}

// TestOracleHTMLCompareBad: files that are neither, damaged, or a comparison; nothing in them is run, and the page
// stays as it was.
func TestOracleHTMLCompareBad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return file
	}
	data, err := os.ReadFile(page(t, oldPage))
	require.NoError(t, err)
	good := string(data)
	bad := func(name, from, to string) string {
		require.Contains(t, good, from)
		return write(name, strings.Replace(good, from, to, 1))
	}
	b := newBrowser(t)
	b.Open(page(t, newPage), "#main")
	for _, tt := range []struct{ file, want string }{
		{write("a.txt", "hello\n"), "a.txt:1: malformed line: hello."},
		{write("empty", ""), "empty is no page of cgemu annotate --html, and no profile: it has no line “events:”."},
		{write("b.html", "<!doctype html><p>x"), "b.html is no page of cgemu annotate --html."},
		{write("c.out", "cmd: x\nevents: Ir\nfn=f\n1 x\n"), "c.out:4: x is no count."},
		{write("d.out", "cmd: x\nevents: Ir\nfn=f\n1 7\nsummary: 8\n"), "d.out: its summary is not the sum of its lines: 8, not 7."},
		{write("e.out", "events: Ir\nfn=(3)\n1 7\n"), "e.out:2: name (3) was not given before."},
		{write("f.out", "cmd: x\nevents: Xy\nfn=f\n1 7\nsummary: 7\n"), "the two profiles have no event in common."},
		{page(t, "--diff", oldPage, newPage), "page.html is a comparison; a page of one profile is needed."},
		{bad("g.html", `"format":1`, `"format":99`), "g.html was written by another version of cgemu: write it again, or choose the profile itself."},
		{bad("h.html", `"calls":[[`, `"calls":[[1e9,0,0,0,[],[]],[`), "h.html is damaged."},
		{bad("i.html", `"funcs":[{`, `"funcs":[{"n":7},{`), "i.html is damaged."},
		{bad("j.html", `id="rest">{`, `id="rest">[{`), "j.html is damaged."},
		{bad("k.html", `id="data">{`, `id="data">{{`), "k.html is no page of cgemu annotate --html."},
	} {
		b.Pick("#other", tt.file)
		b.Is(tt.want, notes)
		b.Is("main", chosen)
	}
	// Rows that are none are left out; markup in names and texts is text; a script is not run.
	evil := bad("evil.html", `"n":"table_add"`, `"n":"\u003cimg src=x onerror=alert(1)>"`)
	data, err = os.ReadFile(evil)
	require.NoError(t, err)
	text := strings.Replace(string(data), `id="rows-0">[[`, `id="rows-0">[{"a":1},[`, 1)
	text = strings.Replace(text, "<body>", "<body><script>alert(1)</script><img src=x onerror=alert(2)><iframe src='javascript:alert(3)'></iframe>", 1)
	b.Pick("#other", write("evil.html", text))
	b.compared()
	b.Is("true", names+`.includes("<img src=x onerror=alert(1)>") && document.images.length === 0`)
	for _, place := range []string{"#main", "#table_list"} {
		b.Eval(`location.hash = "` + place + `"`)
		b.Is("true", `document.querySelectorAll("#pane tbody tr").length > 1`)
	}
	// Counts that a double does not hold; a function that has no prototype's name.
	const huge = "123456789012345678901234567890"
	older := write("huge.out", "cmd: x\nevents: Ir\nfl=words.c\nfn=__proto__\n1 "+huge+"\nsummary: "+huge+"\n")
	require.NoError(t, os.Chtimes(older, time.Time{}, time.Unix(1e9, 0))) // than the page's profile, whose date is that of the checkout
	b.Pick("#other", older)
	b.Is("true", `[...document.querySelectorAll("#functions tbody tr")].some((r) => r.cells[0].title.includes("123,456,789,012,345,678,901,234,567,890 → 0"))`)
	b.Clean()
}

// TestOracleHTMLTransforms: what is done to the tree of calls, one after the other, and taken back one by one; the
// address has all of it.
func TestOracleHTMLTransforms(t *testing.T) {
	const done = `[...document.querySelectorAll("#done button")].map((b) => b.textContent).join()`
	const widths = boxWidths
	b := newBrowser(t)
	file := page(t, "--threshold=0", oldPage)
	b.Open(file, "#table_add;v=calls")
	all := b.Eval(widths)
	b.Keys("f")
	b.Is("focus table_add ✕", done)
	b.Is("all,table_add", boxNames+`.slice(0, 2).join()`)
	b.Is("100%", `document.querySelectorAll("#icicle .box")[1].style.width`)
	focused := b.Eval(widths)
	b.clickFunction("__strcmp_avx2")
	b.Keys("h")
	b.Is("focus table_add ✕,hidden __strcmp_avx2 ✕", done)
	b.Is("false", boxNames+`.includes("__strcmp_avx2")`)
	b.Is("100%", `document.querySelectorAll("#icicle .box")[1].style.width`) // its cost is its caller's
	b.Is("true", `document.querySelectorAll("#icicle .box")[1].title.includes("here ≈ 26.")`)
	b.Keys("/alloc")
	b.Is("true", `location.hash.includes("q=alloc")`)
	b.Eval(`document.activeElement.blur()`)
	b.Click("#do-drop")
	b.Is("focus table_add ✕,hidden __strcmp_avx2 ✕,dropped alloc ✕", done)
	b.Is("false", boxNames+`.some((n) => n.includes("alloc"))`)
	b.Is("true", `Number(/here ≈ ([\d.]+)/.exec(document.querySelectorAll("#icicle .box")[1].title)[1]) < 26`)
	b.Screenshot("page-transforms")
	link := b.Eval(`location.hash`)
	after := b.Eval(widths)
	b.Open(file, link)
	require.Equal(t, after, b.Eval(widths))
	b.Click("#done li:nth-child(2) button")
	b.Is("focus table_add ✕,dropped alloc ✕", done)
	b.Keys("u")
	b.Is(focused, widths)
	b.Keys("u")
	b.Is(all, widths)
	b.Keys("\b") // and back again
	b.Is(focused, widths)
	b.Open(file, "#main;v=calls;x=nonsense%0Afocus+nothing%0Ahide%0Adrop+((/%0Aconstructor+x")
	b.Is(all, widths)
	b.Open(page(t, "--diff", oldPage, newPage), "#main;v=calls;x=hide+table_add%0Adrop+calloc")
	b.Is("true", boxNames+`.includes("__strcmp_avx2") && !`+boxNames+`.includes("table_add") && !`+boxNames+`.includes("calloc")`)

	// A cycle of even and odd, which main calls and which calls leaf: 100 + 20 + 30 + 50.
	cycle := filepath.Join(t.TempDir(), "cycle.out")
	require.NoError(t, os.WriteFile(cycle, []byte("# callgrind format\nversion: 1\nevents: Ir\n\nfl=a.c\nfn=main\n1 100\ncfn=even\ncalls=1 2\n1 100\n"+
		"fn=even\n2 20\ncfn=odd\ncalls=5 3\n2 90\nfn=odd\n3 30\ncfn=even\ncalls=4 2\n3 80\ncfn=leaf\ncalls=1 4\n3 50\nfn=leaf\n4 50\n"), 0o644))
	b.Open(page(t, cycle), "#main;v=calls")
	b.Keys("r")
	b.Is("all 100.0\nmain 100.0\ncycle 1: 2 functions 50.0\nleaf 25.0", widths)
	b.Is("true", `document.getElementById("do-cycles").disabled`)
	b.Keys("u")
	b.Is("true", boxNames+`.includes("even") && `+boxNames+`.includes("odd")`)
	b.Clean()
}

// callTree is a profile in which a and b call mid 1:3, mid calls leaf, and main a and b.
const callTree = "# callgrind format\nversion: 1\nevents: Ir\n\nfl=a.c\nfn=main\n1 0\ncfn=a\ncalls=1 2\n1 110\ncfn=b\ncalls=1 3\n1 310\n" +
	"fn=a\n2 10\ncfn=mid\ncalls=1 4\n2 100\nfn=b\n3 10\ncfn=mid\ncalls=3 4\n3 300\nfn=mid\n4 200\ncfn=leaf\ncalls=4 5\n4 200\nfn=leaf\n5 200\n"

// TestOracleHTMLCallTree: callers of callers and callees of callees, shared out.
func TestOracleHTMLCallTree(t *testing.T) {
	const rows = `[...document.querySelectorAll("#pane table.calls:first-of-type tbody tr")].map((r) => r.ariaLevel + r.querySelector("th a").textContent + " " + r.cells[0].textContent.trim()).join()`
	file := filepath.Join(t.TempDir(), "tree.out")
	require.NoError(t, os.WriteFile(file, []byte(callTree), 0o644))
	b := newBrowser(t)
	b.Open(page(t, "--threshold=0", file), "#leaf;t=calls")
	clean := `(` + rows + `).replace(/[\u2007\u202f]/g, "")`
	b.Is("1mid 200,2b ≈150,3main ≈150,2a ≈50,3main ≈50", clean)
	b.Eval(`document.querySelector("#pane .fold").focus()`)
	b.Keys("←")
	b.Is("1mid 200", clean)
	b.Is("▸", focused)
	b.Keys("\r")
	b.Is("1mid 200,2b ≈150,3main ≈150,2a ≈50,3main ≈50", clean)
	b.Eval(`location.hash = "#main;t=calls"`)
	b.Is("1b 310,2mid ≈300,3leaf ≈150,1a 110,2mid ≈100,3leaf ≈50", clean)
	b.Clean()
}

// TestOracleHTMLCallers: the tree of a function's callers, each with what it is to blame for.
func TestOracleHTMLCallers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tree.out")
	require.NoError(t, os.WriteFile(file, []byte(callTree), 0o644))
	b := newBrowser(t)
	b.Open(page(t, "--threshold=0", file), "#leaf;v=calls")
	b.Keys("i")
	b.Is("all 100.0,leaf 100.0,mid 100.0,b 75.0,main 75.0,a 25.0,main 25.0", boxWidths+`.replaceAll("\n", ",")`)
	b.Is("true", `document.getElementById("icicle-note").textContent.startsWith("Callers stand below what they call.")`)
	b.Is("#leaf;v=calls;x=callers+leaf", `location.hash`)
	b.Is("true", `[...document.querySelectorAll("#icicle .box")].find((x) => x.textContent.startsWith("b")).title.includes("here ≈ 150")`)
	b.clickFunction("mid")
	b.Keys("h")
	b.Is("all 100.0,leaf 100.0,b 75.0,main 75.0,a 25.0,main 25.0", boxWidths+`.replaceAll("\n", ",")`)
	b.Screenshot("page-tree-callers")
	b.Clean()
}

// TestOracleHTMLInlined: what was inlined is marked in the trees and in the source.
func TestOracleHTMLInlined(t *testing.T) {
	dir := t.TempDir()
	source, profile := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.out")
	require.NoError(t, os.WriteFile(source, []byte("main() {\n\tf(g());\n}\nf() { }\ng() { }\n"), 0o644))
	require.NoError(t, os.WriteFile(profile, []byte("# callgrind format\nversion: 1\nevents: Ir\n\nfl="+source+"\nfn=main\n2 10\n# inlined\ncfn=f\ncalls=1 4\n2 60\n"+
		"cfn=g\ncalls=1 5\n2 30\n\nfn=f\n4 60\n\nfn=g\n5 30\n"), 0o644))
	b := newBrowser(t)
	b.Open(page(t, profile), "#main;v=calls")
	b.Is("all,main,f ⤶,g", boxNames+`.join()`)
	b.Is("true", `document.getElementById("icicle-note").textContent.includes("⤶: inlined in the box above.")`)
	b.Is("⤶ f 1× 60,▸ g 1× 30", `[...document.querySelectorAll("#pane a.call")].map((a) => a.textContent.replace(/\s+$/, "")).join()`)
	b.Is("2", `[...document.querySelectorAll("#pane td.inlined")].map((td) => td.textContent).join()`)
	b.Keys("c")
	b.Is("f ⤶ inlined,g", `[...document.querySelectorAll("#pane th.name[scope=row]")].map((h) => h.textContent.replace("▸", "")).join()`)
	b.Clean()
}
