package hooks

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

var everything = ^emu.EventSet(0)

// otherCounts are instructions that count otherwise than the rows of insn_events.txt, which were
// measured with Valgrind's optimiser on. It saw from an immediate that a load is not needed, or
// that all of what was read is overwritten. x86's droppedLoads has the vectors that decide.
var otherCounts = map[string]string{
	"andl $0,(%rbx)":                      "Dr1 Dw0 Bc0",
	"dpps $1,(%rbx),%xmm0":                "Dr1 Dw0 Bc0",
	"blendps $0,(%rbx),%xmm1":             "Dr1 Dw0 Bc0",
	"pblendw $0,(%rbx),%xmm1":             "Dr1 Dw0 Bc0",
	"insertps $0x0f,(%rbx),%xmm0":         "Dr1 Dw0 Bc0",
	"vdpps $0x0f,(%rbx),%ymm0,%ymm0":      "Dr1 Dw0 Bc0",
	"vblendps $0,(%rbx),%ymm1,%ymm1":      "Dr1 Dw0 Bc0",
	"vpblendd $0,(%rbx),%ymm1,%ymm1":      "Dr1 Dw0 Bc0",
	"vperm2f128 $1,(%rbx),%ymm0,%ymm0":    "Dr2 Dw0 Bc0",
	"vperm2f128 $0x31,(%rbx),%ymm0,%ymm0": "Dr2 Dw0 Bc0",
	"vperm2i128 $0x88,(%rbx),%ymm0,%ymm0": "Dr2 Dw0 Bc0",
	"vperm2i128 $0x20,(%rbx),%ymm0,%ymm0": "Dr2 Dw0 Bc0",
}

// TestInsnEvents compares the plans of 674 instructions with what Cachegrind counts for them. The
// references one by one, and those with guards, are compared in emu/x86.
func TestInsnEvents(t *testing.T) {
	text, err := os.ReadFile("../emu/x86/testdata/insn_events.txt")
	require.NoError(t, err)
	rows, guarded, used := 0, 0, 0
	for line := range strings.Lines(string(text)) {
		if line[0] == '#' {
			continue
		}
		rows++
		col := strings.Split(line, "|")
		require.Len(t, col, 4, line)
		code, err := hex.DecodeString(strings.TrimSpace(col[0]))
		require.NoError(t, err, line)
		var inst x86.Inst
		require.NoError(t, x86.Decode(code, &inst), line)
		_, want, _ := strings.Cut(strings.TrimSpace(col[3]), " ") // Ir is 1
		if !strings.Contains(want, "Bc") {
			want += " Bc0"
		}
		w, other := otherCounts[strings.TrimSpace(col[1])]
		if other {
			require.NotEqual(t, w, want, "the row agrees: %s", line)
			want = w
			used++
		}
		effects := new(Context).Next(&inst)
		p := effects.Plan(&inst, everything)
		require.EqualValues(t, 1, p[emu.Ir])
		require.Zero(t, p[emu.Bi])
		if hasGuards(&inst) {
			guarded++
			continue
		}
		require.Equal(t, want, fmt.Sprintf("Dr%d Dw%d Bc%d", p[emu.Dr], p[emu.Dw], p[emu.Bc]), line)
		loads, stores := bySize(p)
		modifies := loads + stores - int(p[emu.Dr]+p[emu.Dw]) // they are a load and a store
		if !other {
			require.Equal(t, strings.Count(col[2], " M"), modifies, line)
		}
	}
	require.Equal(t, 674, rows)
	require.Equal(t, len(otherCounts), used)
	require.Less(t, guarded, 50)
}

// planOf is the plan of an instruction of whose predecessors nothing is known.
func planOf(i *x86.Inst, events emu.EventSet) Plan {
	var c Context
	x := c.Next(i)
	return x.Plan(i, events)
}

func hasGuards(i *x86.Inst) bool {
	for r := range i.References {
		if r.Guard != x86.Always {
			return true
		}
	}
	return false
}

// bySize returns the loads and stores of all sizes.
func bySize(p Plan) (loads, stores int) {
	for e := emu.Load1; e <= emu.LoadBig; e++ {
		loads += int(p[e])
	}
	for e := emu.Store1; e <= emu.StoreBig; e++ {
		stores += int(p[e])
	}
	return loads, stores
}

// TestPlan has what the rows have not, above all what counts as a branch.
func TestPlan(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		want       string
	}{
		{"je", "7400", "Bc1 Bi0 Dr0 Dw0"},
		{"je rel32", "0f8400000000", "Bc1 Bi0 Dr0 Dw0"},
		{"loop", "e2fe", "Bc1 Bi0 Dr0 Dw0"},
		{"loopne", "e0fe", "Bc1 Bi0 Dr0 Dw0"},
		{"loope", "e1fe", "Bc1 Bi0 Dr0 Dw0"},
		{"jrcxz", "e300", "Bc1 Bi0 Dr0 Dw0"},
		{"jecxz", "67e300", "Bc1 Bi0 Dr0 Dw0"},
		{"jmp", "eb00", "Bc0 Bi0 Dr0 Dw0"},
		{"jmp *rax", "ffe0", "Bc0 Bi1 Dr0 Dw0"},
		{"jmp *(rax)", "ff20", "Bc0 Bi1 Dr1 Dw0"},
		{"call", "e800000000", "Bc0 Bi0 Dr0 Dw1"},
		{"call *rax", "ffd0", "Bc0 Bi1 Dr0 Dw1"},
		{"call *(rax)", "ff10", "Bc0 Bi1 Dr1 Dw1"},
		{"ret", "c3", "Bc0 Bi0 Dr1 Dw0"},
		{"ret 8", "c20800", "Bc0 Bi0 Dr1 Dw0"},
		{"syscall", "0f05", "Bc0 Bi0 Dr0 Dw0"},
		{"cmove", "0f44c1", "Bc0 Bi0 Dr0 Dw0"},
		{"sete (rax)", "0f9400", "Bc0 Bi0 Dr0 Dw1"},
		{"xbegin", "c7f800000000", "Bc0 Bi0 Dr0 Dw0"},
		{"xchg rax, rcx", "4887c8", "Bc0 Bi0 Dr0 Dw0"},
		{"xchg (rcx), rax", "488701", "Bc1 Bi0 Dr2 Dw0"},
		{"lock xchg (rcx), rax", "f0488701", "Bc1 Bi0 Dr2 Dw0"},
		{"lock cmpxchg (rcx), rdx", "f0480fb111", "Bc0 Bi0 Dr1 Dw0"},
		{"cmpxchg (rcx), rdx", "480fb111", "Bc0 Bi0 Dr1 Dw0"},
		{"lock cmpxchg16b (rcx)", "f0480fc709", "Bc0 Bi0 Dr1 Dw0"},
		{"xadd (rcx), rdx", "480fc111", "Bc0 Bi0 Dr1 Dw0"},
		{"lock xadd (rcx), rdx", "f0480fc111", "Bc1 Bi0 Dr2 Dw0"},
		// Valgrind tests bits of a register in memory.
		{"bt eax, ecx", "0fa3c8", "Bc0 Bi0 Dr1 Dw1"},
		{"bts rax, rcx", "480fabc8", "Bc0 Bi0 Dr2 Dw1"},
		{"btr ax, cx", "660fb3c8", "Bc0 Bi0 Dr2 Dw1"},
		{"btc eax, ecx", "0fbbc8", "Bc0 Bi0 Dr2 Dw1"},
		{"bt eax, 3", "0fbae003", "Bc0 Bi0 Dr0 Dw0"},
		{"btc eax, 3", "0fbaf803", "Bc0 Bi0 Dr0 Dw0"},
		{"bt (rax), ecx", "0fa308", "Bc0 Bi0 Dr1 Dw0"},
		{"lock bts (rax), ecx", "f00fab08", "Bc1 Bi0 Dr2 Dw0"},
		{"movs", "a4", "Bc0 Bi0 Dr1 Dw1"},
		{"stos", "48ab", "Bc0 Bi0 Dr0 Dw1"},
		{"lods", "ac", "Bc0 Bi0 Dr1 Dw0"},
		{"scas", "ae", "Bc0 Bi0 Dr1 Dw0"},
		{"cmps", "a6", "Bc0 Bi0 Dr2 Dw0"},
		// What repeats is no part of a plan.
		{"rep movs", "f3a4", "Bc0 Bi0 Dr0 Dw0"},
		{"repe cmps", "f3a6", "Bc0 Bi0 Dr0 Dw0"},
		{"rep ret", "f3c3", "Bc0 Bi0 Dr1 Dw0"},
	} {
		code, err := hex.DecodeString(tt.code)
		require.NoError(t, err, tt.name)
		var inst x86.Inst
		require.NoError(t, x86.Decode(code, &inst), tt.name)
		effects := new(Context).Next(&inst)
		p := effects.Plan(&inst, everything)
		require.Equal(t, tt.want, fmt.Sprintf("Bc%d Bi%d Dr%d Dw%d", p[emu.Bc], p[emu.Bi], p[emu.Dr], p[emu.Dw]), tt.name)
		// Without the events asked for nothing but Ir is planned.
		require.Equal(t, Plan{emu.Ir: 1}, planOf(&inst, emu.Events(emu.Ir)), tt.name)
	}
}
