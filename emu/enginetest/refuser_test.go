package enginetest

import (
	"testing"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A refuser runs single instructions that an engine should refuse.
type refuser struct {
	*emulated
	job nativeState
	out outcome
}

func newRefuser(t *testing.T, u engineUnderTest, model *emu.Model) *refuser {
	images, ro := makeImages(newRand("images"))
	m := &refuser{emulated: newEmulated(t, u, model, images, ro)}
	r := newRand("refused")
	s := scene{r: r, inst: &x86.Inst{}, at: worlds[0]}
	m.job = s.state()
	m.job.RIP, m.job.PatchLen = worlds[0], 0
	return m
}

// run executes code from its first byte on and returns how it ended.
func (m *refuser) execute(code []byte) *outcome {
	m.space.Poke(worlds[0], append(code[:len(code):len(code)], 0xcc))
	m.one(&m.job, &m.out)
	return &m.out
}
