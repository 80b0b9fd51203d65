package callgraph

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
)

// A Context is the number of a function with those that called it, the innermost first: up to a number of callers, with
// one element for calls of a function by itself (Callgrind's --separate-callers). Functions are known by the numbers of
// their names. Context 0 is that of no function.
type Context uint32

// MaxContexts is how many contexts with callers are told apart: functions that are called in others are told apart from
// themselves in these, and by no callers. Each takes some kilobytes, with the counts of what was executed in it.
const MaxContexts = 1 << 18

// contexts are the contexts of an address space.
type contexts struct {
	callers int
	names   func(a emu.Addr) []uint32
	lists   [][]uint32         // by Context
	index   map[string]Context // by list
	list    []uint32           // scratch space
	// limit is MaxContexts, full says that there would have been more.
	limit int
	full  bool
}

// SeparateCallers has functions told apart by callers, before anything is recorded: see emu.Config.
func (r *Recorder) SeparateCallers(callers int, names func(a emu.Addr) []uint32) {
	r.contexts = &contexts{limit: MaxContexts, callers: callers, names: names, lists: make([][]uint32, 1), index: map[string]Context{}}
	l := r.layout
	l.Header = Callee + 1
	r.SetLayout(l)
}

// SeparatesCallers reports whether functions are told apart by their callers, ManyContexts whether there were more
// contexts than are told apart.
func (r *Recorder) SeparatesCallers() bool { return r.contexts != nil }
func (r *Recorder) ManyContexts() bool     { return r.contexts != nil && r.contexts.full }

// List is what a context consists of: the numbers of the names of a function and its callers.
func (r *Recorder) List(c Context) []uint32 {
	if r.contexts == nil {
		return nil
	}
	return r.contexts.lists[c]
}

// Context is that of the function that is executed, 0 if contexts are not told apart.
func (r *Recorder) Context() Context {
	if r.contexts == nil || len(r.Frames) == 0 {
		return 0
	}
	return r.contextOf(r.top())
}

func (r *Recorder) contextOf(f Frame) Context { return Context(r.row(f.Arc)[Callee]) }

// ContextOf is that of the innermost active function that holds a, or of that which is executed if there is none.
func (r *Recorder) ContextOf(a emu.Addr) Context {
	if r.contexts == nil {
		return 0
	}
	for i := len(r.Frames) - 1; i >= 0; i-- {
		if f := r.Frames[i]; r.arcOf(f).function == r.function(a).ID {
			return r.contextOf(f)
		}
	}
	return r.Context()
}

// called returns the context of the function at target, which was called at site by a function in the context caller; 0
// for a function that nothing called.
func (k *contexts) called(caller Context, site, target emu.Addr) Context {
	names := k.names(target)
	k.list = append(k.list[:0], names[len(names)-1]) // inlined functions are not called
	if site != 0 {
		inlined := k.names(site)
		for _, n := range append(inlined[:len(inlined)-1], k.lists[caller]...) {
			k.add(n)
		}
	}
	return k.intern()
}

// add adds a caller to the list, if it is not full.
func (k *contexts) add(name uint32) {
	if n := len(k.list); n <= k.callers && k.list[n-1] != name {
		k.list = append(k.list, name)
	}
}

// intern returns the number of the list.
func (k *contexts) intern() Context {
	var key []byte
	for _, n := range k.list {
		key = binary.LittleEndian.AppendUint32(key, n)
	}
	c, ok := k.index[string(key)]
	if !ok && len(k.lists) > k.limit && len(k.list) > 1 {
		k.full, k.list = true, k.list[:1]
		return k.intern()
	}
	if !ok {
		c = Context(len(k.lists))
		k.index[string(key)] = c
		k.lists = append(k.lists, append([]uint32{}, k.list...))
	}
	return c
}
