//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// growth is by how much the memory of the last quarter may be more than that of the second: the first one is filled
// with what is opened once.
const growth = 1.25

// watchMemory looks at the kernel's own memory until what it returns is called, which prints it and says what is
// wrong.
func (k *kernel) watchMemory(ctx context.Context) (judge func() []string) {
	ctx, stop := context.WithCancel(ctx)
	var sizes []int
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if n := residentOf(k.command.Process.Pid); n > 0 {
					sizes = append(sizes, n)
				}
			}
		}
	}()
	return func() []string {
		stop()
		<-done
		if len(sizes) < 8 {
			return []string{"too short to judge memory"}
		}
		quarter := len(sizes) / 4
		second, last := mean(sizes[quarter:2*quarter]), mean(sizes[3*quarter:])
		fmt.Printf("memory of the kernel: %d MB in the second quarter, %d MB in the last\n", second>>10, last>>10)
		if float64(last) > growth*float64(second) {
			return []string{fmt.Sprintf("the memory grew from %d to %d MB", second>>10, last>>10)}
		}
		return nil
	}
}

// residentOf is the anonymous memory of a process in KiB; 0: it cannot be read.
func residentOf(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte("RssAnon:")); ok {
			n, _ := strconv.Atoi(string(bytes.Fields(rest)[0]))
			return n
		}
	}
	return 0
}

func mean(list []int) int {
	sum := 0
	for _, n := range list {
		sum += n
	}
	return sum / len(list)
}
