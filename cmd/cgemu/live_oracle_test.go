//go:build oracles && linux && amd64

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/browsertest"
)

// TestOracleView: a browser shows a run's counts growing, keeps what was chosen, and ends the run by the button.
func TestOracleView(t *testing.T) {
	guest, err := filepath.Abs("../../testdata/guest")
	require.NoError(t, err)
	v := startViewed(t, "--call-graph=yes", "--cache-sim=yes", "--callgrind-out-file=p", guest, "loop")
	b := browsertest.New(t)
	b.Visit(v.url)
	const total = `Number(/[\d,]+ /.exec(document.querySelector(".total").title.split("\n")[1])[0].replaceAll(",", ""))`
	b.Is("running: counts so far", `document.getElementById("live").textContent`)
	b.Is("true", `(window.before = `+total+`) > 0`)
	b.Is("true", total+` > window.before`)
	chosen := b.Eval(`document.querySelector("#detail-head h2").textContent`)
	b.Keys("]")
	b.Is("D1 misses", `document.querySelector("#totals [aria-pressed=true] span").textContent`)
	const version = `performance.getEntriesByType("resource").filter((e) => e.name.includes("data?v=")).length`
	b.Is("true", `(window.asked ??= `+version+`) + 3 <= `+version) // it has been renewed
	b.Is("D1 misses", `document.querySelector("#totals [aria-pressed=true] span").textContent`)
	require.Equal(t, chosen, b.Eval(`document.querySelector("#detail-head h2").textContent`))
	b.Screenshot("view")
	b.Is("true", `document.getElementById("compare").hidden`)
	b.Click("#stop")
	b.Is("the run has ended", `document.getElementById("live").textContent`)
	b.Is("true", `document.getElementById("stop").hidden`)

	// Compared: what is below the threshold, and sources, are asked for.
	other, err := filepath.Abs("../../annotate/cli/testdata/page/old.out")
	require.NoError(t, err)
	b.Pick("#other", other)
	b.Is("End comparison", `document.getElementById("compare").textContent`)
	b.Is("true", `document.getElementById("sentence").textContent.startsWith("D1 misses went ")`)
	b.Eval(`location.hash = "#main"`)
	b.Is("true", `document.querySelectorAll("#pane tbody tr").length > 1`)
	b.Keys("x")
	b.Is("Compare…", `document.getElementById("compare").textContent`)
	b.Is("true", `document.getElementById("sentence").hidden`)
	v.says(t, `^cgemu: the run has ended; `)
	require.NoError(t, v.Process.Signal(os.Interrupt))
	v.Wait()
	b.Clean()
}
