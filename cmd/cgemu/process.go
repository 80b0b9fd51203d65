//go:build !js

package main

import (
	"os"
	"syscall"
)

// hangups are the signals that a terminal sends when it goes away.
var hangups = []os.Signal{syscall.SIGHUP}

// replaceProcess has another program go on in place of cgemu. It returns only if that fails.
func replaceProcess(program string, argv, env []string) error {
	return syscall.Exec(program, argv, env)
}
