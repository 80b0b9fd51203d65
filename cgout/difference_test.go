package cgout

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDifference(t *testing.T) {
	build := func(change func(*Profile)) *Profile {
		p := New("Ir", "Dr")
		p.Desc, p.Cmd = []string{"d"}, "prog"
		p.Add("b.c", "main", 3, 10, 1)
		p.Add("a.c", "f", 1, 5, 0)
		p.Insns = &Insns{Events: []string{"Ir", "Dr"}, List: []Insn{
			{Object: "/bin/x", Addr: 0x10, File: "a.c", Func: "f", Line: 1, Code: []byte{0x90}, Counts: []uint64{5, 0}},
		}}
		if change != nil {
			change(p)
		}
		return p
	}
	file := func(p *Profile) string {
		var b bytes.Buffer
		require.NoError(t, p.Write(&b))
		require.NoError(t, p.Insns.Write(&b))
		return b.String()
	}
	for _, tt := range []struct {
		change        func(*Profile)
		want, swapped string
	}{
		{nil, "", ""},
		{func(p *Profile) { p.Add("z.c", "g", 1) }, "", ""}, // no counts: not in the file
		{func(p *Profile) { p.Desc = nil }, `desc: is ["d"] in the first run, [] in the second`, `desc: is [] in the first run, ["d"] in the second`},
		{func(p *Profile) { p.Cmd = "x" }, `cmd: is "prog" in the first run, "x" in the second`, `cmd: is "x" in the first run, "prog" in the second`},
		{func(p *Profile) { p.Add("b.c", "main", 3, 0, 1) }, "b.c:3 (main): Dr is 1 in the first run, 2 in the second", "b.c:3 (main): Dr is 2 in the first run, 1 in the second"},
		{func(p *Profile) { p.Add("b.c", "main", 2, 1) }, "b.c:2 (main): only the second run has it", "b.c:2 (main): only the first run has it"},
		{func(p *Profile) { p.Add("c.c", "main", 2, 1) }, "c.c:2 (main): only the second run has it", "c.c:2 (main): only the first run has it"},
		{func(p *Profile) { p.Add("a.c", "f", 1, 1); p.Add("b.c", "main", 3, 1) }, "a.c:1 (f): Ir is 5 in the first run, 6 in the second", "a.c:1 (f): Ir is 6 in the first run, 5 in the second"},
		{func(p *Profile) { p.Insns.List[0].Counts[0]++ }, "/bin/x+0x10, a.c:1 (f): Ir is 5 in the first run, 6 in the second", "/bin/x+0x10, a.c:1 (f): Ir is 6 in the first run, 5 in the second"},
		{func(p *Profile) { p.Insns.List[0].Text = "nop" }, "/bin/x+0x10, a.c:1 (f): only the first run has it", "/bin/x+0x10, a.c:1 (f): only the second run has it"},
	} {
		p, q := build(nil), build(tt.change)
		assert.Equal(t, tt.want, p.Difference(q))
		assert.Equal(t, tt.swapped, q.Difference(p))
		assert.Equal(t, file(p) == file(q), tt.want == "")
	}
	p, q := build(nil), New("Ir")
	q.Desc, q.Cmd = p.Desc, p.Cmd
	assert.Equal(t, `events: are ["Ir" "Dr"] in the first run, ["Ir"] in the second`, p.Difference(q))
	q = build(nil)
	q.Insns = nil
	assert.NotEmpty(t, p.Difference(q))
}
