package mark

import "testing"

// TestNatively makes every request where nobody answers. (The module's root package tests them
// under cgemu.)
func TestNatively(t *testing.T) {
	for range 3 {
		Start()
		Zero()
		Dump()
		DumpAt("name")
		DumpAt("")
		Toggle()
		Stop()
		if Running() {
			t.Fatal("somebody says that this runs under cgemu")
		}
	}
}
