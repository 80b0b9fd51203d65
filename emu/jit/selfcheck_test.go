//go:build linux && amd64

package jit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// storesBeside calls the function at RDI and stores beside it, RCX times.
const storesBeside = `
	48 89 8f 00 08 00 00 # loop: mov [rdi+0x800], rcx
	ff d7                # call rdi
	48 ff c9             # dec rcx
	75 f2                # jnz loop
	0f 05                # syscall`

const writtenPage = emu.Addr(0x600000)

// newWriter makes a machine that runs code, which finds function on a page that it may write to.
func newWriter(t *testing.T, make func(*testing.T, string) *machine, code, function string) *machine {
	m := make(t, code)
	require.NoError(t, m.mem.Map(mem.VMA{Lo: writtenPage, Hi: writtenPage + emu.PageSize, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	m.poke(writtenPage, function)
	m.cpu.Regs[emu.RDI] = uint64(writtenPage)
	return m
}

// turn runs it from its beginning on.
func (m *machine) turn(n uint64) {
	m.cpu.RIP, m.cpu.Regs[emu.RCX] = codeAt, n
	m.run(emu.StopSyscall)
}

// TestStoresBesideCode stores to a page of code that stays what it is, such as that of a trampoline on the stack: few
// of the stores are seen. When there are none for long the page is guarded again, for longer each time.
func TestStoresBesideCode(t *testing.T) {
	for name, cfg := range map[string]func(*testing.T, string) *machine{"Ir": newMachine, "simulating": newSimulator} {
		t.Run(name, func(t *testing.T) {
			m := newWriter(t, cfg, storesBeside, "48 ff c0 c3") // inc rax; ret
			m.turn(1000)
			require.Less(t, len(m.all), 40)
			require.True(t, m.mem.Exempt(writtenPage))
			require.EqualValues(t, 1000, m.cpu.Regs[emu.RAX])
			m.turn(1000)
			require.Less(t, len(m.all), 40)
			m.poke(codeAt, "0f 1f 80 00 00 00 00") // nop in the store's place
			m.turn(20_000)
			require.False(t, m.mem.Exempt(writtenPage))
			require.True(t, m.mem.Guarded(writtenPage))
			m.poke(codeAt, storesBeside)
			m.turn(30_000)
			require.True(t, m.mem.Exempt(writtenPage), "it has to be quiet for longer now")
			require.EqualValues(t, 2000+50_000, m.counts()[writtenPage])
			require.EqualValues(t, 2000+50_000, m.cpu.Regs[emu.RAX])
		})
	}
}

// TestQuietPages has two exempt pages, whose entries one word counts, guarded again.
func TestQuietPages(t *testing.T) {
	const other = writtenPage + quietWords*emu.PageSize
	m := newWriter(t, newMachine, storesBeside, "c3")
	require.NoError(t, m.mem.Map(mem.VMA{Lo: other, Hi: other + emu.PageSize, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	m.poke(other, "c3")
	m.turn(100)
	m.cpu.Regs[emu.RDI] = uint64(other)
	m.turn(100)
	require.True(t, m.mem.Exempt(writtenPage))
	require.True(t, m.mem.Exempt(other))
	m.poke(codeAt, "0f 1f 80 00 00 00 00") // nop in the store's place
	for _, p := range []emu.Addr{writtenPage, other} {
		m.cpu.Regs[emu.RDI] = uint64(p)
		m.turn(20_000)
		require.False(t, m.mem.Exempt(p))
	}
	require.False(t, m.mem.AnyExempt())
}

// TestMappingOfExemptPage changes the mapping of code that checks itself: it is not found to be what it was.
func TestMappingOfExemptPage(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*mem.Space) error
		fault  emu.Fault
	}{
		"not executable": {func(m *mem.Space) error { return m.Protect(writtenPage, writtenPage+emu.PageSize, mem.Read|mem.Write) }, emu.Fault{Vector: emu.VecPF, Addr: writtenPage, Exec: true}},
		"gone":           {func(m *mem.Space) error { return m.Unmap(writtenPage, writtenPage+emu.PageSize) }, emu.Fault{Vector: emu.VecPF, Addr: writtenPage, Exec: true}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newWriter(t, newMachine, storesBeside, "c3")
			m.turn(100)
			require.True(t, m.mem.Exempt(writtenPage))
			require.NoError(t, tt.change(m.mem))
			m.poke(codeAt, "0f 1f 80 00 00 00 00") // nop in the store's place
			m.cpu.RIP, m.cpu.Regs[emu.RCX] = codeAt, 1
			stop := m.run(emu.StopFault)
			require.Equal(t, tt.fault, *stop.Fault)
			require.Equal(t, writtenPage, m.cpu.RIP)
			require.False(t, m.mem.Exempt(writtenPage))
		})
	}
}

// TestFlagsAtExemptTarget has code on an exempt page that needs flags which it did not need when the jump to it was
// translated.
func TestFlagsAtExemptTarget(t *testing.T) {
	m := newWriter(t, newSimulator, `
		40 88 77 05          # loop: mov [rdi+5], sil
		ff d7                # call rdi
		48 ff c9             # dec rcx
		75 f5                # jnz loop
		0f 05                # syscall`, `
		f9                   # stc
		72 01                # jc over it
		90                   # nop
		48 01 c2             # add rdx, rax
		c3                   # ret`)
	const add, adc = 0x01, 0x11
	m.cpu.Regs[emu.RSI] = add
	m.turn(100)
	require.True(t, m.mem.Exempt(writtenPage))
	require.Zero(t, m.cpu.Regs[emu.RDX])
	m.cpu.Regs[emu.RSI] = adc
	m.turn(10)
	require.EqualValues(t, 10, m.cpu.Regs[emu.RDX])
}

// TestReferenceBehindItsChange has an instruction changed by the one in front of it: what it would have referred to is
// not simulated.
func TestReferenceBehindItsChange(t *testing.T) {
	m := newWriter(t, newSimulator, `
		40 88 77 37          # loop: mov [rdi+0x37], sil
		48 8d 47 30          # lea rax, [rdi+0x30]
		ff d0                # call rax
		48 ff c9             # dec rcx
		75 f1                # jnz loop
		0f 05                # syscall`, "")
	m.poke(writtenPage+0x30, `
		c6 05 00 00 00 00 8d # mov byte [there], the opcode of lea
		8d 05 07 00 00 00    # there: lea eax, [rip+7], which is in the next line, or mov
		c3                   # ret`)
	const lea, mov = 0x8d, 0x8b
	m.cpu.Regs[emu.RSI] = mov // to be changed where stores are seen
	m.turn(1)
	m.cpu.Regs[emu.RSI] = lea
	m.turn(100)
	require.True(t, m.mem.Exempt(writtenPage))
	m.cpu.Regs[emu.RSI] = mov
	m.turn(10)
	counts := map[emu.Event]uint64{}
	m.Collect(writtenPage+0x37, writtenPage+0x38, func(_ emu.Addr, ev emu.Event, n uint64) { counts[ev] += n })
	require.EqualValues(t, 111, counts[emu.Ir])
	require.Zero(t, counts[emu.Dr])
	require.Zero(t, counts[emu.D1mr])
}

// TestFlagsBehindStore has an instruction changed by the one in front of it into one that needs flags: where stores are
// seen, and where they are not.
func TestFlagsBehindStore(t *testing.T) {
	for name, cfg := range map[string]func(*testing.T, string) *machine{"Ir": newMachine, "simulating": newSimulator} {
		t.Run(name, func(t *testing.T) {
			m := newWriter(t, cfg, `
		ff d7                # loop: call rdi
		48 ff c9             # dec rcx
		75 f9                # jnz loop
		0f 05                # syscall`, `
		f9                   # stc
		40 88 35 01 00 00 00 # mov [the opcode], sil
		48 01 c2             # add rdx, rax
		c3                   # ret`)
			const add, adc = 0x01, 0x11
			m.cpu.Regs[emu.RSI] = adc
			m.turn(1)
			require.EqualValues(t, 1, m.cpu.Regs[emu.RDX])
			m.cpu.Regs[emu.RSI] = add
			m.turn(100)
			require.True(t, m.mem.Exempt(writtenPage))
			require.EqualValues(t, 1, m.cpu.Regs[emu.RDX])
			m.cpu.Regs[emu.RSI] = adc
			m.turn(10)
			require.EqualValues(t, 11, m.cpu.Regs[emu.RDX])
		})
	}
}

// TestManyStoresOnExemptPage has as many stores in a run as there can be.
func TestManyStoresOnExemptPage(t *testing.T) {
	for name, cfg := range map[string]func(*testing.T, string) *machine{"Ir": newMachine, "simulating": newSimulator} {
		t.Run(name, func(t *testing.T) {
			const stores = maxBlock
			store := "48 c7 87 00 08 00 00 01 00 00 00\n" // mov qword [rdi+0x800], 1
			m := newWriter(t, cfg, storesBeside, strings.Repeat(store, stores)+"c3")
			m.turn(100)
			require.True(t, m.mem.Exempt(writtenPage))
			require.EqualValues(t, 100, m.counts()[writtenPage+11*(stores-1)])
		})
	}
}

// TestIgnoredPrefixChecked executes TZCNT on a CPU that takes it for BSF, where code checks itself: it is compared as
// it is in memory.
func TestIgnoredPrefixChecked(t *testing.T) {
	model, err := emu.ModelByName("v1")
	require.NoError(t, err)
	v1 := func(t *testing.T, code string) *machine { return newMachineWith(t, emu.Config{Model: model}, code) }
	m := newWriter(t, v1, storesBeside, "f3 0f bc c1 c3") // tzcnt eax, ecx; ret
	m.turn(1000)
	require.True(t, m.mem.Exempt(writtenPage))
	require.EqualValues(t, 0, m.cpu.Regs[emu.RAX])
}
