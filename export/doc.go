// Package export writes profiles in the formats of other tools: for KCachegrind, pprof, flame graphs, speedscope, the
// Firefox Profiler, Perfetto and lcov.
//
// Most of these formats want stacks. A call graph has none: it knows for each function what its calls cost, not what
// they cost when it was called from here or there. So stacks are made of it. What a function costs itself, and each
// call that it makes, is shared among the stacks that lead to it in proportion to what they brought there, event by
// event, and rounded so that sums stay what they are: in all stacks together a function costs itself what the profile
// says, to the unit. Three things are special:
//
//   - A function that calls itself is on a stack once.
//   - So are functions that call each other in a cycle: calls back to one that is active already are left out. In which
//     order they called each other is not known; those that cost most are believed.
//   - Stacks that cost little, and those that are too deep, are bundled by function: a frame `(...)` stands for the
//     frames between the last one that they share and the function. So it does where a cycle was entered at one
//     function and went on in another.
//
// A profile without a call graph has stacks of a function and its lines.
//
// The same profile gives the same bytes. Nothing is read but the profile.
package export
