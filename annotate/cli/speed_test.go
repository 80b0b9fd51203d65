package cli

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bigProfile writes a profile of some lines, and returns its name and size.
func bigProfile(tb testing.TB, events, lines int, seed uint64) (name string, size int64) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	var b bytes.Buffer
	b.WriteString("cmd: ./x\nevents:" + strings.Join(strings.Split(strings.Repeat(" E", events), "E")[:events+1], "E"))
	sum := make([]int, events)
	for n := 0; n < lines; {
		fmt.Fprintf(&b, "\nfl=/src/dir%d/file%d.c", n%37, n)
		for f := range 20 {
			fmt.Fprintf(&b, "\nfn=function_%d_%d", n, f)
			line := rnd.IntN(2000)
			for range 5 + rnd.IntN(15) {
				line += 1 + rnd.IntN(3)
				fmt.Fprintf(&b, "\n%d", line)
				for e := range sum {
					c := rnd.IntN(1 << rnd.IntN(20))
					sum[e] += c
					fmt.Fprintf(&b, " %d", c)
				}
				n++
			}
		}
	}
	b.WriteString("\nsummary: " + strings.Trim(fmt.Sprint(sum), "[]") + "\n")
	name = filepath.Join(tb.TempDir(), fmt.Sprintf("p%d", seed))
	require.NoError(tb, os.WriteFile(name, b.Bytes(), 0o600))
	return name, int64(b.Len())
}

// BenchmarkTools is the tools on profiles of 100,000 lines.
func BenchmarkTools(b *testing.B) {
	type command func(name string, args []string, stdout, stderr io.Writer) int
	for _, events := range []int{1, 9} {
		one, size := bigProfile(b, events, 100_000, 1)
		two, size2 := bigProfile(b, events, 100_000, 2)
		for _, bench := range []struct {
			name string
			run  command
			args []string
			size int64
		}{
			{"annotate", Annotate, []string{one}, size},
			{"annotate-threshold-0", Annotate, []string{"--threshold=0", one}, size},
			{"json", Annotate, []string{"--threshold=0", "--format=json", one}, size},
			{"merge", Merge, []string{one, two}, size + size2},
			{"diff", Diff, []string{one, two}, size + size2},
			{"table", Diff, []string{"--table", one, two}, size + size2},
		} {
			b.Run(fmt.Sprintf("tool=%s/events=%d", bench.name, events), func(b *testing.B) {
				b.SetBytes(bench.size)
				for b.Loop() {
					require.Zero(b, bench.run("x", bench.args, io.Discard, io.Discard))
				}
			})
		}
	}
}
