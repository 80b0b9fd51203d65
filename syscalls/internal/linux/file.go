package linux

// PATH_MAX is the longest path with its terminator.
const PATH_MAX = 4096

// IOV_MAX is how many pieces of memory a call like readv(2) takes (UIO_MAXIOV).
const IOV_MAX = 1024

// Special nanoseconds of utimensat(2).
const (
	UTIME_NOW  = 1<<30 - 1
	UTIME_OMIT = 1<<30 - 2
)

// Modes of fallocate(2).
const (
	FALLOC_FL_KEEP_SIZE      = 0x01
	FALLOC_FL_PUNCH_HOLE     = 0x02
	FALLOC_FL_COLLAPSE_RANGE = 0x08
	FALLOC_FL_ZERO_RANGE     = 0x10
	FALLOC_FL_INSERT_RANGE   = 0x20
	FALLOC_FL_UNSHARE_RANGE  = 0x40
)

// Magic numbers of file systems (include/uapi/linux/magic.h).
const (
	TMPFS_MAGIC  = 0x01021994
	SYSFS_MAGIC  = 0x62656572
	SOCKFS_MAGIC = 0x534f434b
	PIPEFS_MAGIC = 0x50495045
	NSFS_MAGIC   = 0x6e736673
)

// Flags of open(2) and fcntl(F_SETFL) (include/uapi/asm-generic/fcntl.h).
const (
	O_RDONLY    = 0
	O_WRONLY    = 1
	O_RDWR      = 2
	O_ACCMODE   = 3
	O_CREAT     = 0o100
	O_EXCL      = 0o200
	O_NOCTTY    = 0o400
	O_TRUNC     = 0o1000
	O_APPEND    = 0o2000
	O_NONBLOCK  = 0o4000
	O_DSYNC     = 0o10000
	O_ASYNC     = 0o20000
	O_DIRECT    = 0o40000
	O_LARGEFILE = 0o100000
	O_DIRECTORY = 0o200000
	O_NOFOLLOW  = 0o400000
	O_NOATIME   = 0o1000000
	O_CLOEXEC   = 0o2000000
	O_SYNC      = 0o4010000
	O_PATH      = 0o10000000
	O_TMPFILE   = 0o20200000
)

// Flags of the *at calls.
const (
	AT_FDCWD            = -100
	AT_SYMLINK_NOFOLLOW = 0x100
	AT_EACCESS          = 0x200
	AT_REMOVEDIR        = 0x200
	AT_SYMLINK_FOLLOW   = 0x400
	AT_NO_AUTOMOUNT     = 0x800
	AT_EMPTY_PATH       = 0x1000
	AT_STATX_SYNC_TYPE  = 0x6000
)

// File types in st_mode, which are the types that getdents64 gives, and bits of programs that change who executes them.
const (
	S_IFMT   = 0o170000
	S_IFSOCK = 0o140000
	S_IFLNK  = 0o120000
	S_IFREG  = 0o100000
	S_IFBLK  = 0o060000
	S_IFDIR  = 0o040000
	S_IFCHR  = 0o020000
	S_IFIFO  = 0o010000
	S_ISUID  = 0o4000
	S_ISGID  = 0o2000
)

// Whence of lseek(2).
const (
	SEEK_SET  = 0
	SEEK_CUR  = 1
	SEEK_END  = 2
	SEEK_DATA = 3
	SEEK_HOLE = 4
)

// Events of poll(2).
const (
	POLLIN     = 0x001
	POLLPRI    = 0x002
	POLLOUT    = 0x004
	POLLERR    = 0x008
	POLLHUP    = 0x010
	POLLNVAL   = 0x020
	POLLRDNORM = 0x040
	POLLRDBAND = 0x080
	POLLWRNORM = 0x100
	POLLWRBAND = 0x200
	POLLRDHUP  = 0x2000
)

// Types of record locks.
const (
	F_RDLCK = 0
	F_WRLCK = 1
)

// Flags of close_range(2).
const (
	CLOSE_RANGE_UNSHARE = 2
	CLOSE_RANGE_CLOEXEC = 4
)

// Commands of fcntl(2).
const (
	F_DUPFD         = 0
	F_GETFD         = 1
	F_SETFD         = 2
	F_GETFL         = 3
	F_SETFL         = 4
	F_GETLK         = 5
	F_SETLK         = 6
	F_SETLKW        = 7
	F_SETOWN        = 8
	F_GETOWN        = 9
	F_SETSIG        = 10
	F_GETSIG        = 11
	F_SETOWN_EX     = 15
	F_GETOWN_EX     = 16
	F_GETOWNER_UIDS = 17
	F_OFD_GETLK     = 36
	F_OFD_SETLK     = 37
	F_OFD_SETLKW    = 38
	F_SETLEASE      = 1024
	F_GETLEASE      = 1025
	F_DUPFD_CLOEXEC = 1030
	F_SETPIPE_SZ    = 1031
	F_DUPFD_QUERY   = 1027
	F_GETPIPE_SZ    = 1032
	F_ADD_SEALS     = 1033
	F_GET_SEALS     = 1034

	F_SEAL_SEAL         = 0x1
	F_SEAL_SHRINK       = 0x2
	F_SEAL_GROW         = 0x4
	F_SEAL_WRITE        = 0x8
	F_SEAL_FUTURE_WRITE = 0x10

	FD_CLOEXEC = 1
	F_UNLCK    = 2
)

// Operations of flock(2).
const (
	LOCK_SH   = 1
	LOCK_EX   = 2
	LOCK_NB   = 4
	LOCK_UN   = 8
	LOCK_MAND = 32
)

// Flags of memfd_create(2).
const (
	MFD_CLOEXEC       = 1
	MFD_ALLOW_SEALING = 2
	MFD_NOEXEC_SEAL   = 8
	MFD_EXEC          = 16
)

// Ways of openat2(2) to resolve a path (include/uapi/linux/openat2.h).
const (
	RESOLVE_NO_XDEV       = 0x01
	RESOLVE_NO_MAGICLINKS = 0x02
	RESOLVE_NO_SYMLINKS   = 0x04
	RESOLVE_BENEATH       = 0x08
	RESOLVE_IN_ROOT       = 0x10
	RESOLVE_CACHED        = 0x20
)

// Flags of preadv2(2) and pwritev2(2).
const (
	RWF_NOWAIT   = 8
	RWF_APPEND   = 16
	RWF_NOAPPEND = 32
)

// SPLICE_F_NONBLOCK is a flag of splice(2), tee(2) and vmsplice(2).
const SPLICE_F_NONBLOCK = 2

// STATX_BASIC_STATS is what statx(2) tells of as stat(2) does, STATX_BTIME the birth time.
const (
	STATX_BASIC_STATS = 0x7ff
	STATX_BTIME       = 0x800
)

// Limits of xattr(7).
const (
	XATTR_NAME_MAX = 255
	XATTR_SIZE_MAX = 64 << 10
	XATTR_CREATE   = 1
	XATTR_REPLACE  = 2
)
