// Package glob compares names of functions and files with patterns, as Callgrind's options have them.
package glob

import "strings"

// Match reports whether a pattern matches all of a name: `*` stands for any text, slashes too, `?` for any byte,
// nothing else is special.
func Match(pattern, name string) bool {
	star, mark := -1, 0 // where the last `*` was, and what it may stand for ends
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p, n = p+1, n+1
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// Any reports whether any of patterns matches a name.
func Any(patterns []string, name string) bool {
	for _, p := range patterns {
		if Match(p, name) {
			return true
		}
	}
	return false
}
