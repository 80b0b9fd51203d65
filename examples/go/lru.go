// Command lru looks up words in a cache that forgets what was not used for longest.
package main

import (
	"bufio"
	"container/list"
	"fmt"
	"os"
	"strings"
)

// A Cache holds so many words, and how often each was asked for.
type Cache struct {
	size    int
	order   *list.List
	entries map[string]*list.Element
	Misses  int
}

type entry struct {
	word  string
	count int
}

// New makes an empty cache.
func New(size int) *Cache {
	return &Cache{size: size, order: list.New(), entries: map[string]*list.Element{}}
}

// Use counts a word.
//
//go:noinline
func (c *Cache) Use(word string) int {
	if e := c.entries[word]; e != nil {
		c.order.MoveToFront(e)
		x := e.Value.(*entry)
		x.count++
		return x.count
	}
	c.Misses++
	if c.order.Len() == c.size {
		last := c.order.Back()
		delete(c.entries, c.order.Remove(last).(*entry).word)
	}
	c.entries[word] = c.order.PushFront(&entry{word, 1})
	return 1
}

func main() {
	c := New(50)
	s := bufio.NewScanner(os.Stdin)
	for s.Scan() {
		for word := range strings.FieldsSeq(s.Text()) {
			c.Use(strings.ToLower(word))
		}
	}
	fmt.Println(c.Misses, "misses")
}
