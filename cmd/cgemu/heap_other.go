//go:build !linux

package main

func hugeHeap() error { return nil }
