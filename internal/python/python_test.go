package python

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"x": `'x'`, "it's": `"it's"`, `a"'b`: `'a"\'b'`, `a\b`: `'a\\b'`, "\t\n\r\x00\x7f": `'\t\n\r\x00\x7f'`,
		"é\u200b\U000e0001": `'é\u200b\U000e0001'`, "\xff": `'\udcff'`, "": `''`,
	} {
		require.Equal(t, want, Quote(in))
	}
}

func TestFloats(t *testing.T) {
	for in, want := range map[string]string{
		"5": "5.0", ".5": "0.5", "5.": "5.0", "1e-3": "0.001", "+2": "2.0", " 1_0.5 ": "10.5", "-0.0": "-0.0",
		"0.00001": "1e-05", "1.234e-5": "1.234e-05", "0.0001": "0.0001", "\u0663": "3.0", "0.1": "0.1",
	} {
		f, ok := ParseFloat(in)
		require.True(t, ok, in)
		require.Equal(t, want, FormatFloat(f), in)
	}
	for _, in := range []string{"", "nan", "inf", "0x10", "5%", "1__0", "_1", "1_", "e5", ".", "1e"} {
		_, ok := ParseFloat(in)
		require.False(t, ok, in)
	}
}
