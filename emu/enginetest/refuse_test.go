//go:build linux && amd64

package enginetest

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// requireRefused requires that code raises #UD with a text that has names in it, and does nothing else.
func (m *refuser) requireRefused(code []byte, names ...string) {
	m.t.Helper()
	o := m.execute(code)
	require.Equal(m.t, uint8(emu.VecUD), o.fault.Vector, "% x", code)
	for _, name := range append(names, spaced(code)) {
		require.Contains(m.t, o.fault.Unsupported, name, "% x", code)
	}
	require.Equal(m.t, m.job.RIP, o.state.RIP, "% x", code)
	require.Equal(m.t, m.job.Regs, o.state.Regs, "% x", code)
}

func spaced(code []byte) string {
	var parts []string
	for _, b := range code {
		parts = append(parts, hex.EncodeToString([]byte{b}))
	}
	return strings.Join(parts, " ")
}

// TestRefusedByName has every form of features that engines or the model lack refused, with the
// names of instruction and feature.
func TestRefusedByName(t *testing.T) {
	lines := formLines(t)
	model, err := emu.ModelByName("v3")
	require.NoError(t, err)
	supported := supportedFeatures(model)
	for _, u := range engines[:1] {
		m := newRefuser(t, u, model)
		tried := map[int]bool{}
		check := func(code []byte, inst *x86.Inst) {
			if supported[inst.Feature] || tried[inst.Form()] {
				return
			}
			tried[inst.Form()] = true
			m.requireRefused(code, inst.Op.String(), inst.Feature.String())
		}
		for _, tmpl := range templates() {
			if inst := (x86.Inst{}); tmpl.inst.Op != x86.TZCNT && tmpl.inst.Op != x86.LZCNT {
				check(tmpl.decode(&inst), &inst)
			}
		}
		eachEVEX(check)
		eachXOP(check)
		var missing []string
		total := 0
		for form, feature := range formFeatures() {
			if supported[feature] {
				continue
			}
			if total++; !tried[form] {
				missing = append(missing, lines[form])
			}
		}
		t.Logf("%d of %d forms were tried and refused; not:\n%s", len(tried), total, strings.Join(missing, "\n"))
		require.LessOrEqual(t, 100*len(missing), total)
	}
}

// eachEVEX calls f with encodings of all forms with an EVEX prefix, and with many others.
func eachEVEX(f func(code []byte, inst *x86.Inst)) {
	try := func(b ...byte) {
		var inst x86.Inst
		if x86.Decode(b, &inst) == nil {
			f(b[:inst.Len], &inst)
		}
	}
	for op := range 256 {
		for _, m := range []byte{1, 2, 3, 5, 6} {
			for x := range byte(24) { // pp, W, L
				p2, l := x&3|x>>2&1<<7|4, x>>3<<5
				for _, v := range []byte{0x78, 0x50} {
					for _, p3 := range []byte{8, 9, 0x18} {
						for modrm := range 64 {
							for _, rm := range []byte{byte(modrm)&^7 | 4, byte(modrm)&^7 | 0xc3} {
								if modrm&7 == 0 {
									try(0x62, 0xf0|m, p2|v, p3|l, byte(op), rm, 0x8b, 1, 2, 3, 4, 5, 6)
								}
							}
						}
					}
				}
			}
		}
	}
}

// eachXOP does so for XOP.
func eachXOP(f func(code []byte, inst *x86.Inst)) {
	for m := byte(8); m <= 10; m++ {
		for _, p := range []byte{0x78, 0xf8, 0x7c, 0xfc} {
			for op := range 256 {
				for reg := range byte(8) {
					for _, modrm := range []byte{0x03, 0xc3} {
						b := []byte{0x8f, 0xe0 | m, p, byte(op), modrm | reg<<3, 1, 2, 3, 4, 5}
						var inst x86.Inst
						if x86.Decode(b, &inst) == nil {
							f(b[:inst.Len], &inst)
						}
					}
				}
			}
		}
	}
}

// TestRefusedForms has what no program needs refused by name.
func TestRefusedForms(t *testing.T) {
	for _, u := range engines[:1] {
		m := newRefuser(t, u, u.model(t))
		n := 0
		for _, tmpl := range templates() {
			why := notNative[tmpl.inst.Op]
			if strings.HasPrefix(why, "refused") || tmpl.inst.Op == x86.SYSENTER {
				var inst x86.Inst
				m.requireRefused(tmpl.decode(&inst), inst.Op.String())
				n++
			}
		}
		require.NotZero(t, n)
		m.requireRefused([]byte{0xcd, 0x80}, "INT")
		m.requireRefused([]byte{0x64, 0x67, 0x0f, 0xa3, 0x03}, "BT") // bt fs:[ebx], eax
		m.requireRefused([]byte{0x64, 0x67, 0xc4, 0xe2, 0x69, 0x90, 0x04, 0x0b}, "VPGATHERDD")
	}
}

// TestModels has each model refuse what it lacks, by name, and run what it has.
func TestModels(t *testing.T) {
	for _, name := range []string{"v1", "v2", "v3", "valgrind"} {
		model, err := emu.ModelByName(name)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			m := newRefuser(t, engines[0], model)
			supported := supportedFeatures(model)
			refused, run := 0, 0
			for _, tmpl := range templates() {
				_, known := featureNames[tmpl.inst.Feature]
				if !known || skipped(&tmpl.inst) != "" || tmpl.inst.Flow == x86.FlowTrap {
					continue
				}
				var inst x86.Inst
				code := tmpl.decode(&inst)
				// The VEX forms of AES and PCLMULQDQ need AVX besides.
				needs := inst.Feature
				if supported[needs] && inst.Enc == x86.VEX && inst.VecRead|inst.VecWrite != 0 {
					needs = x86.FeatAVX
				}
				switch {
				case supported[needs]:
					o := m.execute(code)
					require.Empty(t, o.fault.Unsupported, "% x: %v", code, inst.Op)
					run++
				case inst.Op == x86.TZCNT || inst.Op == x86.LZCNT:
				default:
					m.requireRefused(code, inst.Op.String(), needs.String())
					refused++
				}
			}
			t.Logf("%d encodings refused, %d run", refused, run)
		})
	}
}

// TestCountsWithoutBMI has TZCNT and LZCNT execute as BSF and BSR on models without them: F3 is ignored there.
func TestCountsWithoutBMI(t *testing.T) {
	model, err := emu.ModelByName("v2")
	require.NoError(t, err)
	for _, u := range engines {
		m := newRefuser(t, u, model)
		r := rand.New(rand.NewPCG(1, 2))
		for _, tmpl := range templates() {
			if tmpl.inst.Op != x86.TZCNT && tmpl.inst.Op != x86.LZCNT {
				continue
			}
			for range 50 {
				e, inst, code := tmpl.vary(r, func(s *shape) { *s = shape{base: 7, index: 4, mod: 1, disp: int32(r.Uint32N(4))} })
				for i := range m.job.Regs {
					m.job.Regs[i] = integer(r)
				}
				m.job.Regs[emu.RDI] = uint64(worlds[0]) + dataOff
				with := *m.execute(code)
				e.pre = []byte{0x3e}
				if tmpl.inst.OpSize == 2 {
					e.pre = []byte{0x66}
				}
				without := *m.execute(e.decode(&inst))
				require.Zero(t, with.fault.Unsupported, u.name)
				require.EqualValues(t, emu.VecBP, with.fault.Vector, "%s: % x: %+v", u.name, code, with.fault)
				require.EqualValues(t, emu.VecBP, without.fault.Vector, "%s: % x: %+v", u.name, code, without.fault)
				require.Contains(t, []x86.Op{x86.BSF, x86.BSR}, inst.Op)
				require.Equal(t, without.state.Regs, with.state.Regs, "% x", code)
				require.Equal(t, without.state.Flags, with.state.Flags, "% x", code)
			}
		}
		m.engine.Close()
		m.space.Close()
	}
}
