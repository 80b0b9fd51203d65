package spell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSuggest(t *testing.T) {
	words := []string{"annotate", "diff", "merge", "cache-sim", "branch-sim"}
	for name, want := range map[string]string{
		"anotate": "annotate", "dfif": "diff", "cachesim": "cache-sim", "annotate": "annotate", "Merge": "merge", "xyz": "", "": "",
		"bran": "branch-sim", "br": "",
	} {
		if want != "" {
			want = `; did you mean "` + want + `"?`
		}
		require.Equal(t, want, Suggest(name, words), name)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		d    int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "axc", 1}, {"kitten", "sitting", 3}} {
		require.Equal(t, c.d, distance(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.d, distance(c.b, c.a), "%s %s", c.b, c.a)
	}
}
