//go:build linux && amd64

package jit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// kept are images by name.
type kept map[string][]byte

func (k kept) Load(name string) ([]byte, func([]byte)) {
	if b := k[name]; b != nil {
		return slices.Clone(b), func([]byte) {}
	}
	return nil, nil
}

func (k kept) Save(name string, write func(io.Writer) error) {
	var b bytes.Buffer
	if write(&b) == nil {
		k[name] = b.Bytes()
	}
}

// imaged makes a pool that keeps images in k.
func imaged(k kept) *Pool {
	var p Pool
	p.Keep(k, "program")
	return &p
}

// imageModes are configurations with images.
var imageModes = map[string]emu.Config{
	"Ir": {}, "simulating": simulating, "caches": {Caches: simulating.Caches, Events: ^emu.EventSet(0)},
	"calls": {Function: sixteen}, "calls and jumps": {Function: sixteen, Jumps: true},
	"calls, simulating": {Function: sixteen, Caches: simulating.Caches, Branches: simulating.Branches, Events: simulating.Events},
}

// several has calls, jumps of all kinds, references, a repeated string, and an instruction that Go executes.
const several = `
	b9 28 00 00 00       # mov ecx, 40
	48 8d 05 2a 00 00 00 # lea rax, [rip+f]
	e8 25 00 00 00       # loop: call f
	ff d0                # call rax
	48 8b 14 cf          # mov rdx, [rdi+rcx*8]
	48 01 14 cf          # add [rdi+rcx*8], rdx
	f6 c1 01             # test cl, 1
	74 02                # je over
	66 90                # nop
	ff c9                # over: dec ecx
	75 e6                # jne loop
	31 c0                # xor eax, eax
	0f a2                # cpuid
	31 c9                # xor ecx, ecx
	b1 05                # mov cl, 5
	f3 48 ab             # rep stosq
	0f 05                # syscall
	90 90 90
	ff c6                # f: inc esi
	c3                   # ret`

// runSeveral runs it and returns what was counted and the registers; how much code was emitted is emitted.
func runSeveral(m *machine) (counts map[emu.Addr]map[emu.Event]uint64, regs [16]uint64, emitted int) {
	m.cpu.Regs[emu.RDI] = uint64(dataAt)
	at := m.pos
	m.run(emu.StopSyscall)
	return events(m), m.cpu.Regs, m.pos - at
}

// TestImage runs a program again and again, in one process after the other: what was translated once is not translated
// again, and all counts are the same.
func TestImage(t *testing.T) {
	for name, cfg := range imageModes {
		t.Run(name, func(t *testing.T) {
			k := kept{}
			fresh := newMachineWith(t, cfg, several)
			want, regs, _ := runSeveral(fresh)
			var arcs []string
			if cfg.Function != nil {
				arcs = fresh.arcs()
			}
			for i := range 4 {
				p := imaged(k)
				for range 2 {
					m := newPooled(t, p, cfg, several)
					got, gotRegs, emitted := runSeveral(m)
					require.Equal(t, want, got)
					require.Equal(t, regs, gotRegs)
					if cfg.Function != nil {
						require.ElementsMatch(t, arcs, m.arcs())
					}
					require.NoError(t, m.Close())
					if i > 0 {
						require.Zero(t, emitted)
					}
				}
				p.Close()
				require.Len(t, k, 1)
			}
		})
	}
}

// TestBudgetedImages runs a program with a budget and without: a run begins with code as the one before needed it, and
// has what was translated for such runs.
func TestBudgetedImages(t *testing.T) {
	for _, name := range []string{"Ir", "calls", "simulating"} {
		t.Run(name, func(t *testing.T) {
			k := kept{}
			fresh := newMachineWith(t, imageModes[name], several)
			want, _, _ := runSeveral(fresh)
			run := func(budget uint64, budgeted, translates bool) {
				t.Helper()
				p := imaged(k)
				defer p.Close()
				m := newPooled(t, p, imageModes[name], several)
				require.Equal(t, budgeted, m.budgeted)
				m.cpu.Regs[emu.RDI] = uint64(dataAt)
				stop := m.Run(m.cpu, budget)
				for stop.Reason == emu.StopBudget {
					stop = m.Run(m.cpu, budget)
				}
				require.Equal(t, emu.StopSyscall, stop.Reason)
				require.Equal(t, translates, m.translated > 0)
				require.Equal(t, want, events(m))
				require.NoError(t, m.Close())
			}
			const few = 10
			run(emu.NoBudget, false, true)
			run(emu.NoBudget, false, false)
			run(few, false, true)
			run(few, true, false)
			run(emu.NoBudget, true, false)
			run(emu.NoBudget, false, false)
			run(few, false, true)
			run(few, true, false)
			require.Len(t, k, 2)
		})
	}
}

// TestLateBudget needs a budget after so many instructions that runs begin without: the code up to there is kept, that
// behind is not.
func TestLateBudget(t *testing.T) {
	k := kept{}
	for i := range 3 {
		p := imaged(k)
		m := newPooled(t, p, emu.Config{}, several)
		require.False(t, m.budgeted)
		runSeveral(m)
		require.Equal(t, i == 0, m.translated > 0)
		m.executed += 1 << 40
		m.cpu.RIP = codeAt
		require.Equal(t, emu.StopBudget, m.Run(m.cpu, 10).Reason)
		require.True(t, m.budgeted)
		require.NoError(t, m.Close())
		p.Close()
		require.Len(t, k, 1)
	}
}

// TestBudgetOfALaterProcess needs a budget in a second process alone: what the first one executed counts, and the next
// run begins without.
func TestBudgetOfALaterProcess(t *testing.T) {
	k := kept{}
	for range 2 {
		p := imaged(k)
		m := newPooled(t, p, emu.Config{}, several)
		require.False(t, m.budgeted)
		runSeveral(m)
		m.executed += 1 << 40
		require.NoError(t, m.Close())
		m = newPooled(t, p, emu.Config{}, several)
		require.Zero(t, m.Executed())
		m.cpu.Regs[emu.RDI] = uint64(dataAt)
		require.Equal(t, emu.StopBudget, m.Run(m.cpu, 10).Reason)
		require.NoError(t, m.Close())
		p.Close()
		require.Len(t, k, 1)
	}
}

// TestImageWithoutAVX512 keeps code as hosts without AVX-512 have it, while directories of lines grow.
func TestImageWithoutAVX512(t *testing.T) {
	k := kept{}
	var want map[emu.Addr]map[emu.Event]uint64
	for i := range 3 {
		t.Run("", func(t *testing.T) {
			p := imaged(k)
			cfg := simulating
			cfg.Model, cfg.Env = v3(), testEnv{}
			m := newMachine(t, several)
			e, err := newEngine(m.mem, cfg, false, p.lowPlace)
			require.NoError(t, err)
			e.pool, m.Engine = p, e
			p.begin(e)
			if i == 1 {
				require.NoError(t, m.mem.Grow(2*m.mem.Limit())) // they grow where they are
			}
			got, _, emitted := runSeveral(m)
			if want == nil {
				want = got
			}
			require.Equal(t, want, got)
			require.Equal(t, i == 0, emitted > 0)
			require.NoError(t, m.Close())
			p.Close()
			require.Len(t, k, 1)
		})
	}
}

// TestImageOfOtherFunctions has the same code in other functions, whose calls are others, and the first ones again.
func TestImageOfOtherFunctions(t *testing.T) {
	k := kept{}
	one := func(emu.Addr) emu.Function { return emu.Function{ID: codeAt, Lo: 0, Hi: ^emu.Addr(0)} }
	for i, function := range []func(emu.Addr) emu.Function{sixteen, one, sixteen, one} {
		cfg := emu.Config{Function: function}
		fresh := newMachineWith(t, cfg, several)
		runSeveral(fresh)
		p := imaged(k)
		m := newPooled(t, p, cfg, several)
		_, _, emitted := runSeveral(m)
		require.Equal(t, i < 2, emitted > 0, i)
		require.ElementsMatch(t, fresh.arcs(), m.arcs())
		require.NoError(t, m.Close())
		p.Close()
	}
}

// TestImageOfTooManyArcs has an image that knows more arcs than are kept.
func TestImageOfTooManyArcs(t *testing.T) {
	k := kept{}
	p := imaged(k)
	m := newPooled(t, p, emu.Config{Function: sixteen}, several)
	runSeveral(m)
	for i := range maxImageSums / 8 / m.calls.Width() {
		m.calls.Arc(codeAt, emu.Addr(i))
	}
	require.NoError(t, m.Close())
	p.Close()
	require.Empty(t, k)
}

// TestImageOfOtherCode has code change between runs, and back: what is different is translated, and kept beside the
// other.
func TestImageOfOtherCode(t *testing.T) {
	k := kept{}
	for i, tt := range []struct {
		code       string
		rax        uint64
		translated bool
	}{
		{addsOne, 1, true}, {addsOne, 1, false}, {addsTwo, 2, true}, {addsOne, 1, false}, {addsTwo, 2, false},
	} {
		p := imaged(k)
		m := newPooled(t, p, emu.Config{}, tt.code)
		at := m.pos
		m.run(emu.StopSyscall)
		require.Equal(t, tt.rax, m.cpu.Regs[emu.RAX])
		require.Equal(t, tt.translated, m.pos > at, "%d", i)
		require.Equal(t, map[emu.Addr]uint64{codeAt: 1, codeAt + 4: 1}, m.counts())
		require.NoError(t, m.Close())
		p.Close()
	}
}

// TestImageFaults has an instruction of an image's block fault in the midst of it, and pages of its code be written to.
func TestImageFaults(t *testing.T) {
	const code = `
		48 ff c0              # inc rax
		48 8b 0f              # mov rcx, [rdi]
		48 ff c0              # inc rax
		ff 05 02 00 00 00     # inc dword [rip+2]
		0f 05                 # syscall
		00 00 00 00`
	for name, cfg := range imageModes {
		k := kept{}
		var want map[emu.Addr]map[emu.Event]uint64
		for range 3 {
			p := imaged(k)
			m := newPooled(t, p, cfg, code)
			require.NoError(t, m.mem.Protect(codeAt, codeAt+0x1000, mem.Read|mem.Write|mem.Exec))
			m.cpu.Regs[emu.RDI] = 0x1000
			stop := m.Run(m.cpu, emu.NoBudget)
			require.Equal(t, emu.StopFault, stop.Reason, name)
			require.EqualValues(t, 0x1000, stop.Fault.Addr)
			require.EqualValues(t, 1, m.cpu.Regs[emu.RAX])
			m.cpu.Regs[emu.RDI] = uint64(dataAt)
			m.run(emu.StopSyscall)
			require.EqualValues(t, 2, m.cpu.Regs[emu.RAX])
			got := events(m)
			if want == nil {
				want = got
			}
			require.Equal(t, want, got, name)
			require.NoError(t, m.Close())
			p.Close()
		}
	}
}

// TestImageMarks sets marks in the code of an image.
func TestImageMarks(t *testing.T) {
	k := kept{}
	for range 3 {
		p := imaged(k)
		m := newPooled(t, p, emu.Config{}, addsOne)
		if len(k) > 0 {
			m.SetMark(codeAt+4, true)
			m.run(emu.StopMark)
			require.Equal(t, codeAt+4, m.cpu.RIP)
		}
		m.run(emu.StopSyscall)
		require.Equal(t, map[emu.Addr]uint64{codeAt: 1, codeAt + 4: 1}, m.counts())
		require.NoError(t, m.Close())
		p.Close()
	}
}

// TestImageModes goes on in another way of counting, and back, and gives up an image by a flush.
func TestImageModes(t *testing.T) {
	for name, cfg := range imageModes {
		k := kept{}
		var want map[emu.Addr]map[emu.Event]uint64
		for i := range 4 {
			p := imaged(k)
			m := newPooled(t, p, cfg, turns)
			for turn := range 20 {
				m.run(emu.StopSyscall)
				if turn%4 == 0 {
					m.SetCounting(emu.Counting(turn / 4 % 3))
				}
				if i == 2 && turn == 9 {
					m.flush()
				}
			}
			m.SetCounting(emu.CountAll)
			m.run(emu.StopFault)
			got := events(m)
			if want == nil {
				want = got
			}
			require.Equal(t, want, got, "%s, run %d", name, i)
			require.NoError(t, m.Close())
			p.Close()
		}
	}
}

// TestBrokenImages has images that are cut short, changed, of another version or configuration: the engine begins
// without.
func TestBrokenImages(t *testing.T) {
	k := kept{}
	p := imaged(k)
	m := newPooled(t, p, emu.Config{}, several)
	want, _, all := runSeveral(m)
	require.NoError(t, m.Close())
	p.Close()
	require.Len(t, k, 1)
	name := slices.Collect(maps.Keys(k))[0]
	whole := k[name]
	try := func(what string, image []byte) {
		t.Run(what, func(t *testing.T) {
			p := imaged(kept{name: image})
			defer p.Close()
			m := newPooled(t, p, emu.Config{}, several)
			got, _, emitted := runSeveral(m)
			require.Equal(t, want, got)
			require.Equal(t, all, emitted)
			require.NoError(t, m.Close())
		})
	}
	for n := 0; n < len(whole); n = n*9/8 + 1 {
		try(fmt.Sprintf("%d bytes", n), whole[:n])
		changed := slices.Clone(whole)
		changed[n] ^= 0x10
		try(fmt.Sprintf("byte %d changed", n), changed)
	}
	try("longer", append(slices.Clone(whole), 0))
	for _, cfg := range []emu.Config{simulating, {Limited: true}} {
		other := newPooled(t, &Pool{}, cfg, several)
		require.Error(t, other.loadImage(whole, other.configKey(), nil))
		require.NoError(t, other.Close())
	}
}

// TestImageIsNotWritten has the write of an image fail: the old one stays.
func TestImageIsNotWritten(t *testing.T) {
	m := newPooled(t, &Pool{}, emu.Config{}, several)
	runSeveral(m)
	for _, n := range []int{0, 1, 1000} {
		require.ErrorIs(t, m.writeImage(&fullDisk{n}), errFull)
	}
	require.NoError(t, m.Close())
}

var errFull = errors.New("full")

// A fullDisk takes so many bytes.
type fullDisk struct{ room int }

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestFinish ends engines early: an image is there before they are closed, written once, and they know what they have
// executed, but no code.
func TestFinish(t *testing.T) {
	for name, cfg := range imageModes {
		t.Run(name, func(t *testing.T) {
			k := kept{}
			var want map[emu.Addr]map[emu.Event]uint64
			for i := range 3 {
				p := imaged(k)
				m := newPooled(t, p, cfg, several)
				got, _, emitted := runSeveral(m)
				if i == 0 {
					want = got
				}
				require.Equal(t, want, got)
				require.Equal(t, i == 0, emitted > 0)
				executed := m.Executed()
				m.Finish()
				require.Len(t, k, 1)
				require.Equal(t, executed, m.Executed())
				require.Empty(t, events(m))
				require.Zero(t, m.Translated())
				whole := maps.Clone(k)
				require.NoError(t, m.Close())
				p.Close()
				require.Equal(t, whole, k)
			}
			p := imaged(kept{})
			defer p.Close()
			m := newPooled(t, p, cfg, several)
			runSeveral(m)
			m.Finish()
			require.NoError(t, m.Close())
			other := newPooled(t, p, cfg, several) // if there is another one all the same
			require.False(t, m.Engine == other.Engine)
			got, _, _ := runSeveral(other)
			require.Equal(t, want, got)
			require.NoError(t, other.Close())
		})
	}
}
