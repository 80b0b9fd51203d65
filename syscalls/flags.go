package syscalls

// Flags of open(2) and fcntl(F_SETFL) (include/uapi/asm-generic/fcntl.h).
const (
	oRDONLY    = 0
	oWRONLY    = 1
	oRDWR      = 2
	oACCMODE   = 3
	oCREAT     = 0o100
	oEXCL      = 0o200
	oNOCTTY    = 0o400
	oTRUNC     = 0o1000
	oAPPEND    = 0o2000
	oNONBLOCK  = 0o4000
	oDSYNC     = 0o10000
	oASYNC     = 0o20000
	oDIRECT    = 0o40000
	oLARGEFILE = 0o100000
	oDIRECTORY = 0o200000
	oNOFOLLOW  = 0o400000
	oNOATIME   = 0o1000000
	oCLOEXEC   = 0o2000000
	oSYNC      = 0o4010000
	oPATH      = 0o10000000
	oTMPFILE   = 0o20200000

	// settable are the flags F_SETFL can change.
	settable = oAPPEND | oDIRECT | oNOATIME | oNONBLOCK
)

// Flags of the *at calls.
const (
	atFDCWD           = -100
	atSymlinkNofollow = 0x100
	atEaccess         = 0x200
	atRemovedir       = 0x200
	atSymlinkFollow   = 0x400
	atNoAutomount     = 0x800
	atEmptyPath       = 0x1000
	atStatxSync       = 0x6000
)

// File types in st_mode, and the types getdents64 gives.
const (
	sIFMT   = 0o170000
	sIFSOCK = 0o140000
	sIFLNK  = 0o120000
	sIFREG  = 0o100000
	sIFBLK  = 0o060000
	sIFDIR  = 0o040000
	sIFCHR  = 0o020000
	sIFIFO  = 0o010000
)

// dirType is the d_type of a file with mode.
func dirType(mode uint32) uint8 { return uint8(mode & sIFMT >> 12) }

// Whence of lseek(2).
const (
	seekSet  = 0
	seekCur  = 1
	seekEnd  = 2
	seekData = 3
	seekHole = 4
)

// Events of poll(2).
const (
	pollIN   = 0x001
	pollPRI  = 0x002
	pollOUT  = 0x004
	pollERR  = 0x008
	pollHUP  = 0x010
	pollNVAL = 0x020
	pollRDN  = 0x040
	pollRDB  = 0x080
	pollWRN  = 0x100
	pollWRB  = 0x200
	pollRDH  = 0x2000
)
