package glob

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"main", "main", true}, {"main", "mai", false}, {"main", "main2", false}, {"", "", true}, {"", "a", false},
		{"*", "", true}, {"*", "main", true}, {"*", "a/b", true}, {"*.c", "x/y.c", true}, {"*.c", "x.cc", false},
		{"ma*", "ma", true}, {"a*", "b", false}, {"*in", "main", true}, {"*x*", "main", false},
		{"a*b*c", "abbbcbc", true}, {"a*b*c", "abbbcb", false}, {"a*b*c", "aXbYbZc", true}, {"a*b*c", "aXbYbZ", false},
		{"a?c", "abc", true}, {"m?in", "main", true}, {"m?in", "min", false}, {"?", "", false}, {"a**", "a", true}, {"**", "x", true},
		{"net/http.(*Server).Serve", "net/http.(*Server).Serve", true}, {"f[0]", "f[0]", true}, {"f[0]", "f0", false}, {"[a]", "a", false},
	} {
		require.Equal(t, tt.want, Match(tt.pattern, tt.name), "%q %q", tt.pattern, tt.name)
	}
}

func TestAny(t *testing.T) {
	require.True(t, Any([]string{"x", "ma*"}, "main"))
	require.False(t, Any([]string{"x", "ma"}, "main"))
	require.False(t, Any(nil, "main"))
}
