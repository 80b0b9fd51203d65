package main

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// TestBound reads values of --bind: none that ends with :ro lets anything be changed.
func TestBound(t *testing.T) {
	for value, want := range map[string]cgemu.Bind{
		"/d": {Host: "/d", Guest: "/d"}, "/d:ro": {Host: "/d", Guest: "/d", ReadOnly: true}, "/d:rw": {Host: "/d", Guest: "/d"},
		"/d:/p": {Host: "/d", Guest: "/p"}, "/d:/p:ro": {Host: "/d", Guest: "/p", ReadOnly: true}, "/d:/p:rw": {Host: "/d", Guest: "/p"},
		"d:p": {Host: "d", Guest: "p"}, "d:ro:ro": {Host: "d", Guest: "ro", ReadOnly: true}, "/d:/ro": {Host: "/d", Guest: "/ro"}, "/d:/p:q:ro": {Host: "/d", Guest: "/p:q", ReadOnly: true},
	} {
		if runtime.GOOS == "windows" && want.Guest == "/d" {
			continue // where the host has it
		}
		o := options{binds: []string{value}}
		require.Equal(t, []cgemu.Bind{want}, o.bound(), value)
	}
}

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
