package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVolume tells values of docker's -v from programs behind cgemu's, with paths of Windows, too.
func TestVolume(t *testing.T) {
	none := func(string) string { return "" }
	letter := func(s string) string {
		if len(s) > 1 && s[1] == ':' && s[0] == 'C' {
			return s[:2]
		}
		return ""
	}
	for arg, want := range map[string][2]bool{ // on Unix, and on Windows
		"work:/work": {true, true}, "./a:/b:ro": {true, true}, ".:/b:rw": {true, true}, "work": {}, "a:b": {}, ":/b": {}, "a:/b:x": {},
		`C:\x:/y`: {false, true}, `C:\x:/y:ro`: {false, true}, "C:/x:/y": {false, true}, "C:/prog": {true, false}, `C:\prog`: {},
	} {
		require.Equal(t, want, [2]bool{isVolume(arg, none), isVolume(arg, letter)}, arg)
	}
}
