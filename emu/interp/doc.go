// Package interp is the engine for every host: it executes guest code in Go, without generated code, signals or
// anything else that a host has to offer.
//
// An Engine decodes guest code into blocks, straight runs of instructions up to a branch, and executes them with the
// semantics of package sem. A block has one counter, for how often it was entered; what its instructions count follows
// from that (hooks.Plan). A block that ends in the middle, because an instruction faults or overwrites the block's own
// code, takes back what it counted too much. Invalidate drops the blocks of a page; their counts stay.
//
// Addresses are guest addresses. Fetches and data references are simulated instruction by instruction where caches or
// branch predictors are asked for.
//
// The package is cgemu's own: what it promises may change.
package interp
