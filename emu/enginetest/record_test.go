//go:build linux && amd64

package enginetest

import (
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

var update = flag.Bool("update", false, "record what this host's CPU does")

const (
	recordedStates    = 48 // of each world
	recordedCases     = 10 // of each template
	recordedWideCases = 4  // of AVX-512
)

// hostCPU returns the name of the host's CPU.
func hostCPU() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// TestRecord has this host's CPU repeat the recording of its vendor, or with -update makes it. The recording must have
// every form of the features that the interpreter has.
func TestRecord(t *testing.T) {
	t.Run("v3", func(t *testing.T) { record(t, false) })
	t.Run("AVX-512", func(t *testing.T) {
		if !hostIsV4() {
			t.Skip("the host's CPU lacks some of model v4")
		}
		record(t, true)
	})
}

func record(t *testing.T, wide bool) {
	images, ro := makeImages(newRand("images"))
	if *update {
		require.True(t, userSetsBases, "record on a host that has FSGSBASE")
		rec := &recording{vendor: hostVendor(), wide: wide, cpu: hostCPU(), images: images, ro: ro}
		rec.choose(t)
		repeatNatively(t, rec, func(c *recordedCase, o *outcome) {
			c.end, c.memory = *o, appendChanges(nil, rec.startMemory(&c.start), o.dump)
		})
		b, err := rec.encode()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(recordingFile(rec.vendor, wide), b, 0o644))
	}
	rec, err := readRecording(hostVendor(), wide)
	if os.IsNotExist(err) {
		t.Skipf("nobody has recorded a CPU of this vendor: go test -run TestRecord -update ./emu/enginetest makes %s", recordingFile(hostVendor(), wide))
	}
	require.NoError(t, err)
	forms := map[int]bool{}
	differences := map[string]int{}
	repeatNatively(t, rec, func(c *recordedCase, o *outcome) {
		tc, err := c.testCase()
		require.NoError(t, err)
		forms[tc.inst.Form()] = true
		if !userSetsBases && ((c.start.FSBase|c.start.GSBase)>>47 != 0 || skipped(&tc.inst) != "") {
			return
		}
		want := rec.outcome(c)
		asHypervisor(tc, o, &want)
		if interrupted(o, &want) {
			return
		}
		if !settle(rec.vendor, tc, &want, o) {
			return
		}
		if d := compare(tc, &c.start, &want, o); d != "" {
			if differences[tc.inst.Op.String()]++; differences[tc.inst.Op.String()] == 1 {
				t.Errorf("%v: %s (natively: what was recorded)", tc, d)
			}
		}
	})
	require.Empty(t, differences, "recorded of %s, repeated by %s", rec.cpu, hostCPU())
	lines := formLines(t)
	for _, tmpl := range recordable(t, wide) {
		require.True(t, forms[tmpl.form], "%s is not recorded: go test -run TestRecord -update ./emu/enginetest", lines[tmpl.form])
	}
}

// recordable returns the templates of what is recorded.
func recordable(t *testing.T, wide bool) []template {
	model := leanModel(t)
	if wide {
		model = wideModel(t)
	}
	supported := supportedFeatures(model)
	return slices.DeleteFunc(slices.Clone(templates()), func(tmpl template) bool {
		return wide && !isWide(&tmpl.inst) || !supported[tmpl.inst.Feature] || !isBranch(&tmpl.inst) && skipped(&tmpl.inst) != ""
	})
}

// repeatNatively executes rec's cases and calls f with how each ended.
func repeatNatively(t *testing.T, rec *recording, f func(c *recordedCase, o *outcome)) {
	host := newNative(t, rec.images, rec.ro)
	out := make([]outcome, recordedBatch)
	rec.batches(func(cases []recordedCase, b *batch) {
		host.run(b, out)
		for i := range cases {
			require.False(t, out[i].died, "% x", cases[i].code)
			o := out[i]
			o.state.World, o.state.Image, o.state.PatchOff, o.state.PatchLen = 0, 0, 0, 0
			f(&cases[i], &o)
		}
	})
}

// choose makes states and cases.
func (r *recording) choose(t *testing.T) {
	for w := range worlds {
		s := scene{r: newRand("states"), world: w, wide: r.wide, inst: &x86.Inst{}}
		for range recordedStates {
			st := s.anywhere()
			st.Image = 0
			r.states = append(r.states, st)
		}
	}
	var layout slotLayout
	for k, tmpl := range recordable(t, r.wide) {
		n := recordedCases
		if r.wide {
			n = recordedWideCases
		}
		if isBranch(&tmpl.inst) {
			n *= 8
		}
		rnd := rand.New(rand.NewPCG(uint64(k), 13))
		for range n {
			e, inst, code := tmpl.vary(rnd, func(to *shape) { *to = randomShape(rnd) })
			if code = sensible(t, rnd, &e, &inst, code); code != nil {
				r.choice(t, rnd, &layout, inst, slices.Clone(code))
			}
		}
	}
}

// choice adds a case of an instruction.
func (r *recording) choice(t *testing.T, rnd *rand.Rand, layout *slotLayout, inst x86.Inst, code []byte) {
	c := recordedCase{from: rnd.IntN(len(r.states)), code: code}
	if inst.HasMem && inst.Mem.AddrSize == 4 && inst.Mem.Seg == x86.SegNone || inst.ModRMOff == 0 && inst.HasMem {
		c.from %= recordedStates // the other world is out of reach, or not meant
	}
	c.start = r.states[c.from]
	c.start.Image = rnd.Uint32N(numImages)
	slot := layout.next(int(c.start.World))
	target := slot + pick(rnd, []emu.Addr{backAt, forwardAt})
	if isBranch(&inst) {
		c.offset = branchAt
		next := slot + branchAt + emu.Addr(len(code))
		if inst.NArgs > 0 && inst.Args[0].Kind == x86.ArgRel {
			for i := range code[inst.ImmOff:] {
				code[int(inst.ImmOff)+i] = byte(int64(target-next) >> (8 * i))
			}
		}
		require.NoError(t, x86.Decode(code, &inst))
	}
	c.start.RIP = slot + emu.Addr(c.offset)
	s := scene{r: rnd, world: int(c.start.World), wide: r.wide, inst: &inst, code: code, at: c.start.RIP}
	s.fit(&c.start)
	if isBranch(&inst) {
		s.aim(&c.start, target)
	}
	r.cases = append(r.cases, c)
}
