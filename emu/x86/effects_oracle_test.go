//go:build oracles

package x86

import (
	"fmt"
	"testing"
)

// unpredictable are Ops whose results differ from run to run.
var unpredictable = map[Op]bool{RDTSC: true, RDTSCP: true, RDRAND: true, RDSEED: true, RDPRU: true}

// A variant is a job and what it differs in from the base it belongs to.
type variant struct {
	base  int // index of the base's job; its own for a base
	reg   int // register changed, or -1
	flags Flags
}

// TestNativeEffects compares GPRRead, GPRWrite, FlagsRead and FlagsWrite with
// the host CPU: what is not written stays, what is not read has no influence.
func TestNativeEffects(t *testing.T) {
	h := newHost(t)
	var jobs []job
	var variants []variant
	executed := 0
	bad := map[string]int{}
	execute := func() {
		results := h.run(t, jobs)
		for i, v := range variants {
			var inst Inst
			if err := Decode(jobs[i].Code[:], &inst); err != nil {
				t.Fatal(err)
			}
			for _, kind := range effectErrors(&inst, v, &jobs[i], &results[i], &results[v.base]) {
				kind = inst.Op.String() + ": " + kind
				if bad[kind]++; bad[kind] == 1 {
					t.Errorf("%s: % x", kind, jobs[i].Code[:inst.Len])
				}
			}
		}
		executed += len(jobs)
		jobs, variants = jobs[:0], variants[:0]
	}
	for n, code := range effectSamples() {
		for seed := range uint64(4) {
			base := len(jobs)
			j := newJob(code, seed*977+uint64(n))
			if seed == 3 {
				j.Regs[RCX] = 0 // no shift, no iteration
			}
			jobs, variants = append(jobs, j), append(variants, variant{base, -1, 0})
			for r := range j.Regs {
				v := j
				v.Regs[r] = v.Regs[r]*0x9e3779b97f4a7c15 + 0x12345
				jobs, variants = append(jobs, v), append(variants, variant{base, r, 0})
			}
			for _, f := range []Flags{CF, PF, AF, ZF, SF, OF} {
				v := j
				v.Flags ^= uint64(f)
				jobs, variants = append(jobs, v), append(variants, variant{base, -1, f})
			}
		}
		if len(jobs) > batch {
			execute()
		}
	}
	execute()
	t.Logf("%d runs", executed)
}

// effectSamples picks a few encodings of each form from the enumerated ones.
func effectSamples() [][]byte {
	var samples [][]byte
	count := map[string]int{}
	add := func(code ...byte) {
		var inst Inst
		j := newJob(code, 0)
		if Decode(j.Code[:], &inst) != nil || !runnable(&inst) || !hostFeatures[inst.Feature] || unpredictable[inst.Op] {
			return
		}
		if m := &inst.Mem; inst.HasMem && (m.Base != RBX || m.Index != NoReg || m.Seg != SegNone || m.Disp > 256) {
			return
		}
		key := fmt.Sprint(inst.form, inst.OpSize, inst.HasMem, inst.Rep, inst.Repne, inst.Cond)
		if count[key]++; count[key] <= 4 {
			samples = append(samples, j.Code[:inst.Len])
		}
	}
	shifts := func(add func(...byte)) {
		for _, imm := range []byte{0, 1, 5, 8, 9, 16, 17, 31, 32, 33, 63, 64} {
			for reg := byte(0); reg < 8; reg++ {
				for _, op := range []byte{0xc0, 0xc1} {
					add(op, 0xc0|reg<<3, imm)
					add(0x66, op, 0xc0|reg<<3, imm)
					add(0x48, op, 0xc0|reg<<3, imm)
				}
			}
			for _, op := range []byte{0xa4, 0xac} {
				add(0x0f, op, 0xd0, imm)
				add(0x66, 0x0f, op, 0xd0, imm)
				add(0x48, 0x0f, op, 0xd0, imm)
			}
		}
	}
	limit := add
	shifts(func(code ...byte) { // all of them
		clear(count)
		limit(code...)
	})
	clear(count)
	enumerateLegacy(add, nil)
	enumerateLegacy(add, []byte{0x0f})
	enumerateLegacy(add, []byte{0x0f, 0x38})
	enumerateLegacy(add, []byte{0x0f, 0x3a})
	enumerateModRM(add)
	enumerateVEX(add)
	return samples
}

// effectErrors says what a run shows that inst does not.
func effectErrors(inst *Inst, v variant, j *job, got, base *result) []string {
	if got.Sig != sigTRAP || base.Sig != sigTRAP {
		return nil // a fault, or a pointer was changed
	}
	var errs []string
	for r := range got.Regs {
		bit := uint16(1) << r
		if inst.GPRWrite&bit == 0 && got.Regs[r] != j.Regs[r] {
			errs = append(errs, fmt.Sprintf("writes register %d", r))
		}
		if inst.GPRWrite&bit != 0 && got.Regs[r] != base.Regs[r] && influenceless(inst, v) {
			errs = append(errs, fmt.Sprintf("register %d depends on %s", r, v))
		}
	}
	for _, f := range []Flags{CF, PF, AF, ZF, SF, OF, DF} {
		in, out := Flags(j.Flags)&f, Flags(got.Flags)&f
		if inst.FlagsWrite&f == 0 && in != out {
			errs = append(errs, fmt.Sprintf("writes flag %#x", f))
		}
		if inst.FlagsWrite&f != 0 && out != Flags(base.Flags)&f && influenceless(inst, v) {
			errs = append(errs, fmt.Sprintf("flag %#x depends on %s", f, v))
		}
	}
	return errs
}

// influenceless reports whether v changes only what inst does not read.
func influenceless(inst *Inst, v variant) bool {
	if v.reg >= 0 {
		return inst.GPRRead>>v.reg&1 == 0
	}
	return inst.FlagsRead&v.flags == 0
}

func (v variant) String() string {
	if v.reg >= 0 {
		return fmt.Sprintf("register %d", v.reg)
	}
	return fmt.Sprintf("flag %#x", uint16(v.flags))
}
