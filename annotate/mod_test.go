package annotate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		require.Equal(t, tt.want, m.apply(tt.name), tt.mod)
		require.NoError(t, m.err)
	}
	require.Equal(t, "x", (*mod)(nil).apply("x"))
}

func TestModErrors(t *testing.T) {
	for _, s := range []string{"", "s/a/b", "a/b/c", "s#a#b#", "s/a/b/x", "s/a/b/gg", `s/a\/b/`, `s/a/b\/`, "s/a/b/\n", "s//", "S/a/b/"} {
		_, _, _, ok := cutMod(s)
		require.False(t, ok, "%q", s)
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
	name := strings.Repeat("a", 40) + "b"
	require.Equal(t, name, m.apply(name))
	require.ErrorContains(t, m.err, "match timeout")
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"x": `'x'`, "it's": `"it's"`, `a"'b`: `'a"\'b'`, `a\b`: `'a\\b'`, "\t\n\r\x00\x7f": `'\t\n\r\x00\x7f'`,
		"é\u200b\U000e0001": `'é\u200b\U000e0001'`, "\xff": `'\udcff'`, "": `''`,
	} {
		require.Equal(t, want, quote(in))
	}
}

func TestFloats(t *testing.T) {
	for in, want := range map[string]string{
		"5": "5.0", ".5": "0.5", "5.": "5.0", "1e-3": "0.001", "+2": "2.0", " 1_0.5 ": "10.5", "-0.0": "-0.0",
		"0.00001": "1e-05", "1.234e-5": "1.234e-05", "0.0001": "0.0001", "\u0663": "3.0", "0.1": "0.1",
	} {
		f, ok := parseFloat(in)
		require.True(t, ok, in)
		require.Equal(t, want, formatFloat(f), in)
	}
	for _, in := range []string{"", "nan", "inf", "0x10", "5%", "1__0", "_1", "1_", "e5", ".", "1e"} {
		_, ok := parseFloat(in)
		require.False(t, ok, in)
	}
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
