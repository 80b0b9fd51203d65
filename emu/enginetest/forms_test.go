//go:build linux && amd64

package enginetest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// formLines returns the lines of insns.txt that describe forms, in the order of Inst.Form.
func formLines(t *testing.T) []string {
	text, err := os.ReadFile("../x86/insns.txt")
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	require.Len(t, lines, x86.NumForms())
	return lines
}

// A comparison runs batches natively and under all engines.
type comparison struct {
	t                      *testing.T
	native                 *native
	emulated               *emulated
	batch                  *batch
	cases                  []*testCase
	want, got              []outcome
	jobs, batches, strayed int
	tolerated              int            // not compared for known differences
	ends                   map[uint8]int  // native outcomes by vector
	bad                    map[string]int // differences by engine and mnemonic
	tried                  map[int]bool   // forms
	succeeded              map[int]bool   // forms that ran without a fault
	reported               int
}

func newComparison(t *testing.T, u engineUnderTest, model *emu.Model) *comparison {
	images, ro := makeImages(newRand("images"))
	return &comparison{
		t: t, emulated: newEmulated(t, u, model, images, ro), native: newNative(t, images, ro), batch: newBatch(), want: make([]outcome, maxJobs), got: make([]outcome, maxJobs),
		ends: map[uint8]int{}, bad: map[string]int{}, tried: map[int]bool{}, succeeded: map[int]bool{},
	}
}

// add adds a case and runs the batch if it is full.
func (c *comparison) add(r *rand.Rand, inst *x86.Inst, code []byte, states int) {
	if c.batch.full(states) {
		c.flush()
	}
	c.cases = append(c.cases, c.batch.add(r, inst, code, states))
}

// flush runs the batch and compares.
func (c *comparison) flush() {
	if c.batches++; c.batches%32 == 0 {
		c.emulated.renew() // dead translations cost time at every Collect
	}
	c.jobs += len(c.batch.jobs)
	c.native.run(c.batch, c.want)
	c.emulated.run(c.batch, c.got)
	expected := map[emu.Addr]uint64{}
	for _, tc := range c.cases {
		c.compareCase(tc, expected)
	}
	for _, tc := range c.cases {
		for i := tc.from; i < tc.to; i++ {
			c.ends[c.want[i].fault.Vector]++
			c.tried[tc.inst.Form()] = true
			if c.want[i].fault.Vector == emu.VecBP {
				c.succeeded[tc.inst.Form()] = true
			}
		}
	}
	c.batch.clear()
	c.cases = c.cases[:0]
}

// compareCase compares outcomes and counts of a case. expected is for its use.
func (c *comparison) compareCase(tc *testCase, expected map[emu.Addr]uint64) {
	same := true
	for i := tc.from; i < tc.to; i++ {
		if strays(&c.want[i], &c.got[i]) {
			c.strayed++
			same = false
			continue
		}
		if !c.emulated.under.allows(hostVendor(), tc, &c.want[i], &c.got[i]) {
			same = false
			continue
		}
		if f := c.emulated.under.tolerates; f != nil && !f(tc, &c.want[i], &c.got[i]) {
			c.tolerated++
			same = false
			continue
		}
		asHypervisor(tc, &c.want[i], &c.got[i])
		if interrupted(&c.want[i], &c.got[i]) {
			c.strayed++
			same = false
			continue
		}
		asVendor(hostVendor(), tc, &c.batch.jobs[i], &c.want[i], &c.got[i])
		if d := compare(tc, &c.batch.jobs[i], &c.want[i], &c.got[i]); d != "" {
			same = false
			c.report(tc, &c.batch.jobs[i], d)
		}
		tc.expected(expected, &c.batch.jobs[i], &c.want[i])
	}
	for _, a := range tc.insns {
		if n := c.emulated.counts[a]; same && expected[a] != n {
			c.report(tc, &c.batch.jobs[tc.from], fmt.Sprintf("%v was counted %d times instead of %d", a, n, expected[a]))
		}
	}
}

// report reports a difference, the first of each mnemonic in detail.
func (c *comparison) report(tc *testCase, job *nativeState, diff string) {
	engine := c.emulated.under.name
	key := engine + ": " + tc.inst.Op.String()
	c.bad[key]++
	if c.bad[key] > 1 {
		return
	}
	if c.reported++; c.reported > 1000 {
		return
	}
	var regs strings.Builder
	for i, n := range regNames {
		fmt.Fprintf(&regs, " %s=%#x", n, job.Regs[i])
	}
	c.t.Errorf("%s: %v: %s\n\tfrom%s flags=%#x fs=%#x gs=%#x image %d", engine, tc, diff, regs.String(), job.Flags, job.FSBase, job.GSBase, job.Image)
}

// finish runs what is left and sums up.
func (c *comparison) finish() {
	c.flush()
	c.t.Logf("%d jobs (%d not compared, they strayed; %d, known differences), native ends by vector: %v", c.jobs, c.strayed, c.tolerated, c.ends)
	var keys []string
	for k, n := range c.bad {
		keys = append(keys, fmt.Sprintf("%s × %d", k, n))
	}
	slices.Sort(keys)
	if len(keys) > 0 {
		c.t.Errorf("differences:\n%s", strings.Join(keys, "\n"))
	}
}

// TestForms compares all forms in random, or all, shapes.
func TestForms(t *testing.T) {
	for _, u := range engines {
		t.Run(u.name, func(t *testing.T) { compareForms(t, u) })
	}
}

// TestWideForms compares what AVX-512 has, and what it changes: instructions with a VEX prefix zero more.
func TestWideForms(t *testing.T) {
	if !hostIsV4() {
		t.Skip("the host's CPU lacks some of model v4")
	}
	for _, u := range append([]engineUnderTest{lesserJIT}, engines...) {
		if u.wide != nil {
			u.model = u.wide
			t.Run(u.name, func(t *testing.T) { compareForms(t, u) })
		}
	}
}

// isWide reports whether an instruction works on registers of AVX-512, or on all of vector registers.
func isWide(i *x86.Inst) bool {
	for _, a := range i.Args[:i.NArgs] {
		if a.Kind == x86.ArgMask {
			return true
		}
	}
	return i.Feature == x86.FeatGFNI || i.Enc == x86.EVEX || i.Enc == x86.VEX && i.VecWrite != 0 || savesState[i.Op]
}

func compareForms(t *testing.T, u engineUnderTest) {
	lines := formLines(t)
	model := u.model(t)
	c := newComparison(t, u, model)
	c.batch.wide = model.XCR0&emu.XAVX512 != 0
	supported := supportedFeatures(model)
	// Of AVX-512 all references are emulated alike. A host under PVM takes ten times as long for a native case.
	full := full && !u.again && !(c.batch.wide && u.simulates) && userSetsBases
	for k, tmpl := range templates() {
		if !supported[tmpl.inst.Feature] || skipped(&tmpl.inst) != "" || c.batch.wide && !isWide(&tmpl.inst) {
			continue
		}
		r := rand.New(rand.NewPCG(uint64(k), 7))
		if full && tmpl.mem {
			for _, s := range allShapes(k) {
				e, inst, code := tmpl.vary(r, func(to *shape) { *to = s })
				c.addEncoding(r, &e, &inst, code, fullStates)
			}
		}
		n := samples
		if full {
			n = fullSamples
		}
		for range n {
			e, inst, code := tmpl.vary(r, func(to *shape) { *to = randomShape(r) })
			c.addEncoding(r, &e, &inst, code, states)
		}
	}
	c.finish()
	coverage(t, lines, supported, c)
}

// addEncoding adds a case, its immediates and moffs made sensible.
func (c *comparison) addEncoding(r *rand.Rand, e *encoding, inst *x86.Inst, code []byte, states int) {
	if c.batch.full(states) {
		c.flush()
	}
	if code = sensible(c.t, r, e, inst, code); code != nil {
		c.add(r, inst, code, states)
	}
}

// sensible returns the code of an instruction with immediates and moffs that make sense; nil if other tests have it.
func sensible(t *testing.T, r *rand.Rand, e *encoding, inst *x86.Inst, code []byte) []byte {
	switch {
	case inst.ModRMOff == 0 && inst.HasMem: // moffs
		e.moffs = uint64(worlds[0]) + dataOff + uint64(r.Uint32N(2000))
		if r.Uint32N(3) == 0 {
			e.moffs = uint64(worlds[1]) + dataOff + uint64(r.Uint32N(2000))
		}
		if e.shape.seg == 0x64 || e.shape.seg == 0x65 {
			e.moffs = uint64(r.Uint32N(2000))
		}
		code = e.decode(inst)
	case inst.Mem.AddrSize == 4 && inst.Mem.Seg != x86.SegNone && (inst.Mem.VSIB || inst.NRefs > 0 && inst.Refs[0].At == x86.AtBitString):
		return nil // refused: TestRefusedForms
	case differsByVendor(inst) != "":
		return nil
	case inst.Op == x86.INT:
		if n := code[len(code)-1]; n < 3 || n == 0x80 {
			code[len(code)-1] = 0x81
		}
	case inst.Op == x86.ENTER:
		code[len(code)-2] = byte(r.Uint32N(3)) & byte(r.Uint32())
		code[len(code)-1] = byte(r.Uint32N(4)) * byte(r.Uint32N(2)) * byte(r.Uint32N(10))
		require.NoError(t, x86.Decode(code, inst))
	case inst.Flow == x86.FlowRet && inst.ImmLen > 0:
		binary.LittleEndian.PutUint16(code[inst.ImmOff:], uint16(r.Uint32N(64)))
		require.NoError(t, x86.Decode(code, inst))
	}
	return code
}

// coverage requires that nearly all supported forms were compared, here or in TestBranches, or are
// listed with the reason why not.
func coverage(t *testing.T, lines []string, supported map[x86.Feature]bool, c *comparison) {
	total, compared := 0, 0
	reasons := map[string][]string{}
	seen := map[int]bool{}
	for _, tmpl := range templates() {
		if seen[tmpl.form] || !supported[tmpl.inst.Feature] || c.batch.wide && !isWide(&tmpl.inst) {
			continue
		}
		seen[tmpl.form] = true
		total++
		if c.tried[tmpl.form] {
			compared++
			if !c.succeeded[tmpl.form] && !alwaysFaults(&tmpl.inst) {
				t.Logf("every case faulted: %s", lines[tmpl.form])
			}
			continue
		}
		reason := skipped(&tmpl.inst)
		reasons[reason] = append(reasons[reason], lines[tmpl.form])
	}
	t.Logf("%d of %d forms of supported features compared; %d in other tests or not at all:", compared, total, total-compared)
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		slices.Sort(reasons[reason])
		t.Logf("%s:\n\t%s", reason, strings.Join(reasons[reason], "\n\t"))
	}
	require.LessOrEqual(t, 100*len(reasons[""]), total, "too many forms were not compared")
}

// alwaysFaults reports whether i does nothing but raise an exception in user code.
func alwaysFaults(i *x86.Inst) bool {
	return i.Feature == x86.FeatPRIVILEGED || i.Flow == x86.FlowTrap
}
