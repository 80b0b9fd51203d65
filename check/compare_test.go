package check

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func counts(events, functions map[string]uint64) *Counts {
	return &Counts{Events: events, Functions: functions, Fingerprint: map[string]string{"program": "1", "cpu": "v3"}}
}

func TestCompare(t *testing.T) {
	type m = map[string]uint64
	b := &Benchmark{
		Name: "b", Settings: Settings{Events: []string{"Ir"}, Limit: "1%"},
		Functions: []FunctionLimit{{Name: "g*", Limit: int64(10)}},
	}
	old := counts(m{"Ir": 1000}, m{"a.c:f": 400, "a.c:g": 300, "./libc.c:puts": 100})
	for _, c := range []struct {
		events, functions m
		want              Verdict
	}{
		{m{"Ir": 1000}, old.Functions, Same},
		{m{"Ir": 1010}, m{"a.c:f": 410, "a.c:g": 300, "./libc.c:puts": 100}, Changed},
		{m{"Ir": 990}, m{"a.c:f": 390, "a.c:g": 300, "./libc.c:puts": 100}, Improved},
		{m{"Ir": 1011}, m{"a.c:f": 411, "a.c:g": 300, "./libc.c:puts": 100}, Regression},
		{m{"Ir": 1000}, m{"a.c:f": 389, "a.c:g": 311, "./libc.c:puts": 100}, Regression}, // of g alone
	} {
		r := Compare(b, old, &Measurement{Counts: counts(c.events, c.functions)})
		require.Equal(t, c.want, r.Verdict, "%v", c.functions)
		require.Empty(t, r.Differs)
	}
	require.Equal(t, New, Compare(b, nil, &Measurement{Counts: old}).Verdict)
	require.Equal(t, New, Compare(b, counts(m{}, m{}), &Measurement{Counts: old}).Verdict)
}

func TestWriteText(t *testing.T) {
	type m = map[string]uint64
	b := &Benchmark{Name: "b", Settings: Settings{Events: []string{"Ir"}, Limit: "1%"}}
	old := counts(m{"Ir": 1000}, m{"a.c:f": 400, "a.c:gone": 300, "./libc.c:puts": 100})
	now := &Measurement{
		Counts: counts(m{"Ir": 1100}, m{"a.c:f": 900, "./libc.c:puts": 20, "b.c:h": 5}),
		Lines:  map[string][]Line{"a.c:f": {{"a.c", 7, 880}, {"a.c", 6, 20}}, "b.c:h": {{"b.c", 1, 5}}},
	}
	now.Fingerprint["program"] = "2"
	r := &Report{Results: []Result{
		Compare(b, old, now), Compare(b, nil, now), Compare(b, old, &Measurement{Counts: old}), {Name: "x", Verdict: Failed, Err: errors.New("not there")},
	}}
	var out bytes.Buffer
	require.NoError(t, r.WriteText(&out))
	require.Equal(t, `b: Ir 1,000 -> 1,100 (+10.00 %, limit 1%): REGRESSION
               +500 500.0 % a.c:f
                           a.c:7: 880 now
                           a.c:6: 20 now
               -300 -300.0 % a.c:gone (gone)
                -80 -80.0 % ./libc.c:puts
                 +5   5.0 % b.c:h (new)
                           b.c:1: 5 now
               +205 in your code, -105 in libraries and elsewhere
    program: another build
b: new: Ir 1,100
b: as before, Ir 1,000
x: FAILED: not there
4 benchmarks: 1 failed, 1 regression, 1 new, 1 same
`, out.String())
	require.True(t, r.Regressed())
	require.True(t, r.Failed())
}
