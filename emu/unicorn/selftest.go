//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import "github.com/cgemu/cgemu/emu"

// Two loads from the page that holds them: mov (%rcx),%rax twice, and what is not executed.
var loads = [...]byte{0x48, 0x8b, 0x01, 0x48, 0x8b, 0x01, 0x90}

// testPage is where they are executed: beyond the guest's address space.
const testPage emu.Addr = 1 << 45

// testReads finds out whether the library reports loads to its hook. On arm64 hosts version 2.0.1 does not. It takes a
// quarter of a second: to drop translations is slow.
func (e *Engine) testReads() error {
	s := e.shared
	copy(s.code, loads[:])
	if err := call(e.lib.memMapPtr, e.uc, uintptr(testPage), pageSize, protRead|protExec, address(&s.code[0])); err != nil {
		return describe("testing the library", err)
	}
	c := emu.NewCPU()
	c.RIP, c.Regs[emu.RCX] = testPage, uint64(testPage)
	e.loadGeneral(c)
	s.ring, s.ringEnd = address(&s.words[0]), address(&s.words[ringWords-1])
	s.pass, s.thenPass, e.stepping = uint64(testPage), uint64(testPage)+3, true
	if err := e.start(testPage); err != nil {
		return describe("testing the library", err)
	}
	e.lib.blind = s.ring-address(&s.words[0]) != 2*8
	if err := e.unmap(region{lo: testPage, hi: testPage + pageSize}); err != nil {
		return err
	}
	return call(e.lib.ctl, e.uc, ctlFlush)
}
