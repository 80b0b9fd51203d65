//go:build !linux

package cachesim

import "errors"

// Host would return the caches of the machine we run on: only Linux tells.
func Host() (cfg Config, warning string, err error) {
	return Config{}, "", errors.New("cannot detect the host's caches: only Linux describes them")
}
