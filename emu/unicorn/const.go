//go:build unicorn && linux && (amd64 || arm64)

package unicorn

// Constants of unicorn.h and x86.h, which do not change within version 2.
const (
	archX86 = 4
	mode64  = 8

	hookIntr       = 1 << 0
	hookCode       = 1 << 2
	hookMemInvalid = 0x3f << 4
	hookMemRead    = 1 << 10
	hookMemWrite   = 1 << 11

	//lint:ignore U1000 for the assembly
	memWrite = 17 // of uc_mem_type

	protRead  = 1
	protWrite = 2
	protExec  = 4

	ctlRemoveCache = 0x48000009 // UC_CTL_WRITE(UC_CTL_TB_REMOVE_CACHE, 2)
	ctlFlush       = 0x4000000a // UC_CTL_WRITE(UC_CTL_TB_FLUSH, 0)
)

// Numbers of registers, of the first of those in a row.
const (
	regEFLAGS = 25
	regFPSW   = 31
	regRAX    = 35
	regRBP    = 36
	regRBX    = 37
	regRCX    = 38
	regRDI    = 39
	regRDX    = 40
	regRIP    = 41
	regRSI    = 43
	regRSP    = 44
	regCR0    = 50
	regFP0    = 82
	regR8     = 106
	regXMM0   = 122
	regFPCW   = 246
	regFPTAG  = 247
	regMXCSR  = 249
	regFSBase = 250
	regGSBase = 251
)

// cr0 has PE, ET and NE: x87 errors are exceptions.
const cr0 = 0x31
