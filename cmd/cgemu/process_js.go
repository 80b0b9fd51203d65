package main

import (
	"errors"
	"os"
)

// hangups are none: a browser has no terminals.
var hangups []os.Signal

// replaceProcess fails: a browser has no processes.
func replaceProcess(string, []string, []string) error { return errors.ErrUnsupported }
