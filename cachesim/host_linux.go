package cachesim

import (
	"fmt"
	"os"
)

// Host returns the caches of the machine we run on. warning says what of them cannot be
// simulated, if anything.
func Host() (cfg Config, warning string, err error) {
	caches, err := readHost(os.DirFS(hostDir))
	if err == nil {
		cfg, warning, err = configOf(caches)
	}
	if err != nil {
		return Config{}, "", fmt.Errorf("cannot detect the host's caches: %s: %w", hostDir, err)
	}
	return cfg, warning, nil
}
