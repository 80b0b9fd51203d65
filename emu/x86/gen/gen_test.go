package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTablesCurrent compares tables.go with what insns.txt says.
func TestTablesCurrent(t *testing.T) {
	text, err := os.ReadFile("../insns.txt")
	require.NoError(t, err)
	forms, err := parse("insns.txt", string(text))
	require.NoError(t, err)
	trees, err := buildTrees(forms)
	require.NoError(t, err)
	got, err := emit(forms, trees)
	require.NoError(t, err)
	want, err := os.ReadFile("../tables.go")
	require.NoError(t, err)
	require.True(t, string(got) == string(want), "tables.go is stale: go generate ./emu/x86")
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"01/r ADD Ev Gv", "f:1: want ENCODING MNEMONIC"},
		{"01/x ADD Ev Gv ; base", "bad ModRM"},
		{"1/r/r X ; base", "bad ModRM"},
		{"01/r ADD Xv ; base", "unknown operand"},
		{"01/r ADD Ek ; base", "unknown size"},
		{"01/r ADD Ev ; base what", "unknown attribute"},
		{"01/r ADD Ev ; base k=1", "unknown attribute"},
		{"01/r ADD Ev ; base gr=zz", "unknown register"},
		{"01/r ADD Ev ; base ref=R@nowhere", "unknown place"},
		{"01/r ADD Ev ; base ref=X4", "bad reference"},
		{"64.01/r ADD Ev ; base", "unknown prefix"},
		{"VEX.L9.66.0F.01/r ADD Ev ; base", "unknown length"},
		{"VEX.L0.66.0E.01/r ADD Ev ; base", "unknown map"},
		{"01/r,q1 ADD Ev ; base", "unknown condition"},
		{"XX/r ADD Ev ; base", "bad opcode"},
	} {
		_, err := parse("f", tt.line)
		require.ErrorContains(t, err, tt.want, tt.line)
	}
}

func TestTies(t *testing.T) {
	forms, err := parse("f", "01/r ADD Ev+ Gv ; base\n01/r SUB Ev+ Gv ; base")
	require.NoError(t, err)
	_, err = buildTrees(forms)
	require.ErrorContains(t, err, `map "", opcode 01: lines 1 and 2 match alike`)
}
