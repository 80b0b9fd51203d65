package soft

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An approxTable is a part of the file.
type approxTable struct {
	op        string
	f         func(uint32) uint32
	exp       uint32 // biased exponent of the operands
	intervals int
	resultExp uint32 // biased exponent of the results
}

var approxTables = []approxTable{
	{"rcp", Rcp, 127, 2048, 126},
	{"rsqrt", Rsqrt, 127, 1024, 126},
	{"rsqrt", Rsqrt, 128, 1024, 126},
}

// operand returns the operand at an offset within an interval.
func (a approxTable) operand(i int, offset uint32) uint32 {
	width := uint32(1<<fracBits) / uint32(a.intervals)
	return a.exp<<fracBits | uint32(i)*width | offset&(width-1)
}

// TestApproximationTables compares both ends of each interval, and one value at
// each other exponent, with the values recorded.
func TestApproximationTables(t *testing.T) {
	values := strings.Fields(strings.Join(recordedLines(t, "testdata/approx.txt"), " "))
	for _, tt := range approxTables {
		require.GreaterOrEqual(t, len(values), tt.intervals)
		for i, v := range values[:tt.intervals] {
			frac, err := strconv.ParseUint(v, 16, 12)
			require.NoError(t, err)
			want := tt.resultExp<<fracBits | uint32(frac)<<resultShift
			require.Equal(t, want, tt.f(tt.operand(i, 0)), "%s %d", tt.op, i)
			require.Equal(t, want, tt.f(tt.operand(i, ^uint32(0))), "%s %d", tt.op, i)
			// Four times the operand is a quarter, or half the result.
			step := map[string]uint32{"rcp": 2, "rsqrt": 1}[tt.op] << fracBits
			require.Equal(t, want-step, tt.f(tt.operand(i, 99)+2<<fracBits), "%s %d", tt.op, i)
		}
		values = values[tt.intervals:]
	}
	require.Empty(t, values)
}

func TestApproximationSpecials(t *testing.T) {
	for _, tt := range []struct {
		x, rcp, rsqrt uint32
	}{
		{0x00000000, 0x7f800000, 0x7f800000}, // zero
		{0x80000000, 0xff800000, 0xff800000},
		{0x00000001, 0x7f800000, 0x7f800000}, // denormal
		{0x80000001, 0xff800000, 0xff800000},
		{0x007fffff, 0x7f800000, 0x7f800000},
		{0x00800000, 0x7e7ff000, 0x5efff000}, // smallest normal
		{0x3f800000, 0x3f7ff000, 0x3f7ff000}, // 1
		{0xbf800000, 0xbf7ff000, 0xffc00000},
		{0x40000000, 0x3efff000, 0x3f34f800}, // 2
		{0x7e7fffff, 0x00800800, 0x20000800}, // smallest result of RCPSS
		{0x7e800000, 0x00000000, 0x1ffff000}, // would be denormal
		{0xfe800001, 0x80000000, 0xffc00000},
		{0x7f7fffff, 0x00000000, 0x1f800800}, // largest
		{0x7f800000, 0x00000000, 0x00000000}, // infinity
		{0xff800000, 0x80000000, 0xffc00000},
		{0x7f800001, 0x7fc00001, 0x7fc00001}, // NaN
		{0xff800001, 0xffc00001, 0xffc00001},
		{0x7f812345, 0x7fc12345, 0x7fc12345},
		{0xffc12345, 0xffc12345, 0xffc12345},
	} {
		assert.Equal(t, tt.rcp, Rcp(tt.x), "rcp %#x", tt.x)
		assert.Equal(t, tt.rsqrt, Rsqrt(tt.x), "rsqrt %#x", tt.x)
	}
}
