package mem

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestVMAList compares a list with an array of pages.
func TestVMAList(t *testing.T) {
	const pages = 4096
	rng := rand.New(rand.NewPCG(1, 2))
	var model [pages]Prot // 0: not mapped; else one more than the permissions
	var l vmaList
	for step := range 20_000 {
		lo := rng.IntN(pages - 8)
		n := 1 + rng.IntN(7)
		if rng.IntN(100) == 0 {
			n = 1 + rng.IntN(pages-lo-1)
		}
		v := VMA{Lo: emu.Addr(lo) * emu.PageSize, Hi: emu.Addr(lo+n) * emu.PageSize, Prot: Prot(rng.IntN(3)), Path: "x"}
		v.Off, v.File = uint64(v.Lo), true
		l.carve(v.Lo, v.Hi)
		mapped := rng.IntN(3) > 0
		for i := lo; i < lo+n; i++ {
			if model[i] = 0; mapped {
				model[i] = v.Prot + 1
			}
		}
		if mapped {
			l.insert(v)
		}
		size, low := 1+rng.IntN(4), rng.IntN(3)*700
		free := 0
		at := low
		for ; at < pages && free < size; at++ {
			if free++; model[at] != 0 {
				free = 0
			}
		}
		if free == size {
			got := l.find(emu.Addr(size)*emu.PageSize, emu.Addr(low)*emu.PageSize)
			require.Equal(t, emu.Addr(at-size)*emu.PageSize, got, "step %d", step)
		}
		if step%50 == 0 {
			require.Equal(t, runs(model[:]), slices.Clone(l.all()), "step %d", step)
		}
	}
	for _, block := range l.blocks {
		require.NotEmpty(t, block)
		require.LessOrEqual(t, len(block), maxBlock)
	}
}

// runs are the VMAs of a model.
func runs(model []Prot) (vmas []VMA) {
	for i, x := range model {
		if x == 0 {
			continue
		}
		v := VMA{Lo: emu.Addr(i) * emu.PageSize, Hi: emu.Addr(i+1) * emu.PageSize, Prot: x - 1, Path: "x", File: true}
		v.Off = uint64(v.Lo)
		if k := len(vmas) - 1; k >= 0 && vmas[k].joins(&v) {
			vmas[k].Hi = v.Hi
			continue
		}
		vmas = append(vmas, v)
	}
	return vmas
}

// BenchmarkVMAs maps page after page, unlike their neighbours, protects a part of each, and unmaps them.
func BenchmarkVMAs(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				var l vmaList
				for i := range n {
					a := l.find(2*emu.PageSize, 0)
					l.insert(VMA{Lo: a, Hi: a + 2*emu.PageSize, Prot: Prot(i % 2)})
				}
				for i := range n {
					a := emu.Addr(i) * 2 * emu.PageSize
					l.carve(a, a+emu.PageSize)
					l.insert(VMA{Lo: a, Hi: a + emu.PageSize, Prot: Exec})
				}
				for i := range n {
					a := emu.Addr(i*7919%n) * 2 * emu.PageSize
					l.carve(a, a+2*emu.PageSize)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(3*n), "ns/change")
		})
	}
}
