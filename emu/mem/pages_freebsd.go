package mem

// noReserve is nothing: FreeBSD has no MAP_NORESERVE, and refuses flags of mmap(2) that it does not have.
const noReserve = 0
