//go:build linux && amd64

package enginetest

import (
	"encoding/binary"
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

// TestForms compares all forms in random, or all, shapes.
func TestForms(t *testing.T) { compareForms(t, engines, ownModel(t)) }

// TestWideForms compares what AVX-512 has, and what it changes: instructions with a VEX prefix zero more.
func TestWideForms(t *testing.T) {
	if !hostIsV4() {
		t.Skip("the host's CPU lacks some of model v4")
	}
	list := slices.DeleteFunc(append([]engineUnderTest{lesserJIT}, engines...), func(u engineUnderTest) bool { return u.wide == nil })
	compareForms(t, list, func(u *engineUnderTest) *emu.Model { return u.wide(t) })
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

// compareForms compares engines that have the same features at once.
func compareForms(t *testing.T, engines []engineUnderTest, model func(u *engineUnderTest) *emu.Model) {
	// Of AVX-512 all references are emulated alike. A host under PVM takes ten times as long for a native case.
	inAllShapes := func(u *engineUnderTest) bool {
		return full && !u.again && !(u.simulates && model(u).XCR0&emu.XAVX512 != 0) && userSetsBases
	}
	groups := together(engines, func(a, b *engineUnderTest) bool {
		return inAllShapes(a) == inAllShapes(b) && maps.Equal(supportedFeatures(model(a)), supportedFeatures(model(b)))
	})
	for _, g := range groups {
		t.Run(g[0].name, func(t *testing.T) { compareShapes(newComparison(t, model, g...), inAllShapes(&g[0])) })
	}
}

// compareShapes compares forms in all shapes of operands, or in a few random ones.
func compareShapes(c *comparison, all bool) {
	lines := formLines(c.t)
	model := c.engines[0].model
	c.batch.wide = model.XCR0&emu.XAVX512 != 0
	supported := supportedFeatures(model)
	for k, tmpl := range templates() {
		if !supported[tmpl.inst.Feature] || skipped(&tmpl.inst) != "" || c.batch.wide && !isWide(&tmpl.inst) {
			continue
		}
		r := rand.New(rand.NewPCG(uint64(k), 7))
		if all && tmpl.mem {
			for _, s := range allShapes(k) {
				e, inst, code := tmpl.vary(r, func(to *shape) { *to = s })
				c.addEncoding(r, &e, &inst, code, fullStates)
			}
		}
		n := samples
		if all {
			n = fullSamples
		}
		for range n {
			e, inst, code := tmpl.vary(r, func(to *shape) { *to = randomShape(r) })
			c.addEncoding(r, &e, &inst, code, states)
		}
	}
	c.finish()
	coverage(c.t, lines, supported, c)
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
