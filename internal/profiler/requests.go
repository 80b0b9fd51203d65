package profiler

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/cgemu/cgemu/emu"
)

// Client requests that say what to count: of Cachegrind (cachegrind.h since Valgrind 3.22), of Callgrind
// (callgrind.h) and our own (include/cgemu.h).
const (
	cgStart = 'C'<<24 | 'G'<<16 + iota
	cgStop
)

const (
	ctDump = 'C'<<24 | 'T'<<16 + iota
	ctZero
	ctToggle
	ctDumpAt // a string's address
	ctStart
	ctStop
)

const (
	ceStart = 'C'<<24 | 'E'<<16 + iota
	ceStop
	ceZero
	ceDump
	ceDumpAt // a string's address, its length or 0 if a NUL ends it
	ceToggle
	ceRunning
)

// tool returns what tells the requests of one tool from those of others.
func tool(code uint64) uint64 { return code &^ 0xffff }

// maxReason is how much of the name that a program gives a dump is kept, in bytes.
const maxReason = 1024

// Request answers a client request about what is counted, and reports whether it is one. The
// request itself was counted already, if requests were counted when it was made.
func (p *Profiler) Request(code uint64, args [5]uint64) (result uint64, known bool) {
	if p.cfg.Compat && tool(code) == tool(ctDump) {
		return 0, false // Cachegrind does not know them
	}
	switch code {
	case cgStart:
		if p.instr {
			p.warn("CACHEGRIND_START_INSTRUMENTATION", "enabled")
		}
		p.instr = true
	case cgStop:
		if !p.instr {
			p.warn("CACHEGRIND_STOP_INSTRUMENTATION", "disabled")
		}
		p.instr = false
	case ctStart, ceStart:
		p.instr = true
	case ctStop, ceStop:
		p.instr = false
	case ctToggle, ceToggle:
		p.collecting = !p.collecting
	case ctZero, ceZero:
		p.zero()
	case ctDump, ceDump:
		p.dump("Client Request")
	case ctDumpAt:
		p.dump("Client Request: " + p.reason(args[0], 0))
	case ceDumpAt:
		p.dump("Client Request: " + p.reason(args[0], args[1]))
	case ceRunning:
		return 1, true
	default:
		if tool(code) == tool(cgStart) {
			fmt.Fprintf(p.cfg.Log, "==%d== Warning: unknown cachegrind client request code %x\n", p.pid, code)
		}
		return 0, false
	}
	return 0, true
}

// warn says, in Cachegrind's words, that a request changed nothing.
func (p *Profiler) warn(request, already string) {
	fmt.Fprintf(p.cfg.Log, "==%d== warning: %s called,\n==%[1]d==          but instrumentation is already %[3]s\n", p.pid, request, already)
}

// reason returns a string of the guest's in a form that fits into a line.
func (p *Profiler) reason(at, length uint64) string {
	n := uint64(maxReason)
	if length > 0 {
		n = min(length, n)
	}
	b := make([]byte, n)
	b = b[:p.space.Read(emu.Addr(at), b)]
	if length == 0 {
		b, _, _ = bytes.Cut(b, []byte{0})
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, string(b))
}

// zero forgets all costs so far.
func (p *Profiler) zero() {
	p.collect(0, ^emu.Addr(0))
	p.costs.take()
}

// dump hands the costs so far to whom wants them, and begins anew.
func (p *Profiler) dump(trigger string) {
	p.collect(0, ^emu.Addr(0))
	profile := p.costs.take()
	if p.cfg.OnDump != nil && !p.discard {
		for _, of := range append(profile.Threads, profile) {
			of.Desc = append(of.Desc, "Trigger: "+trigger)
		}
		p.cfg.OnDump(p.pid, profile)
	}
}
