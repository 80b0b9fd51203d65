package annotate

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A colour is red, green and blue in 0 to 1, as sRGB has them.
type colour [3]float64

// pageColours are the variables of colours.css in one theme.
func pageColours(t *testing.T, theme int) map[string]colour {
	list := map[string]colour{}
	for _, m := range regexp.MustCompile(`--([a-z]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\);`).FindAllStringSubmatch(asset("colours.css"), -1) {
		n, err := strconv.ParseUint(m[2+theme], 16, 32)
		require.NoError(t, err)
		list[m[1]] = colour{float64(n>>16) / 255, float64(n>>8&255) / 255, float64(n&255) / 255}
	}
	require.Len(t, list, 21)
	return list
}

// mix is part of a over b, as color-mix(in srgb) has it.
func mix(a, b colour, part float64) (c colour) {
	for i := range c {
		c[i] = a[i]*part + b[i]*(1-part)
	}
	return c
}

// contrast is the ratio that WCAG 2 defines.
func contrast(a, b colour) float64 {
	luminance := func(c colour) float64 {
		var l [3]float64
		for i, v := range c {
			if l[i] = v / 12.92; v > 0.04045 {
				l[i] = math.Pow((v+0.055)/1.055, 2.4)
			}
		}
		return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestContrast: text can be read (WCAG 2, level AA: 4.5 to 1) on all that it stands on, in both themes, at any heat.
func TestContrast(t *testing.T) {
	require.InDelta(t, 21, contrast(colour{}, colour{1, 1, 1}), 0.01)
	for theme, name := range []string{"light", "dark"} {
		c := pageColours(t, theme)
		check := func(text string, on colour, where string) {
			require.GreaterOrEqual(t, contrast(c[text], on), 4.5, "%s: --%s on %s", name, text, where)
		}
		for _, text := range []string{"text", "muted", "accent"} {
			for _, on := range []string{"bg", "raised", "target"} {
				check(text, c[on], on)
			}
		}
		for _, on := range []string{"hot", "less", "own", "library", "loader", "unknown"} {
			check("text", c[on], on)
		}
		// Lines: the count on all of a heat's colour, syntax on 22 % of it.
		for _, heat := range []string{"hot", "less"} {
			for part := 0.0; part <= 1; part += 0.05 {
				check("text", mix(c[heat], c["bg"], part), heat)
			}
			for _, text := range []string{"k", "t", "f", "s", "n", "c", "p", "b"} {
				check(text, mix(c[heat], c["bg"], 0.22), heat+" behind code")
				check(text, c["target"], "a line that was found")
				check(text, c["raised"], "a line above instructions")
			}
		}
		// What is not text needs 3 to 1 (1.4.11): the ring around what has the focus.
		require.GreaterOrEqual(t, contrast(c["accent"], c["bg"]), 3.0)
	}
}
