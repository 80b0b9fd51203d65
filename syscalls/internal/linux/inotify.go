package linux

// Events of inotify(7) and flags of inotify_add_watch(2) (include/uapi/linux/inotify.h).
const (
	IN_ACCESS        = 0x1
	IN_MODIFY        = 0x2
	IN_ATTRIB        = 0x4
	IN_CLOSE_WRITE   = 0x8
	IN_CLOSE_NOWRITE = 0x10
	IN_OPEN          = 0x20
	IN_MOVED_FROM    = 0x40
	IN_MOVED_TO      = 0x80
	IN_CREATE        = 0x100
	IN_DELETE        = 0x200
	IN_DELETE_SELF   = 0x400
	IN_MOVE_SELF     = 0x800
	IN_ALL_EVENTS    = 0xfff

	IN_Q_OVERFLOW = 0x4000
	IN_IGNORED    = 0x8000

	IN_ONLYDIR     = 0x01000000
	IN_DONT_FOLLOW = 0x02000000
	IN_EXCL_UNLINK = 0x04000000
	IN_MASK_CREATE = 0x10000000
	IN_MASK_ADD    = 0x20000000
	IN_ISDIR       = 0x40000000
	IN_ONESHOT     = 0x80000000
)
