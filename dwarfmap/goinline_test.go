package dwarfmap

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGoInlined has a program without DWARF give the inlined functions that the same program has with it.
func TestGoInlined(t *testing.T) {
	for _, mode := range []string{"exe", "pie"} {
		dir := t.TempDir()
		a, b := openPath(t, buildGo(t, dir, "full", "-buildmode="+mode)), openPath(t, buildGo(t, dir, "stripped", "-buildmode="+mode, "-ldflags=-s -w"))
		chain := func(o *Object, at uint64) (s string, n int) {
			for in := o.Inlined(at); in != nil; in = in.Outer {
				n++
				s += fmt.Sprintf("%s, called at %s:%d\n", in.Func, in.CallFile, in.CallLine)
			}
			return strings.ReplaceAll(s, "·", "."), n
		}
		inlined, deep := 0, 0
		for at := a.text.lo; at < a.text.hi; at++ {
			want, n := chain(a, at)
			if got, _ := chain(b, at); got != want {
				require.Equal(t, want, got, "%s %#x", mode, at)
			}
			inlined, deep = inlined+min(n, 1), max(deep, n)
		}
		require.NoError(t, b.Err())
		require.Greater(t, inlined, 50_000)
		require.Greater(t, deep, 3)
	}
}

// withGoInlined is a program of one function of 16 bytes with a list of steps that says which inlined call is where,
// and calls.
func withGoInlined(t testing.TB, steps, calls string) *Object {
	m := oneFunction()
	m.names = "\x00main.f\x00main.g\x00main.h\x00"
	list := uint32(len(m.steps))
	m.steps += steps
	m.records = append(m.records[:7:7], 3, 0, 5, 4<<24, 0, 0, list, math.MaxUint32, math.MaxUint32, math.MaxUint32, 0)
	module := binary.LittleEndian.AppendUint64(make([]byte, goTables), textAt+0x100)
	data := makeELF(t, 0x1000, elfSection{name: ".gopclntab", data: m.bytes()}, elfSection{name: ".go.module", data: module})
	copy(data[0x1100:0x2000], calls)
	return openELF(t, data)
}

// TestGoInlinedBroken has tables of inlined calls that are wrong somewhere.
func TestGoInlinedBroken(t *testing.T) {
	const g, h = "\x00\x00\x00\x00\x08\x00\x00\x00\x02\x00\x00\x00\x1e\x00\x00\x00", "\x00\x00\x00\x00\x0f\x00\x00\x00\x05\x00\x00\x00\x28\x00\x00\x00"
	// Up to 4 nothing, up to 8 the call of g, up to 12 that of h in it, then nothing again.
	const steps = "\x00\x04" + "\x02\x04" + "\x02\x04" + "\x03\x04\x00"
	for _, tt := range []struct{ what, steps, calls, want, err string }{
		{"good", steps, g + h, "main.h 40 called at /a/f.go:8 of main.g 30 called at /a/f.go:7", ""},
		{"no name", steps, g + strings.Replace(h, "\x0f", "\xff", 1), "??? 40 called at /a/f.go:8 of main.g 30 called at /a/f.go:7", ""},
		{"called from elsewhere", steps, g + strings.Replace(h, "\x05", "\x10", 1), "", "does not fit"},
		{"called by itself", steps, g + strings.Replace(h, "\x05", "\x09", 1), "", "does not fit"},
		{"without end", "\x00\x04\x02\x04\x02\x04\x03", g + h, "main.h 40 called at /a/f.go:8 of main.g 30 called at /a/f.go:7", ""},
		{"a call that is not there", "\x00\x04\x02\x04\xfe\xff\x7f\x04\x00", g, "", "does not fit"},
	} {
		o := withGoInlined(t, tt.steps, tt.calls)
		var chain []string
		for in := o.Inlined(textAt + 9); in != nil; in = in.Outer {
			chain = append(chain, fmt.Sprintf("%s %d called at %s:%d", in.Func, in.Line, in.CallFile, in.CallLine))
		}
		require.Equal(t, tt.want, strings.Join(chain, " of "), tt.what)
		require.Nil(t, o.Inlined(textAt+2), tt.what)
		if tt.err == "" {
			require.NoError(t, o.Err(), tt.what)
			require.Equal(t, "main.g", o.Entered(textAt + 4)[0].Func, tt.what)
		} else {
			require.ErrorContains(t, o.Err(), tt.err, tt.what)
		}
	}
}

func FuzzGoInlined(f *testing.F) {
	f.Add("\x00\x04\x02\x04\x02\x04\x03\x04\x00", "\x00\x00\x00\x00\x08\x00\x00\x00\x02\x00\x00\x00\x1e\x00\x00\x00")
	f.Fuzz(func(t *testing.T, steps, calls string) {
		o := withGoInlined(t, steps, calls)
		for at := range uint64(20) {
			n := 0
			for in := o.Inlined(textAt + at); in != nil; in = in.Outer {
				n++
			}
			require.LessOrEqual(t, n, maxGoInlined+1)
			o.Entered(textAt + at)
		}
		require.GreaterOrEqual(t, o.room.left, int64(0))
	})
}
