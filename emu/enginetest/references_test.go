//go:build linux && amd64

package enginetest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// TestReferences has all engines count the same references of instructions whose references depend on a mask, also
// where one of them faults.
func TestReferences(t *testing.T) {
	model := wideModel(t)
	images, ro := makeImages(newRand("images"))
	var under []*emulated
	for _, u := range append(lesserEngines, engines...) {
		if u.simulates && u.wide != nil {
			under = append(under, newEmulated(t, u, model, images, ro))
		}
	}
	supported := supportedFeatures(model)
	out := make([]outcome, maxJobs)
	masked := 0
	for k, tmpl := range templates() {
		if !supported[tmpl.inst.Feature] || !tmpl.mem || skipped(&tmpl.inst) != "" {
			continue
		}
		b, r := newBatch(), rand.New(rand.NewPCG(uint64(k), 9))
		b.wide = true
		for range 4 {
			e, inst, code := tmpl.vary(r, func(to *shape) { *to = randomShape(r) })
			if code = sensible(t, r, &e, &inst, code); code != nil && guarded(&inst) {
				b.add(r, &inst, code, 4)
			}
		}
		if len(b.jobs) == 0 {
			continue
		}
		masked++
		under[0].run(b, out) // for what is beyond the guest's addresses
		i := -1
		b.jobs = slices.DeleteFunc(b.jobs, func(nativeState) bool { i++; return wild(out[i].fault) })
		var want map[emu.Addr][emu.NumEvents]uint64
		for _, m := range under {
			got := m.countAll(b, out)
			if want == nil {
				want = got
			}
			require.Equal(t, want, got, "%v: %s, %s", tmpl.inst.Op, under[0].under.name, m.under.name)
		}
	}
	require.Greater(t, masked, 300)
}

// guarded reports whether i has references that it does not always make.
func guarded(i *x86.Inst) bool {
	for r := range i.References {
		if r.Guard != x86.Always {
			return true
		}
	}
	return false
}

// countAll runs b and returns what instructions and references count, by address; not what they miss.
func (m *emulated) countAll(b *batch, out []outcome) map[emu.Addr][emu.NumEvents]uint64 {
	m.load(b)
	for i := range b.jobs {
		m.one(&b.jobs[i], &out[i])
	}
	counts := map[emu.Addr][emu.NumEvents]uint64{}
	m.engine.Collect(0, ^emu.Addr(0), func(a emu.Addr, ev emu.Event, n uint64) {
		switch ev {
		case emu.I1mr, emu.ILmr, emu.D1mr, emu.DLmr, emu.D1mw, emu.DLmw, emu.Bcm, emu.Bim: // a fault may have come before or behind what misses
		default:
			c := counts[a]
			c[ev] += n
			counts[a] = c
		}
	})
	return counts
}
