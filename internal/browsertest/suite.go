package browsertest

import "github.com/cgemu/cgemu/internal/testhost"

// A Suite is the tests of a package, which share a Chromium: the first one that
// needs it starts it, and it ends when all have run.
type Suite struct {
	// M is what runs the tests, as TestMain has it.
	M interface{ Run() int }
}

// end ends the Chromium, if it was started. It is nil where no Suite will call it.
var end func()

// Run runs the tests, where they find what testhost.Settle gives.
func (s Suite) Run() int {
	testhost.Settle()
	end = func() {}
	defer func() { end() }()
	return s.M.Run()
}
