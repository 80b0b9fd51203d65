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

func TestQualified(t *testing.T) {
	for _, tt := range []struct{ pattern, symbol, want string }{
		{"f", "_ZN2ns1fEi", "ns::f"}, {"ns::f", "_ZN2ns1fEi", ""}, {"g", "_ZN2ns1fEi", ""},
		{"fill", "_ZN2ns4GridIiE4fillEi", "ns::Grid<int>::fill"}, {"Grid::fill", "_ZN2ns4GridIiE4fillEi", "ns::Grid<int>::fill"},
		{"bar", "_RNvC3foo3bar", "foo::bar"}, {"parse", "main.parse", "main.parse"}, {"Serve", "net/http.(*Server).Serve", "net/http.(*Server).Serve"},
		{"parse*", "main.parseInt", "main.parseInt"},
	} {
		f := Function{Symbol: tt.symbol}
		name, ok := f.Qualified(tt.pattern)
		assert.Equal(t, tt.want != "", ok, "%q %q", tt.pattern, tt.symbol)
		if ok {
			assert.Equal(t, tt.want, name)
		}
	}
}
