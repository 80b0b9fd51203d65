package linux

// Advice of madvise(2).
const (
	MADV_DONTNEED        = 4
	MADV_FREE            = 8
	MADV_REMOVE          = 9
	MADV_DONTFORK        = 10
	MADV_DOFORK          = 11
	MADV_WIPEONFORK      = 18
	MADV_KEEPONFORK      = 19
	MADV_COLD            = 20
	MADV_PAGEOUT         = 21
	MADV_POPULATE_READ   = 22
	MADV_POPULATE_WRITE  = 23
	MADV_DONTNEED_LOCKED = 24
	MADV_COLLAPSE        = 25
)

// Flags of mlockall(2).
const (
	MCL_CURRENT = 1
	MCL_FUTURE  = 2
	MCL_ONFAULT = 4
)

// Commands of membarrier(2).
const (
	MEMBARRIER_CMD_QUERY                                = 0
	MEMBARRIER_CMD_GLOBAL                               = 1
	MEMBARRIER_CMD_GLOBAL_EXPEDITED                     = 2
	MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED            = 4
	MEMBARRIER_CMD_PRIVATE_EXPEDITED                    = 8
	MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED           = 16
	MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE          = 32
	MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE = 64
	MEMBARRIER_CMD_GET_REGISTRATIONS                    = 512
)

// Flags of mmap(2) (include/uapi/asm-generic/mman-common.h, arch/x86/include/uapi/asm/mman.h).
const (
	MAP_SHARED          = 0x01
	MAP_PRIVATE         = 0x02
	MAP_SHARED_VALIDATE = 0x03
	MAP_TYPE            = 0x0f
	MAP_FIXED           = 0x10
	MAP_ANONYMOUS       = 0x20
	MAP_32BIT           = 0x40
	MAP_GROWSDOWN       = 0x100
	MAP_LOCKED          = 0x2000
	MAP_FIXED_NOREPLACE = 0x100000

	PROT_SEM       = 8 // without a meaning
	PROT_GROWSDOWN = 0x01000000
	PROT_GROWSUP   = 0x02000000
)

// Flags of mremap(2).
const (
	MREMAP_MAYMOVE   = 1
	MREMAP_FIXED     = 2
	MREMAP_DONTUNMAP = 4
)
