package sem

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompareString has what C libraries use the instructions for: zeros end strings, and the index is that of the
// first element found.
func TestCompareString(t *testing.T) {
	for _, test := range []struct {
		format textFormat
		set, x string
		index  int
	}{
		{0x00, "aeiou", "rhythm and blues", strings.IndexAny("rhythm and blues", "aeiou")}, // any of a set
		{0x00, "xyz", "rhythm", 2},
		{0x00, "xz", "rhythm", 16},
		{0x10, "rh", "rhythm", 2},            // none of a set; what is not valid counts
		{0x30, "rhytm", "rhythm", 16},        // none of a set, of valid ones
		{0x40, "aeiou", "rhythm, blues", 11}, // the last one
		{0x04, "09AF", "what is 7F", 8},      // ranges
		{0x14, "az", "abcDef", 3},            // the first outside of them
		{0x18, "abcdef", "abcdxf", 4},        // the first difference
		{0x18, "abc", "abc", 16},             // what is not valid is alike
		{0x18, "abc", "abcd", 3},
		{0x0c, "blues", "rhythm and blues", 11},  // a string in another one
		{0x0c, "bluest", "rhythm and blues", 11}, // it may go on in what follows
		{0x0c, "roots", "rhythm and blues", 16},
	} {
		var a, b [16]byte
		copy(a[:], test.set)
		copy(b[:], test.x)
		set, x := test.format.text(laneOf(&a)), test.format.text(laneOf(&b))
		k, n := test.format.length(&set), test.format.length(&x)
		require.Equal(t, len(test.set), k)
		require.Equal(t, len(test.x), n)
		found := test.format.polarized(test.format.compare(&set, &x, k, n), n)
		require.Equal(t, test.index, test.format.index(found), "%q in %q", test.set, test.x)
	}
}

// TestTextFormat has numbers of both sizes, with and without a sign.
func TestTextFormat(t *testing.T) {
	l := lane{0xff80_0001_0000_7fff, 0}
	words, bytes := textFormat(1).text(l), textFormat(0).text(l)
	require.Equal(t, []int32{0x7fff, 0, 1, 0xff80, 0}, words[:5])
	require.Equal(t, []int32{0xff, 0x7f, 0, 0, 1, 0, 0x80, 0xff, 0}, bytes[:9])
	words, bytes = textFormat(3).text(l), textFormat(2).text(l)
	require.Equal(t, []int32{0x7fff, 0, 1, -0x80, 0}, words[:5])
	require.Equal(t, []int32{-1, 0x7f, 0, 0, 1, 0, -0x80, -1, 0}, bytes[:9])

	require.Equal(t, 16, textFormat(0).explicit(-1<<63))
	require.Equal(t, 16, textFormat(0).explicit(17))
	require.Equal(t, 8, textFormat(1).explicit(-9))
	require.Equal(t, 3, textFormat(1).explicit(-3))
	require.Equal(t, lane{0x00ff00000000ff00, 0xff00000000000000}, textFormat(0x40).mask(1<<1|1<<6|1<<15))
	require.Equal(t, lane{0xffff0000, 0xffff << 48}, textFormat(0x41).mask(1<<1|1<<7))
}
