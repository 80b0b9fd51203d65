package annotate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
)

func TestStripHash(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"core::fmt::write::h0123456789abcdef", "core::fmt::write"},
		{"core::fmt::write::h0123456789abcde", "core::fmt::write::h0123456789abcde"},
		{"_ZN4core3fmt5write17h0123456789abcdefE", "_ZN4core3fmt5writeE"},
		{"_ZN1a1b17h0123456789abcdefE.llvm.1234567890", "_ZN1a1bE"},
		{"f.llvm.123", "f"},
		{"f.constprop.0", "f"},
		{"f.constprop.0.isra.1", "f"},
		{"f.part.0.cold", "f"},
		{"f.cold.12", "f"},
		{"f.lto_priv.3", "f"},
		{"f.localalias", "f"},
		{"ns::f(int) [clone .cold]", "ns::f(int)"},
		{"ns::f(int) [clone .isra.0] [clone .part.1]", "ns::f(int)"},
		{"ns::f(int) (.part.0)", "ns::f(int)"},
		{"main.part", "main.part"},
		{"main.partition", "main.partition"},
		{"main.(*T).colder", "main.(*T).colder"},
		{"strchr", "strchr"},
		{"operator[]", "operator[]"},
		{"", ""},
	} {
		require.Equal(t, tt.want, StripHash(tt.in), tt.in)
	}
}

func TestMatchLines(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"abc", "abc", "123"},
		{"abc", "abXc", "124"},
		{"abXc", "abc", "12-3"},
		{"abc", "aXc", "123"}, // changed
		{"abc", "aXYc", "1-4"},
		{"abcd", "aXYd", "1234"},
		{"", "abc", ""},
		{"abc", "", "---"},
		{"xyz", "abc", "123"},
		{"(a)(b)", "(a)(c)(b)", "123489"}, // one of several ways
		{"aabb", "bbaa", "--12"},
	} {
		m := matchLines(strings.Split(tt.old, ""), strings.Split(tt.new, ""))
		got := ""
		for i := range tt.old {
			if n := m.at(i + 1); n == NoLine {
				got += "-"
			} else {
				got += fmt.Sprint(n)
			}
		}
		require.Equal(t, tt.want, got, "%s %s", tt.old, tt.new)
	}
	require.Equal(t, 0, matchLines(nil, nil).at(0))
	require.Equal(t, NoLine, matchLines(nil, nil).at(1))
	require.Equal(t, 7, (*lineMap)(nil).at(7))
	require.Equal(t, 7, (*lineMap)(nil).back(7))
}

// TestMatchLinesRandom edits texts: the map ascends, goes both ways, and matches
// at least as many lines as were left alone if these are unique.
func TestMatchLinesRandom(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		kinds := 2 + rnd.IntN(2000)
		var old []string
		for range rnd.IntN(300) {
			old = append(old, fmt.Sprint(rnd.IntN(kinds)))
		}
		var edited []string
		for _, line := range old {
			switch rnd.IntN(12) {
			case 0: // removed
			case 1:
				edited = append(edited, "new", line)
			default:
				edited = append(edited, line)
			}
		}
		m := matchLines(old, edited)
		last := 0
		for i := range old {
			n := m.at(i + 1)
			if n == NoLine {
				continue
			}
			require.Greater(t, n, last)
			require.Equal(t, i+1, m.back(n))
			last = n
		}
	}
}

// makeTree makes a tree of functions "file:function" with one count on line 1.
func makeTree(fns ...string) *tree {
	t := &tree{m: &model{}, files: map[string]*treeFile{}}
	for i, fn := range fns {
		file, name, _ := strings.Cut(fn, ":")
		t.setFile(file, file)
		t.setFunc(name)
		t.add(cgout.NewCount(1), counts{cgout.NewCount(1 << i)})
	}
	return t
}

func TestPairs(t *testing.T) {
	for _, tt := range []struct {
		name     string
		old, new []string
		want     []string
	}{
		{"equal", []string{"a:f", "a:g"}, []string{"a:f", "a:g"}, []string{"a:f=a:f", "a:g=a:g"}},
		{"one side", []string{"a:f"}, []string{"a:g"}, []string{"=a:g", "a:f="}},
		{"hash", []string{"a:f::h0123456789abcdef"}, []string{"a:f::hfedcba9876543210"},
			[]string{"a:f::h0123456789abcdef=a:f::hfedcba9876543210"}},
		{"clones are equal", []string{"a:f", "a:f.cold"}, []string{"a:f", "a:f.cold"}, []string{"a:f.cold=a:f.cold", "a:f=a:f"}},
		{"clones differ", []string{"a:f", "a:f.cold"}, []string{"a:f"}, []string{"a:f=a:f"}},
		{"renamed", []string{"x/src/a.c:f"}, []string{"y/src/a.c:f"}, []string{"x/src/a.c:f=y/src/a.c:f"}},
		{"renamed by the longest tail", []string{"x/p/a.c:f", "x/q/a.c:f"}, []string{"y/q/a.c:f", "y/p/a.c:f"},
			[]string{"x/p/a.c:f=y/p/a.c:f", "x/q/a.c:f=y/q/a.c:f"}},
		{"moved", []string{"a.c:f", "a.c:g"}, []string{"a.c:g", "b.c:f"}, []string{"a.c:f=b.c:f", "a.c:g=a.c:g"}},
		{"moved, but which", []string{"a.c:f", "b.c:f"}, []string{"c.c:f"}, []string{"=c.c:f", "a.c:f=", "b.c:f="}},
		{"nothing in common", []string{"x/mod.rs:f"}, []string{"y/mod.rs:g"}, []string{"=y/mod.rs:g", "x/mod.rs:f="}},
		{"without names", []string{"a.c:???"}, []string{"b.c:???"}, []string{"=b.c:???", "a.c:???="}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, _ := pairs(makeTree(tt.old...), makeTree(tt.new...), false)
			var got []string
			for _, p := range list {
				text := "="
				if p.old != nil {
					text = p.oldFile.name + ":" + p.old.name + text
				}
				if p.new != nil {
					text += p.newFile.name + ":" + p.new.name
				}
				got = append(got, text)
			}
			slices.Sort(got)
			require.Equal(t, tt.want, got)
		})
	}
	old, now := makeTree("???:??? (prog)", "???:??? (libx.so)"), makeTree("???:??? (prog2)", "???:??? (liby.so)")
	old.m.profiles, now.m.profiles = []profile{{cmd: "./prog 1"}}, []profile{{cmd: "/bin/prog2"}}
	list, _ := pairs(old, now, false)
	require.Len(t, list, 3, "the programs' code without symbols is one, that of libraries is not")
	require.Equal(t, "??? (prog)", list[0].old.name)
	require.Equal(t, "??? (prog2)", list[0].new.name)
	list, _ = pairs(old, now, true)
	require.Len(t, list, 4)
	list, _ = pairs(makeTree("a:f", "a:g.cold"), makeTree("a:f", "a:g"), true)
	require.Len(t, list, 3)
}

// BenchmarkMatchLines compares a text of 20,000 lines with one that has others
// in between.
func BenchmarkMatchLines(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var old, edited []string
	for range 20_000 {
		line := fmt.Sprint(rnd.IntN(5000))
		old = append(old, line)
		if rnd.IntN(50) == 0 {
			edited = append(edited, "new")
		}
		if rnd.IntN(50) > 0 {
			edited = append(edited, line)
		}
	}
	for b.Loop() {
		matchLines(old, edited)
	}
}
