package browsertest

// A Suite is the tests of a package that have tabs of one Chromium: the first of
// them starts it, and it ends behind the last one.
type Suite struct {
	// M is what runs the tests, as TestMain has it.
	M interface{ Run() int }
}

// end ends the Chromium, if it was started; nil if no Suite would call it.
var end func()

// Run runs the tests.
func (s Suite) Run() int {
	end = func() {}
	defer func() { end() }()
	return s.M.Run()
}
