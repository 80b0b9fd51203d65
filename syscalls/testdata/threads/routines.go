// Goroutines on one and on four threads: channels, locks, select, loops that never call.
package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func sieve(limit int) (primes []int) {
	ch := make(chan int)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	send := func(to chan<- int, x int) bool {
		select {
		case to <- x:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func(ch chan int) {
		for i := 2; send(ch, i); i++ {
		}
	}(ch)
	for len(primes) < limit {
		p := <-ch
		primes = append(primes, p)
		next := make(chan int)
		go func(in <-chan int) {
			for {
				select {
				case x := <-in:
					if x%p != 0 && !send(next, x) {
						return
					}
				case <-ctx.Done():
					return
				}
			}
		}(ch)
		ch = next
	}
	return primes
}

func locks() int {
	var mu sync.RWMutex
	var wg sync.WaitGroup
	var once sync.Once
	n := 0
	for range 20 {
		wg.Go(func() {
			once.Do(func() { n = 1000 })
			for range 50 {
				mu.Lock()
				n++
				mu.Unlock()
				mu.RLock()
				_ = n
				mu.RUnlock()
			}
		})
	}
	wg.Wait()
	return n
}

// preempted lets loops run that only the runtime's signals can stop.
func preempted() int {
	var stop atomic.Bool
	var ended sync.WaitGroup
	for range 3 {
		ended.Go(func() {
			for !stop.Load() {
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	runtime.GC()
	stop.Store(true)
	ended.Wait()
	return 3
}

func timeouts() (n int) {
	for range 10 {
		select {
		case <-make(chan int):
		case <-time.After(time.Millisecond):
			n++
		}
	}
	return n
}

func main() {
	for _, procs := range []int{1, 4} {
		runtime.GOMAXPROCS(procs)
		p := sieve(60)
		fmt.Println(p[len(p)-1], locks(), preempted(), timeouts())
	}
}
