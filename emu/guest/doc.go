// Package guest is what engines know of guest code before they execute it.
//
// A Decoder reads instructions from guest memory. Features says which of them a guest's CPU model has. An instruction's
// Kind says how engines treat it: most are Plain, for the CPU to execute; some are Emulated in Go, by package sem; some
// are refused by name. RefAddr computes where an instruction refers to, from the registers in front of it.
//
// The package is cgemu's own: what it promises may change.
package guest
