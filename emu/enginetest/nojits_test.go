//go:build !linux || !amd64

package enginetest

// engines are the engines to test, lesserEngines translators that lack something of the host's.
var engines, lesserEngines = interpreters, []engineUnderTest(nil)
