package cgout_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
)

const insnsText = `insns: 2
counts: Ir Dr
ob=/bin/a
fl=/src/a.c
fn=main
401000 12 4889c8 100 3 mov rax,rcx
401003 13 90 1 0 nop
fn=
401004 0 90 7 0 nop
ob=/lib/b
fl=???
fn=f(int)
10 0  5 0 (bad)
`

// TestUnwritableInsns has counts that ReadInsns would not read.
func TestUnwritableInsns(t *testing.T) {
	for _, tt := range []struct {
		s   cgout.Insns
		err string
	}{
		{cgout.Insns{}, "cgout: a profile without events cannot be written"},
		{cgout.Insns{Events: []string{"a b"}}, `cgout: the name of event "a b" is empty or has blanks`},
		{cgout.Insns{Events: []string{"Ir"}, List: []cgout.Insn{{Func: "f", Line: -1, Counts: []uint64{1}}}}, `cgout: line -1 of function "f" is less than 0`},
		{cgout.Insns{Events: []string{"Ir"}, List: []cgout.Insn{{Addr: 0x10, Counts: []uint64{1, 2}}}}, "cgout: the instruction at 0x10 has 2 counts of 1 events"},
	} {
		require.EqualError(t, tt.s.Write(io.Discard), tt.err)
	}
}

func TestInsnsRoundTrip(t *testing.T) {
	s, err := cgout.ReadInsns("a.insns", strings.NewReader(insnsText))
	require.NoError(t, err)
	require.Len(t, s.List, 4)
	require.Equal(t, cgout.Insn{
		Object: "/bin/a", File: "/src/a.c", Func: "main", Line: 12, Addr: 0x401000,
		Code: []byte{0x48, 0x89, 0xc8}, Counts: []uint64{100, 3}, Text: "mov rax,rcx",
	}, s.List[0])
	s.Sort()
	var b bytes.Buffer
	require.NoError(t, s.Write(&b))
	require.Equal(t, insnsText, b.String())
}

// TestInsnsAreNoPart: KCachegrind reads, as parts of what it opens, all files whose names begin with that one's and
// which have a line "events:" near their beginning.
func TestInsnsAreNoPart(t *testing.T) {
	s, err := cgout.ReadInsns("a", strings.NewReader(insnsText))
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, s.Write(&b))
	require.NotContains(t, b.String(), "events:")
}

func TestReadInsnsErrors(t *testing.T) {
	head := "insns: 2\ncounts: Ir Dr\n"
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "a:0: unexpected EOF"},
		{"a profile", "events: Ir\n", "a:1: not counts by instruction, or of another version than 2"},
		{"a later version", "insns: 3\n", "a:1: not counts by instruction, or of another version than 2"},
		{"cut", "insns: 2\n", "a:1: unexpected EOF"},
		{"no events", "insns: 2\ncounts: \n", "a:2: no events"},
		{"too few fields", head + "10 0 90 1\n", "a:3: 4 fields of an instruction, 6 expected"},
		{"address", head + "x 0 90 1 1 nop\n", `a:3: address: strconv.ParseUint: parsing "x": invalid syntax`},
		{"line", head + "10 -1 90 1 1 nop\n", `a:3: line number "-1"`},
		{"code", head + "10 1 9 1 1 nop\n", "a:3: code: encoding/hex: odd length hex string"},
		{"count", head + "10 1 90 1 y nop\n", `a:3: count: strconv.ParseUint: parsing "y": invalid syntax`},
	} {
		_, err := cgout.ReadInsns("a", strings.NewReader(tt.text))
		require.EqualError(t, err, tt.want, tt.name)
	}
}

// FuzzReadInsns reads anything, and writes what it read so that it is read again.
func FuzzReadInsns(f *testing.F) {
	f.Add([]byte(insnsText))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := cgout.ReadInsns("a", bytes.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		require.NoError(t, s.Write(&b))
		again, err := cgout.ReadInsns("b", &b)
		require.NoError(t, err)
		require.Equal(t, len(s.List), len(again.List))
	})
}
