package funcwatch

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

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
