//go:build linux && amd64

package enginetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/interp"
	"github.com/cgemu/cgemu/emu/jit"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// geometries are caches of one and of many sets, of ways that fill vectors and that do not, of short lines and long
// ones; the last one's LL has shorter lines than its L1.
var geometries = []cachesim.Config{
	cachesim.Default,
	{I1: geometry(32768, 8, 64), D1: geometry(49152, 12, 64), LL: geometry(196608, 12, 64)},
	{I1: geometry(16384, 4, 32), D1: geometry(16384, 16, 32), LL: geometry(65536, 16, 64)},
	{I1: geometry(1024, 1, 64), D1: geometry(1024, 1, 64), LL: geometry(16384, 2, 64)},
	{I1: geometry(4096, 64, 64), D1: geometry(4096, 64, 64), LL: geometry(65536, 32, 64)},
	{I1: geometry(2048, 2, 128), D1: geometry(2048, 2, 128), LL: geometry(32768, 8, 128)},
	{I1: geometry(24576, 6, 64), D1: geometry(24576, 6, 64), LL: geometry(98304, 12, 64)},
	{I1: geometry(2048, 16, 64), D1: geometry(2048, 16, 64), LL: geometry(8192, 8, 64)},
	{I1: geometry(1024, 16, 64), D1: geometry(1024, 16, 64), LL: geometry(1024, 16, 64)},
	{I1: geometry(65536, 4, 256), D1: geometry(65536, 4, 256), LL: geometry(262144, 16, 256)},
	{I1: geometry(4096, 8, 64), D1: geometry(4096, 8, 64), LL: geometry(65536, 8, 32)},
	// LL keeps the order of more than 16 ways, and the numbers of more than 254, in another way.
	{I1: geometry(4096, 8, 64), D1: geometry(4096, 8, 64), LL: geometry(69632, 17, 64)},
	{I1: geometry(4096, 8, 64), D1: geometry(4096, 8, 64), LL: geometry(130048, 254, 64)},
	{I1: geometry(4096, 8, 64), D1: geometry(4096, 8, 64), LL: geometry(130560, 255, 64)},
	{I1: geometry(4096, 8, 64), D1: geometry(4096, 8, 64), LL: geometry(65536, 1024, 64)},
}

func geometry(size, assoc, line int) cachesim.Geometry {
	return cachesim.Geometry{Size: size, Assoc: assoc, Line: line}
}

// wanders refers to random places of the 256 KiB at RDI, RCX times: places in one line and in two, near ones in a row,
// known ones, those of x87, gathers, masked moves and bit tests, and with flags that must stay. R10 is RDI.
var wanders = []byte{
	0x48, 0x69, 0xc0, 0x6d, 0x4e, 0xc6, 0x41, // imul rax,rax,0x41c64e6d
	0x48, 0x05, 0x39, 0x30, 0x00, 0x00, // add rax,0x3039
	0x89, 0xc2, // mov edx,eax
	0xc1, 0xea, 0x09, // shr edx,0x9
	0x81, 0xe2, 0xff, 0xff, 0x03, 0x00, // and edx,0x3ffff
	0x48, 0x8b, 0x34, 0x17, // mov rsi,QWORD PTR [rdi+rdx*1]
	0x8a, 0x5c, 0x17, 0x01, // mov bl,BYTE PTR [rdi+rdx*1+0x1]
	0x66, 0x89, 0x74, 0x17, 0x11, // mov WORD PTR [rdi+rdx*1+0x11],si
	0xc5, 0xfe, 0x6f, 0x44, 0x17, 0x40, // vmovdqu ymm0,YMMWORD PTR [rdi+rdx*1+0x40]
	0x81, 0xe2, 0xff, 0x3f, 0x00, 0x00, // and edx,0x3fff
	0x48, 0x8d, 0x14, 0x17, // lea rdx,[rdi+rdx*1]
	0x89, 0x02, // mov DWORD PTR [rdx],eax
	0xc5, 0xf8, 0x10, 0x4a, 0x30, // vmovups xmm1,XMMWORD PTR [rdx+0x30]
	0x39, 0xc8, // cmp eax,ecx
	0x53,                                     // push rbx
	0x5b,                                     // pop rbx
	0x48, 0x8b, 0x35, 0x00, 0x20, 0x00, 0x00, // mov rsi,QWORD PTR [rip+0x2000]
	0x48, 0x8b, 0x35, 0x38, 0x20, 0x00, 0x00, // mov rsi,QWORD PTR [rip+0x2038]
	0x72, 0x03, // jb 53 <on>
	0xff, 0x4a, 0x78, // dec DWORD PTR [rdx+0x78]
	0x80, 0x02, 0x01, // add BYTE PTR [rdx],0x1
	0xdd, 0x42, 0x3c, // fld QWORD PTR [rdx+0x3c]
	0xdc, 0x42, 0x05, // fadd QWORD PTR [rdx+0x5]
	0xdb, 0x42, 0x3e, // fild DWORD PTR [rdx+0x3e]
	0xde, 0xc1, // faddp st(1),st
	0xdd, 0x5a, 0x79, // fstp QWORD PTR [rdx+0x79]
	0xc5, 0xf9, 0x6e, 0xd8, // vmovd xmm3,eax
	0xc4, 0xe2, 0x7d, 0x58, 0xdb, // vpbroadcastd ymm3,xmm3
	0xc4, 0xe2, 0x65, 0x40, 0x1d, 0x40, 0x20, // vpmulld ymm3,ymm3,YMMWORD PTR [rip+0x2040]
	0x00, 0x00,
	0xc5, 0xe5, 0x72, 0xd3, 0x0e, // vpsrld ymm3,ymm3,0xe
	0xc5, 0xdd, 0x72, 0xf3, 0x11, // vpslld ymm4,ymm3,0x11
	0x39, 0xc8, // cmp eax,ecx
	0xc4, 0xe2, 0x5d, 0x90, 0x2c, 0x1f, // vpgatherdd ymm5,DWORD PTR [rdi+ymm3*1],ymm4
	0x48, 0x83, 0xd3, 0x00, // adc rbx,0x0
	0xc4, 0xe2, 0x7d, 0x25, 0xf3, // vpmovsxdq ymm6,xmm3
	0xc5, 0xdd, 0x76, 0xe4, // vpcmpeqd ymm4,ymm4,ymm4
	0xc4, 0xe2, 0xdd, 0x93, 0x7c, 0x37, 0x08, // vgatherqpd ymm7,QWORD PTR [rdi+ymm6*1+0x8],ymm4
	0xc5, 0xdd, 0x76, 0xe4, // vpcmpeqd ymm4,ymm4,ymm4
	0xc4, 0x42, 0xdd, 0x90, 0x44, 0x1a, 0x40, // vpgatherdq ymm8,QWORD PTR [r10+xmm3*1+0x40],ymm4
	0xc5, 0xdd, 0x72, 0xf3, 0x11, // vpslld ymm4,ymm3,0x11
	0x39, 0xc8, // cmp eax,ecx
	0xc4, 0x62, 0x5d, 0x8c, 0x4a, 0x04, // vpmaskmovd ymm9,ymm4,YMMWORD PTR [rdx+0x4]
	0xc4, 0xe2, 0x59, 0x2f, 0x5a, 0x38, // vmaskmovpd XMMWORD PTR [rdx+0x38],xmm4,xmm3
	0xc4, 0xc2, 0xdd, 0x8e, 0x9a, 0x08, 0x20, 0x00, 0x00, // vpmaskmovq YMMWORD PTR [r10+0x2008],ymm4,ymm3
	0xc4, 0x42, 0x59, 0x2c, 0x0c, 0x8a, // vmaskmovps xmm9,xmm4,XMMWORD PTR [r10+rcx*4]
	0x48, 0x83, 0xd3, 0x00, // adc rbx,0x0
	0x50,             // push rax
	0x53,             // push rbx
	0x48, 0x89, 0xd3, // mov rbx,rdx
	0xd7,       // xlat BYTE PTR ds:[rbx]
	0x5b,       // pop rbx
	0x58,       // pop rax
	0x89, 0xc6, // mov esi,eax
	0xc1, 0xee, 0x0c, // shr esi,0xc
	0x39, 0xc8, // cmp eax,ecx
	0x49, 0x0f, 0xab, 0x72, 0x08, // bts QWORD PTR [r10+0x8],rsi
	0x66, 0x0f, 0xa3, 0xb7, 0x00, 0x20, 0x00, 0x00, // bt WORD PTR [rdi+0x2000],si
	0x41, 0x0f, 0xbb, 0xb2, 0x00, 0x00, 0x02, 0x00, // btc DWORD PTR [r10+0x20000],esi
	0x48, 0x83, 0xd3, 0x00, // adc rbx,0x0
	0xff, 0xc9, // dec ecx
	0x0f, 0x85, 0x03, 0xff, 0xff, 0xff, // jne 0 <loop>
	0xcc, // int3
}

// A simulated is an engine that simulates caches, and memory for its code.
type simulated struct {
	space  *mem.Space
	engine emu.Engine
	cpu    *emu.CPU
}

// Where the memory of a simulated lies: code, what it reads, what it writes, and the end of its stack.
const (
	simulatedCode  = 0x10000
	simulatedTable = simulatedCode + 0x2000
	simulatedData  = 0x100000
	simulatedStack = 0x800000
)

// An engineMaker makes an engine.
type engineMaker func(*mem.Space, emu.Config) (emu.Engine, error)

// engineMakers make those that simulate; the first one is the reference.
var engineMakers = []engineMaker{
	func(m *mem.Space, c emu.Config) (emu.Engine, error) { return jit.New(m, c) },
	func(m *mem.Space, c emu.Config) (emu.Engine, error) { return jit.NewWithoutAVX512(m, c) },
	func(m *mem.Space, c emu.Config) (emu.Engine, error) { return interp.New(m, c) },
}

// makersOfV1 make those, and engines that have no more than the instructions of x86-64-v1.
var makersOfV1 = slices.Clone(engineMakers)

// newSimulated returns one with code, and RDI and R10 at the data.
func newSimulated(t *testing.T, make engineMaker, caches *cachesim.Config, code []byte) *simulated {
	space, err := mem.New()
	require.NoError(t, err)
	t.Cleanup(func() { space.Close() })
	e, err := make(space, emu.Config{Model: leanModel(t), Caches: caches, Branches: true, Events: ^emu.EventSet(0)})
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	space.OnInvalidate(e.Invalidate)
	for _, v := range []mem.VMA{
		{Lo: simulatedCode, Hi: simulatedCode + 0x1000, Prot: mem.Read | mem.Exec}, {Lo: simulatedTable, Hi: simulatedTable + 0x2000, Prot: mem.Read},
		{Lo: simulatedData, Hi: simulatedData + 0x41000, Prot: mem.Read | mem.Write}, {Lo: simulatedStack - 0x1000, Hi: simulatedStack, Prot: mem.Read | mem.Write},
	} {
		require.NoError(t, space.Map(v, nil))
	}
	require.Equal(t, len(code), space.Poke(simulatedCode, code))
	c := emu.NewCPU()
	c.RIP, c.Regs[emu.RDI], c.Regs[emu.R10], c.Regs[emu.RSP] = simulatedCode, simulatedData, simulatedData, simulatedStack
	return &simulated{space, e, c}
}

// counts returns what was counted since the last time, by address and event, and what registers have in the end.
func (s *simulated) counts() map[string]uint64 {
	n := map[string]uint64{"rbx": s.cpu.Regs[emu.RBX], "flags": s.cpu.Flags & uint64(x86.StatusFlags)}
	for i, b := range s.cpu.FP[emu.XOffXMM:emu.XOffHeader] {
		n["vectors"] = n["vectors"]*31 + uint64(b)<<(i%3)
	}
	s.engine.Collect(0, ^emu.Addr(0), func(a emu.Addr, ev emu.Event, k uint64) { n[fmt.Sprintf("%x %v", uint64(a), ev)] += k })
	return n
}

// TestGeometries has the engines miss the same in caches of all kinds.
func TestGeometries(t *testing.T) {
	for i := range geometries {
		t.Run(fmt.Sprintf("%v", geometries[i]), func(t *testing.T) {
			var want map[string]uint64
			for k, make := range engineMakers {
				s := newSimulated(t, make, &geometries[i], wanders)
				s.space.Poke(simulatedTable, bytes.Repeat([]byte{0x0d, 0x66, 0x19, 0x5b, 0x95, 0x2e, 0x3c, 0x6f, 0x6d}, 0x380))
				s.cpu.Regs[emu.RCX] = 20_000
				stop := s.engine.Run(s.cpu, emu.NoBudget)
				require.Equal(t, &emu.Fault{Vector: emu.VecBP}, stop.Fault)
				got := s.counts()
				if k == 0 {
					want = got
					require.Greater(t, len(want), 40)
				}
				require.Equal(t, want, got, "engine %d", k)
			}
		})
	}
}

// TestGatherFaults has an element of a gather fault, or none but one that is masked off: what lies in front of it
// counts, and what is in the caches stays the same.
func TestGatherFaults(t *testing.T) {
	code := []byte{
		0xc5, 0xfe, 0x6f, 0x1d, 0xf8, 0x1f, 0x00, 0x00, // vmovdqu ymm3, [simulatedTable]
		0xc5, 0xfe, 0x6f, 0x25, 0x10, 0x20, 0x00, 0x00, // vmovdqu ymm4, [simulatedTable+32]
		0x39, 0xc8, // cmp eax, ecx
		0xc4, 0xe2, 0x5d, 0x90, 0x2c, 0x1f, // vpgatherdd ymm5, [rdi+ymm3], ymm4
		0x48, 0x83, 0xd3, 0x00, // adc rbx, 0
		0xcc, // int3
	}
	for bad := range 8 {
		for _, masked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%v", bad, masked), func(t *testing.T) {
				var want map[string]uint64
				for k, make := range engineMakers {
					s := newSimulated(t, make, &geometries[3], code)
					index, mask := [8]uint32{0, 64, 1024, 4096, 0, 8192, 3000, 2048}, [8]uint32{}
					for n := range mask {
						mask[n] = 1 << 31
					}
					index[bad] = 0x50000000
					if masked {
						mask[bad] = 0
					}
					table, err := binary.Append(nil, binary.LittleEndian, [2][8]uint32{index, mask})
					require.NoError(t, err)
					s.space.Poke(simulatedTable, table)
					s.cpu.Regs[emu.RCX] = 1
					for range 3 {
						s.cpu.RIP = simulatedCode
						stop := s.engine.Run(s.cpu, emu.NoBudget)
						if masked {
							require.EqualValues(t, emu.VecBP, stop.Fault.Vector)
						} else {
							require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: simulatedData + 0x50000000}, stop.Fault)
						}
					}
					got := s.counts()
					if k == 0 {
						want = got
					}
					require.Equal(t, want, got, "engine %d", k)
				}
			})
		}
	}
}

// TestLockedFaults has a locked instruction, which counts a read, a modification and a branch that is never taken, meet
// memory that it may not access, or code that is translated.
func TestLockedFaults(t *testing.T) {
	jumps := bytes.Repeat([]byte{0x75, 0}, 8) // jne to the next instruction, taken
	code := slices.Concat([]byte{
		0xf0, 0x48, 0x83, 0x07, 0x01, // 0: lock add qword [rdi], 1
		0xcc, // int3
	}, make([]byte, 0x70-6), jumps, []byte{ // 70: the history is all taken
		0x75, 0, // 80: jne, whose counters are those of the instruction at 0
		0xff, 0xc9, // dec ecx
		0x75, 0xea, // jne 70
		0x48, 0x85, 0xe4, // test rsp, rsp
	}, jumps, []byte{0xe9, 0x62, 0xff, 0xff, 0xff}) // jmp 0
	for name, at := range map[string]emu.Addr{
		"data": simulatedData, "nothing": simulatedData - 0x1000, "read only": simulatedTable + 0x100, "two lines": simulatedData + 0x3c, "behind the end": simulatedData + 0x41000 - 4,
		"code": simulatedCode + 0x800, "own line": simulatedCode + 0x18, "no address": 1 << 60,
	} {
		t.Run(name, func(t *testing.T) {
			var want map[string]uint64
			for k, make := range makersOfV1 {
				s := newSimulated(t, make, &geometries[3], code)
				require.NoError(t, s.space.Protect(simulatedCode, simulatedCode+0x1000, mem.Read|mem.Write|mem.Exec))
				faults := map[string]uint64{}
				for range 3 {
					s.cpu.RIP, s.cpu.Regs[emu.RDI], s.cpu.Regs[emu.RCX] = simulatedCode+0x70, uint64(at), 3
					s.cpu.Flags &^= emu.FlagZF
					stop := s.engine.Run(s.cpu, emu.NoBudget)
					faults[fmt.Sprintf("%+v", stop.Fault)]++
				}
				got := s.counts()
				delete(got, "flags") // at a fault jit need not have those that the instruction overwrites
				maps.Copy(got, faults)
				if k == 0 {
					want = got
					require.Contains(t, want, fmt.Sprintf("%x %v", simulatedCode, emu.Ir))
				}
				require.Equal(t, want, got, "engine %d", k)
			}
		})
	}
}

// TestMaskedMoveFaults has a masked move meet memory that it may not access, or code that is translated: what its
// elements count is what happened of it.
func TestMaskedMoveFaults(t *testing.T) {
	load, store := []byte{0xc4, 0xe2, 0x5d, 0x8c, 0x2f}, []byte{0xc4, 0xe2, 0x5d, 0x8e, 0x1f} // vpmaskmovd ymm5, ymm4, [rdi]; vpmaskmovd [rdi], ymm4, ymm3
	for name, at := range map[string]emu.Addr{
		"data": simulatedData + 0x20, "two lines of LL": simulatedData + 0x10, "two lines": simulatedData + 0x30, "two pages": simulatedData + 0xff0, "behind the end": simulatedData + 0x41000 - 16,
		"nothing": simulatedData - 0x1000, "read only": simulatedTable + 0x100, "read only, two lines": simulatedTable + 0x130, "code": simulatedCode + 0x800, "own line": simulatedCode + 0x20,
	} {
		for _, insn := range [][]byte{load, store} {
			for k := range 10 {
				mask, config := []byte{0, 1, 0x80, 0x96, 0xff}[k/2], &geometries[3]
				if k%2 != 0 {
					config = &geometries[len(geometries)-1]
				}
				t.Run(fmt.Sprintf("%s/%x/%x/%v", name, insn[3], mask, config.LL), func(t *testing.T) {
					code := slices.Concat([]byte{
						0xc5, 0xfe, 0x6f, 0x1d, 0xf8, 0x1f, 0x00, 0x00, // vmovdqu ymm3, [simulatedTable]
						0xc5, 0xfe, 0x6f, 0x25, 0x10, 0x20, 0x00, 0x00, // vmovdqu ymm4, [simulatedTable+32]
						0x39, 0xc8, // cmp eax, ecx
					}, insn, []byte{
						0x48, 0x83, 0xd3, 0x00, // adc rbx, 0
						0xcc, // int3
					})
					var selected [8]uint32
					for n := range selected {
						selected[n] = uint32(mask) >> n << 31
					}
					table, err := binary.Append(bytes.Repeat([]byte{0xcc}, 32), binary.LittleEndian, selected)
					require.NoError(t, err)
					var want map[string]uint64
					for k, make := range engineMakers {
						s := newSimulated(t, make, config, code)
						s.space.Poke(simulatedTable, table)
						require.NoError(t, s.space.Protect(simulatedCode, simulatedCode+0x1000, mem.Read|mem.Write|mem.Exec))
						s.cpu.Regs[emu.RDI], s.cpu.Regs[emu.RCX] = uint64(at), 1
						faults := map[string]uint64{}
						for range 3 {
							s.cpu.RIP = simulatedCode
							stop := s.engine.Run(s.cpu, emu.NoBudget)
							faults[fmt.Sprintf("%+v", stop.Fault)]++
						}
						got := s.counts()
						maps.Copy(got, faults)
						if k == 0 {
							want = got
						}
						require.Equal(t, want, got, "engine %d", k)
					}
				})
			}
		}
	}
}

// TestBudgetEndsBeforeFetches has a budget end at calls and indirect jumps, each the first one of its line, and another
// thread evict those lines in between: what was not executed was not fetched either.
func TestBudgetEndsBeforeFetches(t *testing.T) {
	code := bytes.Repeat([]byte{0x90}, 0x1000)
	at := func(a int, b ...byte) { copy(code[a:], b) }
	at(0x00, 0xeb, 0x3e)                          // jmp 40
	at(0x40, 0xe8, 0xfb, 0x01, 0x00, 0x00)        // call 240
	at(0x45, 0xeb, 0x39)                          // jmp 80
	at(0x80, 0xff, 0xd0)                          // call rax: 240
	at(0x82, 0xeb, 0x3c)                          // jmp c0
	at(0xc0, 0xff, 0xe3)                          // jmp rbx: 100
	at(0x100, 0xff, 0x14, 0x24)                   // call [rsp]: 240
	at(0x103, 0xff, 0xc9, 0x0f, 0x85, 0, 0, 0, 0) // dec ecx; jne 40
	at(0x107, 0x35, 0xff, 0xff, 0xff)
	at(0x10b, 0xcc) // int3
	at(0x240, 0xc3) // ret
	for a := 0x440; a < 0x500; a += 0x40 {
		at(a, 0xeb, 0x3e) // jmp to the next line
	}
	at(0x500, 0xcc) // int3
	for budget := uint64(1); budget < 24; budget++ {
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			var want map[string]uint64
			for k, make := range makersOfV1 {
				s := newSimulated(t, make, &geometries[3], code)
				s.cpu.Regs[emu.RCX], s.cpu.Regs[emu.RAX], s.cpu.Regs[emu.RBX] = 10, simulatedCode+0x240, simulatedCode+0x100
				s.cpu.Regs[emu.RSP] -= 8
				s.space.Poke(simulatedStack-8, []byte{0x40, 0x02, 0x01, 0, 0, 0, 0, 0})
				other := emu.NewCPU()
				stops := uint64(0)
				for {
					stop := s.engine.Run(s.cpu, budget)
					if stop.Reason != emu.StopBudget {
						require.Equal(t, &emu.Fault{Vector: emu.VecBP}, stop.Fault)
						break
					}
					stops++
					require.Less(t, stops, uint64(1000))
					other.RIP = simulatedCode + 0x440
					require.Equal(t, &emu.Fault{Vector: emu.VecBP}, s.engine.Run(other, emu.NoBudget).Fault)
				}
				got := s.counts()
				got["stops"] = stops
				if k == 0 {
					want = got
				}
				require.Equal(t, want, got, "engine %d", k)
			}
		})
	}
}
