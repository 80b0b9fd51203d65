// Package export writes profiles in the formats of other tools: for KCachegrind, pprof, flame graphs, speedscope, the Firefox
// Profiler, Perfetto and lcov.
//
// Most of these formats want stacks. A call graph has none: it knows for each function what its calls cost, not what they cost when it was
// called from here or there. So stacks are made of it. What a function costs itself, and each call that it makes, is shared among the
// stacks that lead to it in proportion to what they brought there, event by event, and rounded so that sums stay what they are: in all stacks together a
// function costs itself what the profile says, to the unit. Three things are special:
//
//   - A function that calls itself is on a stack once.
//   - Functions that call each other in a cycle stand side by side below a frame `(cycle N)`: in which order they called each other is not known.
//   - Stacks that cost little, and those that are too deep, are bundled by function: a frame `(...)` stands for the frames between
//     the last one that they share and the function.
//
// A profile without a call graph has stacks of a function and its lines.
//
// The same profile gives the same bytes. Nothing is read but the profile.
package export
