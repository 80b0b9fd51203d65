//go:build linux && amd64

package jit

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// nearModes are what shadow stacks are to make no difference to.
var nearModes = map[string]emu.Config{"Ir": {}, "calls": {Function: sixteen}, "simulating": simulating}

// needNear skips a test where Go's heap lies where shadow stacks that lie near are to be: since Go 1.26 it begins
// anywhere, there in one process of a few hundred.
func needNear(t *testing.T) {
	t.Helper()
	const end = nearStart + 2*int64(mem.FirstLimit) + shadowGuard
	if heap := int64(reflect.ValueOf(new([1 << 16]byte)).Pointer()); heap >= nearStart && heap < end {
		t.Skipf("Go's heap is at %#x, where the shadow stack would lie", heap)
	}
}

// newNear is a machine whose shadow stack lies near.
func newNear(t *testing.T, cfg emu.Config, code string) *machine {
	m := newMachineWith(t, cfg, code)
	require.True(t, m.near)
	require.True(t, m.shadow.near())
	return m
}

// occupy has other memory at host address p, if there is none, until the test ends.
func occupy(t *testing.T, p uintptr) {
	page := uintptr(emu.PageSize)
	_, err := rawMmap(p, page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE, -1)
	if err != nil {
		require.ErrorIs(t, err, unix.EEXIST)
		return
	}
	t.Cleanup(func() { unix.Syscall(unix.SYS_MUNMAP, p, page, 0) })
}

// run18 runs 18 of the turns, and change in between.
func run18(m *machine, change func()) map[emu.Addr]map[emu.Event]uint64 {
	for i := range 18 {
		if i == 9 {
			change()
		}
		m.run(emu.StopSyscall)
		require.EqualValues(m.t, 20-i, m.cpu.Regs[emu.RDX])
	}
	return events(m)
}

// TestNear has the shadow stack of one engine lie near, those of others elsewhere; when it is gone, that of another.
func TestNear(t *testing.T) {
	needNear(t)
	for name, cfg := range nearModes {
		t.Run(name, func(t *testing.T) {
			first := newNear(t, cfg, turns)
			second := newMachineWith(t, cfg, turns)
			require.False(t, second.near)
			require.Equal(t, run18(first, func() {}), run18(second, func() {}))
			require.NoError(t, first.Close())
			newNear(t, cfg, turns)
		})
	}
}

// TestNoLongerNear takes the place away, in the middle of calls: the guest's memory grows into what is another's, or
// the engine sleeps while another one gets it.
func TestNoLongerNear(t *testing.T) {
	needNear(t)
	for name, cfg := range nearModes {
		t.Run(name, func(t *testing.T) {
			var want map[emu.Addr]map[emu.Event]uint64
			t.Run("not", func(t *testing.T) {
				m := newNear(t, cfg, turns)
				want = run18(m, func() { require.NoError(t, m.mem.Grow(2*m.mem.Limit())) })
				require.True(t, m.near)
			})
			t.Run("grows", func(t *testing.T) {
				m := newNear(t, cfg, turns)
				occupy(t, m.shadow.windows.at+m.shadow.windows.size)
				require.Equal(t, want, run18(m, func() { require.NoError(t, m.mem.Grow(2*m.mem.Limit())) }))
				require.False(t, m.near)
			})
			t.Run("sleeps", func(t *testing.T) {
				m := newNear(t, cfg, turns)
				require.Equal(t, want, run18(m, func() {
					m.suspend()
					newNear(t, cfg, turns)
					require.NoError(t, m.revive())
				}))
				require.False(t, m.near)
			})
		})
	}
}

// TestImageNotNear keeps the code of an engine whose shadow stack had to leave the place near: the next one begins with
// it, and leaves that at once.
func TestImageNotNear(t *testing.T) {
	needNear(t)
	k := kept{}
	for i, grows := range []bool{true, false, false} {
		p := imaged(k)
		m := newMachine(t, several)
		require.NoError(t, m.Close())
		e, err := p.New(m.mem, emu.Config{Model: v3(), Env: testEnv{}})
		require.NoError(t, err)
		m.Engine = e.(*Engine)
		require.Equal(t, i == 0, m.near)
		if grows {
			occupy(t, m.shadow.windows.at+m.shadow.windows.size)
			require.NoError(t, m.mem.Grow(2*m.mem.Limit()))
		}
		_, _, emitted := runSeveral(m)
		require.False(t, m.near)
		require.Equal(t, i == 0, emitted > 0)
		require.NoError(t, m.Close())
		p.Close()
		require.Len(t, k, 1)
	}
}

// TestNearTakenMeanwhile closes an engine whose shadow stack lies near, and has the next process get it when another
// one's lies there.
func TestNearTakenMeanwhile(t *testing.T) {
	needNear(t)
	for name, cfg := range nearModes {
		t.Run(name, func(t *testing.T) {
			var pool Pool
			defer pool.Close()
			cfg.Model, cfg.Env = v3(), testEnv{}
			start := func() *machine {
				m := newMachine(t, turns)
				require.NoError(t, m.Close())
				e, err := pool.New(m.mem, cfg)
				require.NoError(t, err)
				m.mem.OnInvalidate(e.Invalidate)
				m.Engine = e.(*Engine)
				return m
			}
			first := start()
			require.True(t, first.near)
			want := run18(first, func() {})
			require.NoError(t, first.Close())
			newNear(t, emu.Config{}, turns)
			next := start()
			require.True(t, first.Engine == next.Engine)
			require.Equal(t, want, run18(next, func() {}))
			require.False(t, next.near)
			require.NoError(t, next.Close())
		})
	}
}

// TestOneCodeCache has an engine that found addresses for one code cache alone begin anew, when another way of counting
// has it.
func TestOneCodeCache(t *testing.T) {
	var pool Pool
	defer pool.Close()
	m := newPooled(t, &pool, emu.Config{}, turns)
	m.codeCaches[emu.CountAll], m.codeCaches[emu.CountOff] = nil, m.codeCache
	m.counting = emu.CountOff
	m.run(emu.StopSyscall)
	require.NoError(t, m.Close())
	again := newPooled(t, &pool, emu.Config{}, turns)
	require.True(t, m.Engine == again.Engine)
	require.Equal(t, emu.CountAll, again.counting)
	again.run(emu.StopSyscall)
	require.EqualValues(t, 6, again.Executed())
}

// TestNearReturns has RET fault, and find no call: the guest's registers are what they were.
func TestNearReturns(t *testing.T) {
	needNear(t)
	for name, cfg := range nearModes {
		t.Run(name, func(t *testing.T) {
			m := newNear(t, cfg, `
				e8 06 00 00 00 # call b
				4c 89 d8       # mov rax, r11
				0f 05          # syscall
				cc
				c3             # b: ret`)
			m.run(emu.StopSyscall)
			sp := m.cpu.Regs[emu.RSP]
			m.cpu.RIP, m.cpu.Regs[emu.R11], m.cpu.Regs[emu.RSP] = codeAt+0xb, 0x11, 0x12345678
			stop := m.run(emu.StopFault)
			require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: 0x12345678}, stop.Fault)
			require.EqualValues(t, 0x11, m.cpu.Regs[emu.R11])
			require.EqualValues(t, 0x12345678, m.cpu.Regs[emu.RSP])

			for range 3 {
				require.Equal(t, 8, m.mem.Poke(emu.Addr(sp-0x100), []byte{5, 0, 0x40, 0, 0, 0, 0, 0})) // where no call has put it
				m.cpu.RIP, m.cpu.Regs[emu.R11], m.cpu.Regs[emu.RSP] = codeAt+0xb, 0x11, sp-0x100
				m.run(emu.StopSyscall)
				require.EqualValues(t, 0x11, m.cpu.Regs[emu.RAX])
				require.Equal(t, sp-0xf8, m.cpu.Regs[emu.RSP])
			}
		})
	}
}

// TestMixedReturn has #GP come at the host's RET, as Intel's CPUs raise it where two return addresses are mixed, and
// behind it, as AMD's do: RSP is the same then.
func TestMixedReturn(t *testing.T) {
	m := newMachine(t, "e8 02 00 00 00 0f 05 c3") // call ret; syscall; ret
	m.run(emu.StopSyscall)
	b := m.tbs.at(codeAt + 7)
	ret := int(b.entry)
	for m.arena.mem[ret] != 0xc3 || !b.onShadow(ret) {
		ret++
		require.Less(t, ret, int(b.end))
	}
	const rsp = stRegs + 8*emu.RSP
	at := uint64(m.shadow.base) + m.cpu.Regs[emu.RSP] - 5
	for _, tt := range []struct {
		vector, at uint64
		pos        int
		mixed      bool
	}{
		{emu.VecGP, at, ret, true},
		{emu.VecPF, at, ret, false},     // its place is not there yet
		{emu.VecGP, at, ret - 1, false}, // another instruction's
		{emu.VecGP, 1 << 46, ret, false},
	} {
		m.set(stSigTrap, tt.vector)
		m.set(rsp, tt.at)
		require.Equal(t, tt.mixed, m.mixedReturn(b, tt.pos))
		if tt.mixed {
			tt.at += 8
		}
		require.Equal(t, tt.at, m.get(rsp))
	}
}
