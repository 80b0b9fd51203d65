package linux

// Bits of struct termios (include/uapi/asm-generic/termbits.h).
const (
	ISTRIP = 0o40
	INLCR  = 0o100
	IGNCR  = 0o200
	ICRNL  = 0o400
	IXON   = 0o2000
	IXANY  = 0o4000
	IUTF8  = 0o40000

	OPOST  = 0o1
	ONLCR  = 0o4
	OCRNL  = 0o10
	ONOCR  = 0o20
	ONLRET = 0o40
	XTABS  = 0o14000

	ISIG    = 0o1
	ICANON  = 0o2
	ECHO    = 0o10
	ECHOE   = 0o20
	ECHOK   = 0o40
	ECHONL  = 0o100
	NOFLSH  = 0o200
	TOSTOP  = 0o400
	ECHOCTL = 0o1000
	ECHOKE  = 0o4000
	IEXTEN  = 0o100000
	EXTPROC = 0o200000
)

// Sizes of structs as the kernel has them: termios2 has two speeds behind what termios has.
const (
	TermiosSize  = 36
	Termios2Size = 44
	WinsizeSize  = 8
)

// Indices of c_cc.
const (
	VINTR    = 0
	VQUIT    = 1
	VERASE   = 2
	VKILL    = 3
	VEOF     = 4
	VTIME    = 5
	VMIN     = 6
	VSTART   = 8
	VSTOP    = 9
	VSUSP    = 10
	VEOL     = 11
	VREPRINT = 12
	VWERASE  = 14
	VLNEXT   = 15
	VEOL2    = 16
)

// Speeds in c_cflag: those of input are shifted by IBSHIFT; BOTHER says that they are numbers.
const (
	CBAUD   = 0o10017
	CBAUDEX = 0o10000
	BOTHER  = 0o10000
	IBSHIFT = 16
)

// NewSpeed is that of a new terminal, in bits a second.
const NewSpeed = 38400

// bauds are the speeds that c_cflag has numbers for, those with CBAUDEX behind the others.
var bauds = [...]uint32{
	0, 50, 75, 110, 134, 150, 200, 300, 600, 1200, 1800, 2400, 4800, 9600, 19200, 38400,
	57600, 115200, 230400, 460800, 500000, 576000, 921600, 1000000, 1152000, 1500000, 2000000, 2500000, 3000000, 3500000, 4000000,
}

// Speeds returns the speeds, in bits a second, of a terminal with c_cflag, whose c_ispeed and c_ospeed are in and out.
func Speeds(cflag, in, out uint32) (ispeed, ospeed uint32) {
	speed := func(code, other uint32) uint32 {
		switch {
		case code == BOTHER:
			return other
		case code&CBAUDEX != 0:
			return bauds[code&^CBAUDEX+15]
		}
		return bauds[code]
	}
	ospeed = speed(cflag&CBAUD, out)
	if code := cflag >> IBSHIFT & CBAUD; code != 0 {
		return speed(code, in), ospeed
	}
	return ospeed, ospeed
}

// Requests that pseudoterminals alone have.
const (
	TIOCGPTN    = 0x80045430
	TIOCSPTLCK  = 0x40045431
	TIOCGPTLCK  = 0x80045439
	TIOCGPTPEER = 0x5441
	TIOCPKT     = 0x5420
	TIOCGPKT    = 0x80045438
)

// What a master in packet mode reads in front of output, and bits of what it reads alone.
const (
	TIOCPKT_DATA       = 0
	TIOCPKT_FLUSHREAD  = 1
	TIOCPKT_FLUSHWRITE = 2
	TIOCPKT_STOP       = 4
	TIOCPKT_START      = 8
	TIOCPKT_NOSTOP     = 16
	TIOCPKT_DOSTOP     = 32
	TIOCPKT_IOCTL      = 64
)

// Requests of ioctl(2) (include/uapi/asm-generic/ioctls.h).
const (
	TCGETS         = 0x5401
	TCSETS         = 0x5402
	TCSETSW        = 0x5403
	TCSETSF        = 0x5404
	TCGETA         = 0x5405
	TCSETA         = 0x5406
	TCSETAW        = 0x5407
	TCSETAF        = 0x5408
	TCGETS2        = 0x802c542a
	TCSETS2        = 0x402c542b
	TCSETSW2       = 0x402c542c
	TCSETSF2       = 0x402c542d
	TCSBRK         = 0x5409
	TCXONC         = 0x540a
	TCSBRKP        = 0x5425
	TCFLSH         = 0x540b
	TIOCEXCL       = 0x540c
	TIOCNXCL       = 0x540d
	TIOCGEXCL      = 0x80045440
	TIOCSCTTY      = 0x540e
	TIOCGPGRP      = 0x540f
	TIOCSPGRP      = 0x5410
	TIOCOUTQ       = 0x5411
	TIOCGWINSZ     = 0x5413
	TIOCSWINSZ     = 0x5414
	FIONREAD       = 0x541b
	FIONBIO        = 0x5421
	TIOCNOTTY      = 0x5422
	TIOCGETD       = 0x5424
	TIOCGSID       = 0x5429
	FIONCLEX       = 0x5450
	FIOCLEX        = 0x5451
	FIOASYNC       = 0x5452
	FIOSETOWN      = 0x8901
	FIOGETOWN      = 0x8903
	SIOCSPGRP      = 0x8902
	SIOCGPGRP      = 0x8904
	TIOCGLCKTRMIOS = 0x5456
	TIOCSLCKTRMIOS = 0x5457
	FICLONE        = 0x40049409
	BLKGETSIZE     = 0x1260
)
