package hooks

// A Request is a kind of client request: a sequence of instructions that does
// nothing on a CPU and speaks to the tool under which a program runs (valgrind.h).
// It counts as one instruction.
type Request uint8

// Kinds of request.
const (
	NoRequest    Request = iota
	CallTool             // RAX points to the arguments, RDX receives the result
	OriginalAddr         // RAX receives the address of the function that was replaced: 0
	CallOriginal         // calls *RAX
	Inject               // for tests of Valgrind: does nothing
)

// RequestLen is the length of a request's code in bytes.
const RequestLen = 19

// preamble is rol $3, $13, $61, $51 on RDI: 128 bits in all.
const preamble = "\x48\xc1\xc7\x03\x48\xc1\xc7\x0d\x48\xc1\xc7\x3d\x48\xc1\xc7\x33"

// RequestAt recognises a client request at the start of code.
func RequestAt(code []byte) Request {
	if len(code) < RequestLen || code[0] != preamble[0] || string(code[:len(preamble)]) != preamble ||
		code[16] != 0x48 || code[17] != 0x87 {
		return NoRequest
	}
	switch code[18] {
	case 0xdb: // xchg rbx, rbx
		return CallTool
	case 0xc9: // xchg rcx, rcx
		return OriginalAddr
	case 0xd2: // xchg rdx, rdx
		return CallOriginal
	case 0xff: // xchg rdi, rdi
		return Inject
	}
	return NoRequest
}
