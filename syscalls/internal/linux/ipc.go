package linux

// Flags and commands of System V's three kinds of objects (include/uapi/linux/ipc.h).
const (
	IPC_PRIVATE = 0
	IPC_CREAT   = 0o1000
	IPC_EXCL    = 0o2000
	IPC_NOWAIT  = 0o4000

	IPC_RMID = 0
	IPC_SET  = 1
	IPC_STAT = 2
	IPC_INFO = 3
)

// SI_MESGQ is si_code of what mq_notify(2) sends.
const SI_MESGQ = -3

// Flags, commands and limits of System V message queues (include/uapi/linux/msg.h).
const (
	MSG_NOERROR = 0o10000
	MSG_EXCEPT  = 0o20000
	MSG_COPY    = 0o40000

	MSG_STAT     = 11
	MSG_INFO     = 12
	MSG_STAT_ANY = 13
)

// Flags, commands and limits of System V semaphores (include/uapi/linux/sem.h).
const (
	SEM_UNDO = 0o10000

	GETPID       = 11
	GETVAL       = 12
	GETALL       = 13
	GETNCNT      = 14
	GETZCNT      = 15
	SETVAL       = 16
	SETALL       = 17
	SEM_STAT     = 18
	SEM_INFO     = 19
	SEM_STAT_ANY = 20
)

// Flags and commands of System V shared memory (include/uapi/linux/shm.h).
const (
	SHM_RDONLY = 0o10000
	SHM_RND    = 0o20000
	SHM_REMAP  = 0o40000
	SHM_EXEC   = 0o100000
	SHM_DEST   = 0o1000

	SHM_LOCK     = 11
	SHM_UNLOCK   = 12
	SHM_STAT     = 13
	SHM_INFO     = 14
	SHM_STAT_ANY = 15
)
