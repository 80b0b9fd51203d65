package nonblock

// Flag is for os.OpenFile. A browser has no FIFOs.
const Flag = 0
