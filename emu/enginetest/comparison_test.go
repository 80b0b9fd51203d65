//go:build linux && amd64

package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A comparison runs batches natively, each once, and under engines. All run all jobs: a job may find in memory what an
// earlier one has left.
type comparison struct {
	t             *testing.T
	native        *native
	engines       []*comparedEngine
	batch         *batch
	cases         []*testCase
	want          []outcome
	jobs, batches int
	ends          map[uint8]int // native outcomes by vector
	tried         map[int]bool  // forms
	succeeded     map[int]bool  // forms that ran without a fault
}

// A comparedEngine is one of a comparison's engines, and what came of it.
type comparedEngine struct {
	*emulated
	got                []outcome
	want               outcome        // of the job that is compared: what may differ is made equal
	strayed, tolerated int            // not compared: beyond what can be, and for known differences
	bad                map[string]int // differences by mnemonic
}

// newComparison compares engines, each with a model.
func newComparison(t *testing.T, model func(u *engineUnderTest) *emu.Model, engines ...engineUnderTest) *comparison {
	images, ro := makeImages(newRand("images"))
	c := comparisonWith(newNative(t, images, ro))
	c.t = t
	for _, u := range engines {
		c.addEngine(newEmulated(t, u, model(&u), images, ro))
	}
	return c
}

// ownModel returns the model that an engine has unless AVX-512 is compared.
func ownModel(t *testing.T) func(u *engineUnderTest) *emu.Model {
	return func(u *engineUnderTest) *emu.Model { return u.model(t) }
}

// comparisonWith compares with host.
func comparisonWith(host *native) *comparison {
	return &comparison{
		native: host, batch: newBatch(), want: make([]outcome, maxJobs), ends: map[uint8]int{}, tried: map[int]bool{}, succeeded: map[int]bool{},
	}
}

// addEngine has c run batches under m, too.
func (c *comparison) addEngine(m *emulated) {
	c.engines = append(c.engines, &comparedEngine{emulated: m, got: make([]outcome, maxJobs), bad: map[string]int{}})
}

// together returns the engines in groups that are compared at once.
func together(engines []engineUnderTest, same func(a, b *engineUnderTest) bool) (groups [][]engineUnderTest) {
	for _, u := range engines {
		i := slices.IndexFunc(groups, func(g []engineUnderTest) bool { return same(&g[0], &u) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], u)
	}
	return groups
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
	c.batches++
	c.jobs += len(c.batch.jobs)
	c.native.run(c.batch, c.want)
	for _, e := range c.engines {
		if c.batches%32 == 0 {
			e.renew() // dead translations cost time at every Collect
		}
		e.run(c.batch, e.got)
		expected := map[emu.Addr]uint64{}
		for _, tc := range c.cases {
			e.compareCase(c, tc, expected)
		}
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
func (e *comparedEngine) compareCase(c *comparison, tc *testCase, expected map[emu.Addr]uint64) {
	same := true
	for i := tc.from; i < tc.to; i++ {
		want, got := &e.want, &e.got[i]
		want.set(&c.want[i])
		if strays(want, got) {
			e.strayed++
			same = false
			continue
		}
		if !e.under.allows(hostVendor(), tc, want, got) {
			same = false
			continue
		}
		if f := e.under.tolerates; f != nil && !f(tc, want, got) {
			e.tolerated++
			same = false
			continue
		}
		asHypervisor(tc, want, got)
		if interrupted(want, got) {
			e.strayed++
			same = false
			continue
		}
		asVendor(hostVendor(), tc, &c.batch.jobs[i], want, got)
		if d := compare(tc, &c.batch.jobs[i], want, got); d != "" {
			same = false
			e.report(c.t, tc, &c.batch.jobs[i], d)
		}
		tc.expected(expected, &c.batch.jobs[i], want)
	}
	for _, a := range tc.insns {
		if n := e.counts[a]; same && expected[a] != n {
			e.report(c.t, tc, &c.batch.jobs[tc.from], fmt.Sprintf("%v was counted %d times instead of %d", a, n, expected[a]))
		}
	}
}

// report reports a difference, the first of each mnemonic in detail.
func (e *comparedEngine) report(t *testing.T, tc *testCase, job *nativeState, diff string) {
	key := tc.inst.Op.String()
	e.bad[key]++
	if e.bad[key] > 1 || len(e.bad) > 1000 {
		return
	}
	var regs strings.Builder
	for i, n := range regNames {
		fmt.Fprintf(&regs, " %s=%#x", n, job.Regs[i])
	}
	t.Errorf("%s: %v: %s\n\tfrom%s flags=%#x fs=%#x gs=%#x image %d", e.under.name, tc, diff, regs.String(), job.Flags, job.FSBase, job.GSBase, job.Image)
}

// finish runs what is left and sums up.
func (c *comparison) finish() {
	c.flush()
	c.t.Logf("%d jobs, native ends by vector: %v", c.jobs, c.ends)
	for _, e := range c.engines {
		c.t.Logf("%s: %d not compared, they strayed; %d, known differences", e.under.name, e.strayed, e.tolerated)
		var keys []string
		for k, n := range e.bad {
			keys = append(keys, fmt.Sprintf("%s × %d", k, n))
		}
		slices.Sort(keys)
		if len(keys) > 0 {
			c.t.Errorf("%s: differences:\n%s", e.under.name, strings.Join(keys, "\n"))
		}
	}
}
