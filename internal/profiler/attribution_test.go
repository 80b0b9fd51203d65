package profiler

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestRunTable puts runs on many pages, and more on one than it can number: those that are found are right.
func TestRunTable(t *testing.T) {
	var table runTable
	require.Nil(t, table.at(0))
	find := func(a emu.Addr, centre int) {
		t.Helper()
		r := table.at(a)
		require.NotNil(t, r)
		require.Equal(t, centre, r.centre)
	}
	for page := range emu.Addr(20) {
		at := 0x400000 + page*emu.PageSize
		table.put(&costRun{lo: at + 16, hi: at + 20, centre: int(page)})
		table.put(&costRun{lo: at + 4090, hi: at + emu.PageSize + 10, centre: 100 + int(page)})
		find(at+16, int(page))
		find(at+19, int(page))
		find(at+4095, 100+int(page))
		require.Nil(t, table.at(at))
		require.Nil(t, table.at(at+20))
		require.Nil(t, table.at(at+emu.PageSize)) // it is another one's
		if page >= 8 {
			require.Nil(t, table.at(at-8*emu.PageSize+16))
		}
	}
	for i := range math.MaxUint16 + 10 {
		table.put(&costRun{lo: 0x500000 + emu.Addr(i%100), hi: 0x500001 + emu.Addr(i%100), centre: i})
		find(0x500000+emu.Addr(i%100), i)
	}
	find(0x500028, 65540)
	require.Nil(t, table.at(0x500000)) // the page has begun anew
	table.forget()
	require.Nil(t, table.at(0x500000))
}
