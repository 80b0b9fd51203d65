//go:build linux && amd64

package jit

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// v3 is the one CPU that engines of a pool have.
var v3 = sync.OnceValue(func() *emu.Model {
	m, err := emu.ModelByName("v3")
	if err != nil {
		panic(err)
	}
	return m
})

// newPooled makes a machine whose engine is p's.
func newPooled(t *testing.T, p *Pool, cfg emu.Config, code string) *machine {
	t.Helper()
	m := newMachine(t, code)
	cfg.Model, cfg.Env = v3(), testEnv{}
	e, err := p.New(m.mem, cfg)
	require.NoError(t, err)
	m.mem.OnInvalidate(e.Invalidate)
	m.Engine = e.(*Engine)
	return m
}

// TestPool closes an engine: the next one is the same, has its code, and knows nothing else of its past.
func TestPool(t *testing.T) {
	var pool Pool
	defer pool.Close()
	start := func(code string) *machine { return newPooled(t, &pool, emu.Config{}, code) }
	// Whether the first block has to keep the flags depends on the page where it goes on.
	const (
		first = `
			b9 ff ff ff ff  # mov ecx, -1
			83 c1 01        # add ecx, 1
			e9 f3 0f 00 00  # jmp second`
		ignores = "31 c0 0f 05"    // second: xor eax, eax; syscall
		looks   = "0f 92 c0 0f 05" // second: setc al; syscall
		second  = codeAt + 0x1000
	)
	m := start(first)
	m.poke(second, ignores)
	m.run(emu.StopSyscall)
	e := m.Engine
	require.NoError(t, e.Close())

	m = start(first)
	require.True(t, e == m.Engine, "the same engine")
	require.Zero(t, e.Executed())
	require.Empty(t, m.counts())
	m.poke(second, looks)
	m.cpu.Regs[emu.RAX] = 0
	m.run(emu.StopSyscall)
	require.EqualValues(t, 1, m.cpu.Regs[emu.RAX], "the carry flag")
	require.EqualValues(t, 5, e.Executed())
	require.NoError(t, m.Close())

	m = start(first)
	require.True(t, e == m.Engine, "the same engine")
	m.poke(second, looks)
	at := e.pos
	m.run(emu.StopSyscall)
	require.Equal(t, at, e.pos, "nothing is translated")
	require.EqualValues(t, 5, e.Executed())
}

// TestPoolCalls closes engines that record calls: the next process has their code and none of their calls, and code
// anew where functions are others.
func TestPoolCalls(t *testing.T) {
	pool := Pool{made: 1} // its first engine would keep no code
	defer pool.Close()
	halves := func(a emu.Addr) emu.Function { return emu.Function{ID: a &^ 7, Lo: a &^ 7, Hi: a&^7 + 8} }
	run := func(m *machine) []string {
		m.poke(codeAt+0x10, "90 eb0d") // nop; jmp 20
		m.poke(codeAt+0x20, "90 eb05") // nop; jmp 28
		m.poke(codeAt+0x28, "90 c3")
		for range 2 {
			m.cpu.RIP, m.cpu.Regs[emu.RAX] = codeAt, uint64(codeAt+0x10)
			m.run(emu.StopSyscall)
		}
		return m.arcs()
	}
	const code = `
		e80b000000     # call 10
		ffd0           # call rax
		0f05           # syscall`
	var first *Engine
	for i, function := range []func(a emu.Addr) emu.Function{sixteen, sixteen, halves, halves, sixteen} {
		cfg := emu.Config{Function: function}
		m := newPooled(t, &pool, cfg, code)
		if i == 0 {
			first = m.Engine
		}
		require.True(t, first == m.Engine, "the same engine")
		at := m.pos
		require.ElementsMatch(t, run(newMachineWith(t, cfg, code)), run(m))
		require.EqualValues(t, 2*15, m.Executed())
		require.Equal(t, i == 0 || i == 2, m.pos > at, "what is known is not translated again: %d", i)
		require.NoError(t, m.Close())
	}
	m := newPooled(t, &pool, emu.Config{}, code)
	require.False(t, first == m.Engine, "an engine that records no calls")
	require.NoError(t, m.Close())
}

// TestPoolIndirectCalls closes engines that have made indirect calls: what the next process calls is looked up again.
func TestPoolIndirectCalls(t *testing.T) {
	pool := Pool{made: 1} // its first engine would keep no code
	defer pool.Close()
	cfg := emu.Config{Function: sixteen}
	for range 3 {
		m := newPooled(t, &pool, cfg, callsByTurns)
		require.ElementsMatch(t, runByTurns(newMachineWith(t, cfg, callsByTurns), codeAt+0x40, codeAt+0x60), runByTurns(m, codeAt+0x40, codeAt+0x60))
		require.NoError(t, m.Close())
	}
}

// TestPoolSimulating closes engines that simulate, with vectors and without: the next process has their code and finds
// caches and predictors empty.
func TestPoolSimulating(t *testing.T) {
	const code = `
		b9 00 10 00 00     # mov ecx, 4096
		48 8b 04 cf        # loop: mov rax, [rdi+rcx*8]
		48 89 04 cf        # mov [rdi+rcx*8], rax
		66 a9 01 10        # test ax, 0x1001
		74 01              # je over
		90                 # nop
		ff c9              # over: dec ecx
		75 ee              # jne loop
		e8 02 00 00 00     # call f
		0f 05              # syscall
		c3                 # f: ret`
	const table = dataAt + 0x100000
	for _, avx512 := range []bool{hostHasAVX512(), false} {
		var pool Pool
		defer pool.Close()
		run := func(m *machine) map[emu.Addr]map[emu.Event]uint64 {
			require.NoError(t, m.mem.Map(mem.VMA{Lo: table, Hi: table + 0x10000, Prot: mem.Read | mem.Write}, nil))
			for i := range emu.Addr(4096) {
				require.True(t, m.mem.WriteUint64(table+8*i, uint64(i*i*2654435761)))
			}
			m.cpu.Regs[emu.RDI] = uint64(table)
			m.run(emu.StopSyscall)
			return events(m)
		}
		cfg := simulating
		cfg.Model, cfg.Env = v3(), testEnv{}
		m := newMachine(t, code)
		e, err := newEngine(m.mem, cfg, avx512, pool.lowPlace)
		require.NoError(t, err)
		e.pool = &pool
		m.Engine = e
		want := run(m)
		require.NoError(t, m.Close())
		at := e.pos
		for range 3 {
			caches := *cfg.Caches // another process's
			cfg.Caches = &caches
			m := newPooled(t, &pool, cfg, code)
			require.True(t, e == m.Engine, "the same engine")
			require.Equal(t, want, run(m))
			require.Equal(t, at, e.pos, "nothing is translated")
			require.NoError(t, m.Close())
		}
	}
}

// TestNewEngineWithoutAddresses makes an engine when the host has no addresses left for it: another one gives its own
// up.
func TestNewEngineWithoutAddresses(t *testing.T) {
	var pool Pool
	defer pool.Close()
	first := newPooled(t, &pool, emu.Config{}, turns)
	defer first.Close()
	first.run(emu.StopSyscall)
	second := newMachine(t, turns)
	for size := uintptr(1 << 44); size >= 1<<38; size >>= 1 {
		for {
			p, err := rawMmap(0, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
			if err != nil {
				break
			}
			defer unix.Syscall(unix.SYS_MUNMAP, p, size, 0)
		}
	}
	e, err := pool.New(second.mem, emu.Config{Model: v3(), Env: testEnv{}})
	require.NoError(t, err)
	defer e.Close()
	second.Engine = e.(*Engine)
	for range 2 {
		second.run(emu.StopSyscall)
		first.run(emu.StopSyscall)
	}
}

// TestReleasedShadowStack has other memory where a shadow stack was: to forget what was there leaves that alone.
func TestReleasedShadowStack(t *testing.T) {
	var s shadow
	require.NoError(t, s.reserve(1<<40))
	at := s.base &^ (windowSize - 1)
	require.NoError(t, s.open(at))
	s.release()
	p, err := rawMmap(at, windowSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE, -1)
	require.NoError(t, err)
	defer unix.Syscall(unix.SYS_MUNMAP, p, windowSize, 0)
	s.put(p, 1)
	s.forget()
	b := []byte{0}
	_, err = unix.ProcessVMReadv(unix.Getpid(), []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: p, Len: 1}}, 0)
	require.NoError(t, err)
	require.Equal(t, []byte{1}, b)
}

// turns makes a system call in each of 20 calls, which go by a table.
const turns = `
	ba 14 00 00 00 # mov edx, 20
	e8 06 00 00 00 # loop: call f
	ff ca          # dec edx
	75 f7          # jne loop
	0f 0b          # ud2
	48 8d 05 03 00 00 00 # f: lea rax, [rip+3]
	ff e0          # jmp rax
	cc
	90             # it leads here
	0f 05          # syscall
	c3             # ret`

// simulating is what counts all there is.
var simulating = emu.Config{Caches: &cachesim.Default, Branches: true, Events: ^emu.EventSet(0)}

// TestMoreEnginesThanAwake has engines take turns that cannot all be awake, in the middle of calls: each goes on
// as if it were alone.
func TestMoreEnginesThanAwake(t *testing.T) {
	for name, cfg := range map[string]emu.Config{"Ir": {}, "simulating": simulating} {
		t.Run(name, func(t *testing.T) {
			var pool Pool
			defer pool.Close()
			alone := newMachineWith(t, cfg, turns)
			var many []*machine
			for range maxPlaces + maxAwake + 3 {
				m := newPooled(t, &pool, cfg, turns)
				defer m.Close()
				many = append(many, m)
			}
			for range 20 {
				alone.run(emu.StopSyscall)
				for i, m := range many {
					m.run(emu.StopSyscall)
					require.Equal(t, alone.cpu.Regs, m.cpu.Regs)
					if i%4 == 0 {
						m.SetCounting(emu.CountOff) // goes to another code cache while others are suspended
						m.SetCounting(emu.CountAll)
					}
				}
			}
			alone.run(emu.StopFault)
			want := events(alone)
			for _, m := range many {
				m.run(emu.StopFault)
				require.Equal(t, want, events(m))
				require.Equal(t, alone.Executed(), m.Executed())
			}
		})
	}
}

// TestLowPartsMove has engines take turns on one place below 2 GiB, where the host leaves nothing behind what moves,
// and where it cannot do that.
func TestLowPartsMove(t *testing.T) {
	for name, flags := range map[string]uintptr{"moved": unix.MREMAP_DONTUNMAP, "copied": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			was := leaveMapped
			leaveMapped = flags
			defer func() { leaveMapped = was }()
			size := 1 << 20
			p, err := newLowPlace(size, 0)
			require.NoError(t, err)
			var arenas [3]arena
			for i := range arenas {
				require.NoError(t, p.vacate())
				p.join(&arenas[i])
				require.Zero(t, *arenas[i].word(lowOff + 4096))
				*arenas[i].word(lowOff + 4096) = uint64(i + 1)
			}
			for i := range 20 {
				a := &arenas[i*2%3]
				if p.holder != a {
					require.NoError(t, p.vacate())
					require.NoError(t, p.enter(a))
				}
				require.Equal(t, p.at, uintptr(a.hostAddr(lowOff)))
				for j := range arenas {
					require.EqualValues(t, j+1, *arenas[j].word(lowOff + 4096), "wherever it is")
				}
			}
			for i := range arenas {
				p.leave(&arenas[i])
			}
			require.Zero(t, p.users)
		})
	}
}

// events returns what m has counted, by address and event.
func events(m *machine) map[emu.Addr]map[emu.Event]uint64 {
	all := map[emu.Addr]map[emu.Event]uint64{}
	m.Collect(0, ^emu.Addr(0), func(a emu.Addr, ev emu.Event, n uint64) {
		if all[a] == nil {
			all[a] = map[emu.Event]uint64{}
		}
		all[a][ev] += n
	})
	return all
}

// TestMemoryGrows moves the guest's memory in the middle of calls: the engine goes on as if it had not.
func TestMemoryGrows(t *testing.T) {
	for name, cfg := range map[string]emu.Config{"Ir": {}, "simulating": simulating} {
		t.Run(name, func(t *testing.T) {
			here, grows := newMachineWith(t, cfg, turns), newMachineWith(t, cfg, turns)
			for i := range 20 {
				here.run(emu.StopSyscall)
				grows.run(emu.StopSyscall)
				require.Equal(t, here.cpu.Regs, grows.cpu.Regs)
				if i == 3 || i == 7 {
					require.NoError(t, grows.mem.Grow(2*grows.mem.Limit()))
				}
			}
			// A stack far up has its place in the shadow stack, too.
			at := grows.mem.Limit() - 0x10000
			require.NoError(t, grows.mem.Map(mem.VMA{Lo: at, Hi: at + 0x10000, Prot: mem.Read | mem.Write}, nil))
			here.run(emu.StopFault)
			grows.run(emu.StopFault)
			require.Equal(t, events(here), events(grows))
			grows.cpu.RIP, grows.cpu.Regs[emu.RSP] = codeAt, uint64(at+0x10000)
			for range 20 {
				grows.run(emu.StopSyscall)
			}
			grows.run(emu.StopFault)
			require.Equal(t, 2*here.Executed(), grows.Executed())
		})
	}
}
