package check_test

import (
	"os"
	"testing"
)

// TestMain has what runs keep be kept where it is removed.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cgemu-test")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", dir)
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}
