package linux

// Operations of futex(2).
const (
	FUTEX_WAIT        = 0
	FUTEX_WAKE        = 1
	FUTEX_REQUEUE     = 3
	FUTEX_CMP_REQUEUE = 4
	FUTEX_WAKE_OP     = 5
	FUTEX_WAIT_BITSET = 9
	FUTEX_WAKE_BITSET = 10

	FUTEX_PRIVATE_FLAG     = 128
	FUTEX_CLOCK_REALTIME   = 256
	FUTEX_BITSET_MATCH_ANY = 1<<32 - 1
	FUTEX_WAITERS          = 1 << 31
	FUTEX_OWNER_DIED       = 1 << 30
	FUTEX_TID_MASK         = 1<<30 - 1
)

// Operations of futex(2) on locks whose word is their owner's thread id. There are no priorities here that could be
// inherited: a lock goes to the first that waits.
const (
	FUTEX_LOCK_PI    = 6
	FUTEX_UNLOCK_PI  = 7
	FUTEX_TRYLOCK_PI = 8
	FUTEX_LOCK_PI2   = 13

	FUTEX_WAIT_REQUEUE_PI = 11
	FUTEX_CMP_REQUEUE_PI  = 12
)

// What futex_waitv(2) takes (include/uapi/linux/futex.h).
const (
	FUTEX_WAITV_MAX = 128
	FUTEX2_SIZE_U32 = 2 // the size that a word must have
)
