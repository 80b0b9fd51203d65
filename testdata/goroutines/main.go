// Goroutines that wait for each other, grow, are preempted, recover from panics: for who calls whom.
package main

import (
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
)

//go:noinline
func leaf(n int) (s int) {
	for i := range n {
		s += i * i
	}
	return s
}

// deep needs more stack than a goroutine has at first.
//
//go:noinline
func deep(n int) int {
	var room [256]byte
	room[n%256] = 1
	if n == 0 {
		return int(room[0])
	}
	return deep(n-1) + leaf(10) + int(room[5])
}

//go:noinline
func worker(in, out chan int) {
	for n := range in {
		out <- leaf(n) + deep(n%50)
	}
	close(out)
}

//go:noinline
func feed(in chan int) {
	for i := range 200 {
		in <- i
	}
	close(in)
}

//go:noinline
func fail(n int) {
	if n == 0 {
		panic("for recover")
	}
	fail(n - 1)
}

//go:noinline
func recovers() (ok bool) {
	defer func() { ok = recover() != nil }()
	fail(20)
	return false
}

//go:noinline
func sequence(yield func(int) bool) {
	for i := range 50 {
		if !yield(leaf(i)) {
			return
		}
	}
}

//go:noinline
func pull() (s int) {
	next, stop := iter.Pull(iter.Seq[int](sequence))
	defer stop()
	for range 30 {
		v, _ := next()
		s += v
	}
	return s
}

var stop atomic.Bool

//go:noinline
func spin() {
	for !stop.Load() {
	}
}

//go:noinline
func many() (s int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			n := leaf(i)
			runtime.Gosched()
			mu.Lock()
			s += n
			mu.Unlock()
		})
	}
	wg.Wait()
	return s
}

func main() {
	in, out := make(chan int), make(chan int)
	go feed(in)
	go worker(in, out)
	s := 0
	for v := range out {
		s += v
	}
	go spin()
	s += pull() + many()
	for range 10 {
		if recovers() {
			s++
		}
	}
	runtime.GC() // which stops spin
	stop.Store(true)
	fmt.Println(s)
}
