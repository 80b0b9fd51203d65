//go:build !(amd64 || arm64 || loong64 || mips64le || ppc64le || riscv64 || wasm)

package mem

// Guest memory lies in one range of host memory, whose words are the guest's: cgemu is for hosts with 64-bit addresses
// that are little-endian, those in the line above. Others do not compile, here first.
var _ = hostIsNot64BitLittleEndian
