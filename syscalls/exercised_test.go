package syscalls

import (
	"os"
	"strings"
)

// Exercised reads testdata/exercised.txt: which calls the programs of testdata/guest exercise.
func Exercised() (map[string][]string, error) {
	b, err := os.ReadFile("testdata/exercised.txt")
	if err != nil {
		return nil, err
	}
	programs := map[string][]string{}
	for line := range strings.Lines(string(b)) {
		if name, calls, ok := strings.Cut(line, ":"); ok && line[0] != '#' {
			programs[name] = strings.Fields(calls)
		}
	}
	return programs, nil
}
