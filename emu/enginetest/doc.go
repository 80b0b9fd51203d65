// Package enginetest compares engines with the host CPU, instruction form by
// instruction form. It holds tests, and what they need to run guest code natively.
//
// A case is a few instructions with the state to run them in. It runs natively in
// a child process, the test binary executing itself, at the guest addresses it has
// under an engine, and ends in the first exception: an INT3 behind it if nothing
// else. Registers, flags, x87, SSE and AVX state, memory and the exception must
// then be the same. What an engine emulates because hosts differ is listed with the reason
// in support_test.go and vendor_test.go.
//
// To run code natively takes linux/amd64. So what CPUs did is recorded as well, in testdata/recorded-VENDOR.gz, and the
// interpreter is compared with that on all hosts (TestRecorded). With -tags oracles every operand shape of every form
// is tried, without it a sample.
//
// The package is cgemu's own: what it promises may change.
package enginetest
