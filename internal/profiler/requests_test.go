package profiler

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A fakeEngine runs no code.
type fakeEngine struct{ emu.Engine }

func (fakeEngine) Collect(emu.Addr, emu.Addr, func(a emu.Addr, e emu.Event, n uint64)) {}

func TestRequests(t *testing.T) {
	m, err := mem.New()
	require.NoError(t, err)
	defer m.Close()
	const stack = 0x100000
	require.NoError(t, m.Map(mem.VMA{Lo: stack, Hi: stack + emu.PageSize, Prot: mem.Read | mem.Write}, nil))
	var log strings.Builder
	var dumped []*cgout.Profile
	cfg := &Config{Log: &log, OnDump: func(_ int, p *cgout.Profile) { dumped = append(dumped, p) }}
	p, cpu := New(fakeEngine{}, m, 1000, cfg, NewObjects(dwarfmap.Options{})), emu.NewCPU()
	counts := func(want emu.Counting) {
		t.Helper()
		assert.Equal(t, want, p.counting(cpu))
	}
	ask := func(code uint64, args ...uint64) {
		t.Helper()
		var a [5]uint64
		copy(a[:], args)
		r, known := p.Request(code, a)
		assert.True(t, known)
		assert.Zero(t, r)
	}
	counts(emu.CountAll)
	ask(cgStop)
	counts(emu.CountOff)
	ask(ctStop)
	ask(ceStop)
	assert.Empty(t, log.String())
	ask(cgStop)
	ask(cgStart)
	counts(emu.CountAll)
	ask(cgStart)
	assert.Equal(t, `==1000== warning: CACHEGRIND_STOP_INSTRUMENTATION called,
==1000==          but instrumentation is already disabled
==1000== warning: CACHEGRIND_START_INSTRUMENTATION called,
==1000==          but instrumentation is already enabled
`, log.String())
	log.Reset()
	ask(ctToggle)
	counts(emu.CountNothing)
	ask(ceToggle)
	counts(emu.CountAll)

	p.costs.add(m, 0, emu.Ir, 7)
	ask(ctZero)
	p.costs.add(m, 0, emu.Ir, 8)
	ask(ctDump)
	m.Write(stack, []byte("a\nb\x00c"))
	p.costs.add(m, 0, emu.Ir, 9)
	ask(ctDumpAt, stack)
	ask(ceDumpAt, stack, 5)
	ask(ceDumpAt, 0x10, 5) // nothing is mapped there
	require.Len(t, dumped, 4)
	assert.Equal(t, []uint64{8}, dumped[0].Totals())
	assert.Equal(t, []string{"Trigger: Client Request"}, dumped[0].Desc)
	assert.Equal(t, []uint64{9}, dumped[1].Totals())
	assert.Equal(t, []string{"Trigger: Client Request: a?b"}, dumped[1].Desc)
	assert.Equal(t, []string{"Trigger: Client Request: a?b?c"}, dumped[2].Desc)
	assert.Equal(t, []string{"Trigger: Client Request: "}, dumped[3].Desc)

	r, known := p.Request(ceRunning, [5]uint64{})
	assert.True(t, known)
	assert.EqualValues(t, 1, r)
	for _, code := range []uint64{0x1001, ctStop + 1, ceRunning + 1} {
		_, known = p.Request(code, [5]uint64{})
		assert.False(t, known, "%#x", code)
	}
	assert.Empty(t, log.String())
	_, known = p.Request(cgStop+1, [5]uint64{})
	assert.False(t, known)
	assert.Equal(t, "==1000== Warning: unknown cachegrind client request code 43470002\n", log.String())
	// Cachegrind does not know Callgrind's.
	cfg.Compat = true
	_, known = p.Request(ctZero, [5]uint64{})
	assert.False(t, known)
}
