package funcwatch

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"main", "main", true}, {"main", "mai", false}, {"main", "main2", false}, {"", "", true}, {"", "a", false},
		{"*", "", true}, {"*", "main", true}, {"ma*", "ma", true}, {"*in", "main", true}, {"*x*", "main", false},
		{"a*b*c", "abbbcbc", true}, {"a*b*c", "abbbcb", false}, {"m?in", "main", true}, {"m?in", "min", false},
		{"?", "", false}, {"a**", "a", true}, {"net/http.(*Server).Serve", "net/http.(*Server).Serve", true},
		{"f[0]", "f[0]", true}, {"f[0]", "f0", false},
	} {
		assert.Equal(t, tt.want, glob(tt.pattern, tt.s), "%q %q", tt.pattern, tt.s)
	}
}

func TestFunctionMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern, symbol string
		want            bool
	}{
		{"main", "main", true}, {"main", "main2", false},
		{"ns::f", "_ZN2ns1fEi", true}, {"ns::f(int)", "_ZN2ns1fEi", true}, {"_ZN2ns1fEi", "_ZN2ns1fEi", true},
		{"ns::*", "_ZN2ns1fEi", true}, {"ns::f()", "_ZN2ns1fEi", false}, {"f", "_ZN2ns1fEi", false},
		{"A::operator()", "_ZN1AclEv", true}, {"A::operator()()", "_ZN1AclEv", true},
		{"(anonymous namespace)::f", "_ZN12_GLOBAL__N_11fEv", true},
		{"foo::bar", "_RNvC3foo3bar", true},
	} {
		f := Function{Symbol: tt.symbol}
		assert.Equal(t, tt.want, f.Matches(tt.pattern), "%q %q", tt.pattern, tt.symbol)
	}
}
