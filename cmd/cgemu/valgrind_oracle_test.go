//go:build oracles && linux && amd64

package main

import (
	"errors"
	"os/exec"
	"regexp"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// TestValgrindHelp has cgemu know every option that Valgrind's own help has, of the core, of Cachegrind and of
// Callgrind.
func TestValgrindHelp(t *testing.T) {
	option := regexp.MustCompile(`(?m)^ {4,}--([a-zA-Z0-9-]+)(=| |$)`)
	known := 0
	for _, tool := range []string{"cachegrind", "callgrind"} {
		help, err := exec.Command("valgrind", "--tool="+tool, "--help-debug").Output()
		require.NoError(t, err)
		for _, m := range option.FindAllStringSubmatch(string(help), -1) {
			switch name := m[1]; name {
			case "help", "help-debug", "help-dyn-options", "version", "separate-recs2":
			default:
				_, _, err := parseOptions([]string{"--" + name + "=value"})
				var unknown *pflag.NotExistError
				require.False(t, errors.As(err, &unknown), "%s: --%s", tool, name)
				known++
			}
		}
	}
	require.Greater(t, known, 150)
}
