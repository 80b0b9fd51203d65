package host

import (
	"path"
	"strings"
)

// Names that Windows cannot have, for portable_windows.go; here, so that they are tested on every host.

// reserved are the names of devices, with whatever extension.
var reserved = map[string]bool{
	"con": true, "prn": true, "aux": true, "nul": true, "conin$": true, "conout$": true,
	"com0": true, "com1": true, "com2": true, "com3": true, "com4": true, "com5": true, "com6": true, "com7": true, "com8": true, "com9": true,
	"lpt0": true, "lpt1": true, "lpt2": true, "lpt3": true, "lpt4": true, "lpt5": true, "lpt6": true, "lpt7": true, "lpt8": true, "lpt9": true,
}

// windowsName is name as Windows can have it: what it cannot have is in the private use area.
func windowsName(name string) string {
	if name == "." || name == ".." {
		return name
	}
	stem, _, _ := strings.Cut(name, ".")
	device := reserved[strings.ToLower(strings.TrimRight(stem, " "))]
	last := len(name) - 1
	var b strings.Builder
	for i, c := range name {
		switch {
		case c < 0x20 || strings.ContainsRune(`<>:"|?*\`, c), i == 0 && device, i == last && (c == '.' || c == ' '):
			c += privateUse
		}
		b.WriteRune(c)
	}
	return b.String()
}

// privateUse is what is added to a character that a name cannot have.
const privateUse = 0xf000

// privateLetters is name with its letters of ASCII in the private use area.
func privateLetters(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			return c + privateUse
		}
		return c
	}, name)
}

// linuxName is the name of which windowsName made name.
func linuxName(name string) string {
	return strings.Map(func(c rune) rune {
		if c > privateUse && c < privateUse+0x80 {
			return c - privateUse
		}
		return c
	}, name)
}

// inPath calls do for each name of a path.
func inPath(p string, do func(string) string) string {
	names := strings.Split(p, "/")
	for i, n := range names {
		names[i] = do(n)
	}
	return strings.Join(names, "/")
}

// driveToPath is a path of Windows as one without drives, in which C: is a directory c.
func driveToPath(p string) string {
	p = inPath(strings.ReplaceAll(p, `\`, "/"), linuxName)
	if len(p) >= 2 && p[1] == ':' {
		p = "/" + strings.ToLower(p[:1]) + "/" + p[2:]
	}
	return path.Clean("/" + p)
}
