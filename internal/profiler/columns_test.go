package profiler

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/emu"
)

func TestExtraColumns(t *testing.T) {
	columns, err := extraColumns([]string{"allocs", "syscalls", "syscalls"})
	require.NoError(t, err)
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	assert.Equal(t, []string{"Sys", "Alloc", "AllocB", "Free"}, names)
	_, err = extraColumns([]string{"rep", "nothing"})
	assert.EqualError(t, err, `events "nothing": not one of syscalls, rep, taken, loads, stores, allocs`)
	// Every event has one column, and no name is used twice.
	seen := map[string]bool{}
	for _, g := range eventGroups {
		for _, c := range g.columns {
			assert.False(t, seen[c.name], c.name)
			seen[c.name] = true
		}
	}
	assert.Len(t, seen, int(numEvents-1)-int(emu.Taken))
}

func TestEstimateCycles(t *testing.T) {
	p := cgout.New("Ir", "I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw", "Bc", "Bcm", "Bi", "Bim", "Sys", "Cy")
	p.Add("f", "g", 1, 1000, 1, 2, 500, 3, 4, 500, 5, 6, 7, 8, 9, 10, 11)
	estimateCycles(p)
	estimateCycles(p) // again: the same
	assert.EqualValues(t, 1000+10*(1+3+5)+100*(2+4+6)+10*(8+10), p.Total("Cy"))
	p = cgout.New("Ir")
	p.Add("f", "g", 1, 5)
	estimateCycles(p)
	assert.Equal(t, []uint64{5}, p.Totals())
}
