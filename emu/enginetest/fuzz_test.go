//go:build linux && amd64

package enginetest

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A fuzzSource gives the fuzzer's bytes as random numbers, and others that follow from them when they are used up.
type fuzzSource struct {
	data []byte
	rest *rand.PCG
}

func newFuzzSource(data []byte) *fuzzSource {
	h := fnv.New64a()
	h.Write(data)
	return &fuzzSource{data: data, rest: rand.NewPCG(h.Sum64(), 3)}
}

// Uint64 implements rand.Source.
func (s *fuzzSource) Uint64() uint64 {
	if len(s.data) < 8 {
		return s.rest.Uint64()
	}
	x := binary.LittleEndian.Uint64(s.data)
	s.data = s.data[8:]
	return x
}

// FuzzEngines compares code made from the fuzzer's bytes, in states made from them, with what the host does: runs
// of instructions, single ones of all forms, string instructions, branches, and what the bytes themselves are.
func FuzzEngines(f *testing.F) {
	for kind := range byte(5) {
		for seed := range uint64(4) {
			f.Add(binary.LittleEndian.AppendUint64([]byte{kind}, seed*0x9e3779b97f4a7c15))
		}
	}
	for _, code := range []string{
		"\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x48\x89\x07", // 14 bytes of prefixes and MOV
		"\xf3\x67\x66\xab", "\xf2\xf3\xa6", "\x64\x65\x8b\x03", "\x2e\x3e\xff\x34\x24", "\x67\x8d\x04\x8d\xff\xff\xff\xff",
	} {
		f.Add([]byte("\x04" + code))
	}
	images, ro := makeImages(newRand("images"))
	host := newNative(f, images, ro)
	var all []*comparison
	for _, u := range engines {
		c := comparisonWith(host)
		c.addEngine(newEmulated(f, u, u.model(f), images, ro))
		all = append(all, c)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		for _, c := range all {
			c.t, c.native.t, c.engines[0].t, c.engines[0].bad = t, t, t, map[string]int{}
			c.begin()
			c.fuzz(rand.New(newFuzzSource(data[1:])), data[0], data[1:])
			c.flush()
		}
	})
}

// begin adds a job in each world that does nothing, so that what earlier inputs left in memory changes nothing.
func (c *comparison) begin() {
	for w := range worlds {
		s := nativeState{RIP: c.batch.slot(w), Flags: emu.FlagR1 | emu.FlagIF, World: uint32(w)}
		s.FP.Reset()
		s.Regs[emu.RSP] = uint64(worlds[w]) + stackOff + 256
		c.batch.jobs = append(c.batch.jobs, s)
	}
}

// fuzz adds cases of one kind.
func (c *comparison) fuzz(r *rand.Rand, kind byte, data []byte) {
	u := c.engines[0].under
	supported := supportedFeatures(c.engines[0].model)
	all := templates()
	switch kind % 5 {
	case 0:
		list := sequenceTemplates(supported, u.fits)
		for range 4 {
			c.addSequence(r, list)
		}
	case 1:
		for range 8 {
			if t := pick(r, all); supported[t.inst.Feature] && skipped(&t.inst) == "" {
				e, inst, code := t.vary(r, func(to *shape) { *to = randomShape(r) })
				c.addEncoding(r, &e, &inst, code, 2)
			}
		}
	case 2:
		c.fuzzOf(r, func(i *x86.Inst) bool { return i.Op.IsString() && supported[i.Feature] && skipped(i) == "" }, func(e *encoding, inst *x86.Inst, code []byte) {
			c.addEncoding(r, e, inst, code, 4)
		})
	case 3:
		// Flags behind a RET that is no return may be lost (RATIONALE.md, "Returns"), and earlier inputs made calls.
		c.fuzzOf(r, func(i *x86.Inst) bool { return isBranch(i) && i.Flow != x86.FlowRet }, func(e *encoding, inst *x86.Inst, code []byte) { c.addBranch(r, e, inst, code) })
	case 4:
		var inst x86.Inst
		if x86.Decode(data[:min(len(data), x86.MaxLen)], &inst) != nil || !supported[inst.Feature] || skipped(&inst) != "" || isBranch(&inst) || inst.Op == x86.INT {
			return
		}
		e := encoding{}
		c.addEncoding(r, &e, &inst, append([]byte(nil), data[:inst.Len]...), 4)
	}
}

// fuzzOf calls add with instructions of which fits is true.
func (c *comparison) fuzzOf(r *rand.Rand, fits func(*x86.Inst) bool, add func(e *encoding, inst *x86.Inst, code []byte)) {
	var list []*template
	for k := range templates() {
		if t := &templates()[k]; fits(&t.inst) {
			list = append(list, t)
		}
	}
	for range 4 {
		e, inst, code := pick(r, list).vary(r, func(to *shape) { *to = randomShape(r) })
		add(&e, &inst, code)
	}
}
