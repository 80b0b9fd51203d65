//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// x87Codes are the instructions of x87Functions.
var x87Codes = [len(x87Functions)]string{"d9 fe", "d9 ff", "d9 fb", "d9 f2", "d9 f0", "d9 f3", "d9 f1", "d9 f9"}

// TestX87Functions compares what routines make of states of x87 with what Go's code does: any operands, full and empty
// registers, rounding, masks, flags. All else stays as it is.
func TestX87Functions(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	wide, err := emu.ModelByName("v4")
	require.NoError(t, err)
	for i, code := range x87Codes {
		t.Run(x87Functions[i].op.String(), func(t *testing.T) {
			cfg := emu.Config{}
			if i%3 == 1 {
				cfg.Model = wide
			}
			m := newMachineWith(t, cfg, fmt.Sprintf("39 c0 f9 %s 9c 41 5f 0f 05", code)) // cmp eax, eax; stc; …; pushfq; pop r15; syscall
			if i%3 == 2 || m.mmx {
				m.onLesserHost(false)
			}
			routine := uint64(0)
			for range 3000 {
				before := emu.NewCPU()
				anyX87(r, before.FP)
				for reg := range before.Regs {
					before.Regs[reg] = r.Uint64()
				}
				before.Regs[emu.RSP] = uint64(stackAt)
				var after [2]*emu.CPU
				for quick := range after {
					c := emu.NewCPU()
					c.Copy(before)
					m.cpu = c
					c.RIP = codeAt
					m.set(stX87Routines+8*i, routine*uint64(quick))
					m.set(stX87Rests, 0)
					stop := m.Run(c, emu.NoBudget)
					require.Equal(t, b2i(before.FP[emu.XOffFSW]&0x80 != 0), b2i(stop.Reason == emu.StopFault))
					after[quick] = c
				}
				require.Equal(t, x87State(after[0]), x87State(after[1]), "of %s", x87State(before))
				require.Equal(t, after[0].FP, after[1].FP)
				require.Equal(t, after[0].Regs, after[1].Regs)
				if routine == 0 {
					m.knowX87(x87Functions[i].op)
					routine = m.get(stX87Routines + 8*i)
				}
			}
			usual := emu.NewCPU()
			copy(usual.FP[emu.XOffST:], []byte{7: 0xb5, 8: 0xfb, 9: 0x3f})
			copy(usual.FP[emu.XOffST+16:], []byte{7: 0xb7, 8: 0xff, 9: 0x3f})
			usual.FP[emu.XOffFTW], usual.RIP, usual.Regs[emu.RSP], m.cpu = 0xc0, codeAt, uint64(stackAt), usual
			usual.FP[emu.XOffFSW+1] = 6 << 3
			m.set(stX87Rests, 0)
			m.run(emu.StopSyscall)
			require.NotZero(t, m.get(stX87Rests), "no routine was called")
		})
	}
}

// TestProfiledX87Functions takes samples of the thread that runs a guest, and collects garbage, while generated code is
// in Go's, with a stack that Go can follow.
func TestProfiledX87Functions(t *testing.T) {
	if pprof.StartCPUProfile(io.Discard) == nil { // else go test has begun one
		defer pprof.StopCPUProfile()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread, done := unix.Gettid(), make(chan bool)
	var others sync.WaitGroup
	until := func(do func()) {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					do()
				}
			}
		})
	}
	until(func() { _ = unix.Tgkill(unix.Getpid(), thread, unix.SIGPROF) })
	until(func() { _ = unix.Tgkill(unix.Getpid(), thread, unix.SIGURG) })
	until(runtime.GC)
	defer others.Wait()
	defer close(done)
	// fldl2e; fld1; fcos; fptan; fyl2x; fpatan; fstp st(0); dec rcx; jne; syscall
	m := newMachine(t, "d9 ea d9 e8 d9 ff d9 f2 d9 f1 d9 f3 dd d8 48 ff c9 75 ed 0f 05")
	if m.mmx {
		m.withoutMMX()
	}
	m.cpu.Regs[emu.RSP] = 1 << 63
	m.cpu.FP[emu.XOffFTW], m.cpu.FP[emu.XOffFSW] = 1, 0
	for range 30 {
		m.cpu.RIP, m.cpu.Regs[emu.RCX] = codeAt, 20_000
		m.run(emu.StopSyscall)
	}
	require.Zero(t, m.cpu.FP[emu.XOffFSW]&0x40, "a stack fault")
}

// anyX87 makes a state that is usual most often.
func anyX87(r *rand.Rand, x *emu.XState) {
	word := func(at int, v uint16) { binary.LittleEndian.PutUint16(x[at:], v) }
	for i := range 8 {
		se := uint16(16383 - 10 + r.IntN(15))
		switch r.IntN(20) {
		case 0:
			se = uint16(r.Uint32())
		case 1:
			se = []uint16{0, 1, 0x7ffe, 0x7fff}[r.IntN(4)]
		}
		mant := r.Uint64() >> (64 * r.IntN(2) * r.IntN(2)) << r.IntN(64)
		if r.IntN(10) > 0 {
			mant |= 1 << 63
		}
		binary.LittleEndian.PutUint64(x[emu.XOffST+16*i:], mant)
		word(emu.XOffST+16*i+8, se|uint16(r.IntN(2))<<15)
	}
	cw, sw, tags := uint16(0x37f), uint16(r.IntN(8))<<11, byte(r.Uint32())
	if r.IntN(8) == 0 {
		cw = uint16(r.Uint32())&0xf3f | 0x40
	}
	if r.IntN(2) == 0 {
		sw |= uint16(r.Uint32()) & 0x473f
	}
	if r.IntN(8) == 0 {
		sw |= 0x40
	}
	if sw&^cw&0x3f != 0 {
		sw |= 0x8080
	}
	if r.IntN(3) > 0 { // ST(0) and ST(1) are there, ST(7) is not
		top := int(sw >> 11 & 7)
		tags = tags&^(1<<((top+7)&7)) | 1<<top | 1<<((top+1)&7)
	}
	word(emu.XOffFCW, cw)
	word(emu.XOffFSW, sw)
	x[emu.XOffFTW] = tags
}

// x87State is x87's part of a state as text.
func x87State(c *emu.CPU) string {
	s := fmt.Sprintf("cw %x sw %x tags %x", c.FP[emu.XOffFCW:emu.XOffFCW+2], c.FP[emu.XOffFSW:emu.XOffFSW+2], c.FP[emu.XOffFTW])
	for i := range 8 {
		s += fmt.Sprintf(" %x", c.FP[emu.XOffST+16*i:emu.XOffST+16*i+10])
	}
	return s
}
