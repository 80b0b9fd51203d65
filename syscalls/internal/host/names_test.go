package host

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWindowsNames checks that what Windows cannot have in a name comes back as it was, and that nothing else changes.
func TestWindowsNames(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", ".": ".", "..": "..", "...": "..\uf02e", "a.b": "a.b", "aux": "\uf061ux", "Nul.txt": "\uf04eul.txt", "nulls": "nulls", "com1 .x": "\uf063om1 .x",
		"a:b": "a\uf03ab", `a\b?`: "a\uf05cb\uf03f", "end ": "end\uf020", "end.": "end\uf02e", "tab\t": "tab\uf009", "é": "é", `<>"|*`: "\uf03c\uf03e\uf022\uf07c\uf02a",
	} {
		require.Equal(t, want, windowsName(name))
		require.Equal(t, name, linuxName(want))
	}
	require.Equal(t, "\uf04d\uf061\uf06b\uf065_1é", privateLetters("Make_1é"))
	require.Equal(t, "Make_1é", linuxName(privateLetters("Make_1é")))
	require.Equal(t, "a/\uf061ux/..", inPath("a/aux/..", windowsName))
	for p, want := range map[string]string{
		`C:\a\b`: "/c/a/b", `z:\`: "/z", `\\server\share\x`: "/server/share/x", "C:\\a\\\uf061ux": "/c/a/aux", "C:/a": "/c/a",
	} {
		require.Equal(t, want, driveToPath(p))
	}
}

// FuzzWindowsNames checks that names come back.
func FuzzWindowsNames(f *testing.F) {
	for _, s := range []string{"aux.", "con", "a b ", "\x01", "..a.."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, c := range name {
			if c == '/' || c == 0 || c >= privateUse && c < privateUse+0x80 || c == 0xfffd {
				t.Skip()
			}
		}
		require.Equal(t, name, linuxName(windowsName(name)))
	})
}
