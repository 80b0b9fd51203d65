package annotate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
)

// What Python 3.11 makes of these; TestOracleMod compares far more.
func TestMod(t *testing.T) {
	for _, tt := range []struct{ mod, name, want string }{
		{"s/prog[0-9]/progN/", "prog1.c", "progN.c"},
		{`s/\/rustc\/[^\/]*\///`, "/rustc/0123abc/library/core.rs", "library/core.rs"},
		{"s/[.]llvm[.].*//", "f.llvm.123", "f"},
		{`s/17h[0-9a-f]+E\.llvm\.\d+/E/`, "_ZN1a17h0aE.llvm.12", "_ZN1aE"},
		{"s/a*/-/g", "aab", "--b-"},
		{"s//-/g", "ab", "-a-b-"},
		{"s//-/", "ab", "-ab"},
		{"s/|a/x/g", "aa", "xxxxx"},
		{`s/(?P<x>a)(b)/\2\g<x>\g<1>/`, "ab", "baa"},
		{`s/(a)|(b)/[\1\2]/g`, "ab", "[a][b]"},
		{"s/É/e/i", "é", "e"},
		{`s/\w+/W/g`, "añb-c", "W-W"},
		{"s/a++a/x/", "aaa", "aaa"},
		{"s/(?>a*)b/x/", "aab", "x"},
		{`s/(?(1)a|b)(c)/x/`, "bc", "x"},
		{"s/[[a]/x/g", "[a]", "xx]"},
		{"s/foo/bar/BAR/", "foo/bar", "BAR"},
		{`s/b/\n\t\101\0/`, "abc", "a\n\tA\x00c"},
		{"s/b/$1&/", "abc", "a$1&c"},
		{"s/b/x/", "\xffb\xfe", "\xffx\xfe"},
	} {
		_, _, _, ok := cutMod(tt.mod)
		require.True(t, ok, tt.mod)
		m, err := newMod(tt.mod)
		require.NoError(t, err, tt.mod)
		got, err := m.apply(tt.name)
		require.NoError(t, err)
		require.Equal(t, tt.want, got, tt.mod)
	}
	got, err := Rename(nil).apply("x")
	require.NoError(t, err)
	require.Equal(t, "x", got)
}

func TestModErrors(t *testing.T) {
	for _, s := range []string{"", "s/a/b", "a/b/c", "s#a#b#", "s/a/b/x", "s/a/b/gg", `s/a\/b/`, `s/a/b\/`, "s/a/b/\n", "s//", "S/a/b/"} {
		_, _, _, ok := cutMod(s)
		require.False(t, ok, "%q", s)
		_, err := ParseRename(s)
		require.ErrorIs(t, err, ErrRename)
	}
	for _, tt := range []struct{ mod, want string }{
		{"s/(/x/", "missing ), unterminated subpattern at position 0"},
		{"s/)/x/", "unbalanced parenthesis at position 0"},
		{"s/[/x/", "unterminated character set at position 0"},
		{"s/*/x/", "nothing to repeat at position 0"},
		{"s/a**/x/", "multiple repeat at position 2"},
		{`s/\q/x/`, `bad escape \q`},
		{`s/(\1)/x/`, "cannot refer to an open group"},
		{`s/\1/x/`, "invalid group reference 1"},
		{"s/(?<n>a)/x/", "unknown extension at position 0"},
		{"s/a(?i)/x/", "unknown extension at position 1"},
		{`s/a/\1/`, "invalid group reference 1"},
		{`s/a/\g<x>/`, "unknown group name 'x'"},
		{`s/a/\q/`, `bad escape \q`},
		{"s/" + strings.Repeat("(", 2000) + "/x/", "too many nested groups"},
	} {
		_, err := newMod(tt.mod)
		require.ErrorContains(t, err, tt.want, tt.mod)
	}
}

// An expression that takes for ever ends with an error.
func TestModTimeout(t *testing.T) {
	m, err := newMod("s/(a+)+$/x/")
	require.NoError(t, err)
	m.re.MatchTimeout = 10e6 // 10 ms
	p := cgout.New("Ir")
	p.Add(strings.Repeat("a", 40)+"b", "f", 1, 1)
	_, err = New(Options{RenameFile: m.apply}, Memory("p", p))
	require.ErrorContains(t, err, "match timeout")
}

func FuzzMod(f *testing.F) {
	for _, s := range []string{"s/a*/-/g", `s/(?P<x>a)(b)/\2\g<x>\g<1>/`, "s/[]a-c]{,2}+|(?i:é)/x/gi"} {
		f.Add(s, "aab/é.c")
	}
	f.Fuzz(func(t *testing.T, s, name string) {
		if _, _, _, ok := cutMod(s); !ok {
			return
		}
		m, err := newMod(s)
		if err != nil {
			return
		}
		m.re.MatchTimeout, m.nonEmpty.MatchTimeout = 10e6, 10e6
		m.apply(name)
	})
}
