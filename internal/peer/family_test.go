package peer

import (
	"slices"
	"testing"
)

// The families of clients as people run them, and whether a process belongs.
func TestFamilyBehindBridges(t *testing.T) {
	t.Parallel()
	first := process{pid: 1, session: 1}
	window := func(pid, parent, session int) process {
		return process{pid: pid, parent: parent, session: session, terminal: true, pseudo: true}
	}
	console := func(pid, parent, session int) process {
		return process{pid: pid, parent: parent, session: session, terminal: true}
	}
	bare := func(pid, parent, session int) process { return process{pid: pid, parent: parent, session: session} }
	const base = 1 << 30 // no such processes: their programs are not known
	for name, c := range map[string]struct {
		line []process // the bridge first
		root int
		in   []int // sessions
		out  []int
	}{
		"an agent in a window's shell": {
			[]process{window(base+3, base+2, base+1), window(base+2, base+1, base+1), window(base+1, 1, base+1), first},
			base + 1, []int{base + 1}, nil,
		},
		"in a tmux pane, beside another pane": {
			[]process{
				window(base+4, base+3, base+2), window(base+3, base+2, base+2), window(base+2, base+1, base+2), bare(base+1, 1, base+1), first,
			},
			base + 2, []int{base + 2}, []int{base + 9},
		},
		"a bridge in a session of its own": {
			[]process{bare(base+3, base+2, base+3), window(base+2, base+1, base+1), window(base+1, 1, base+1), first},
			base + 1, []int{base + 1, base + 3}, nil,
		},
		"a bridge behind a wrapper in a session of its own": {
			[]process{
				bare(base+4, base+3, base+3), bare(base+3, base+2, base+3), window(base+2, base+1, base+1), window(base+1, 1, base+1), first,
			},
			base + 1, []int{base + 1, base + 3}, nil,
		},
		"a client of the desktop, below the desktop's leader": {
			[]process{bare(base+3, base+2, base+1), bare(base+2, base+1, base+1), bare(base+1, 1, base+1), first},
			base + 2, []int{base + 1}, []int{base + 7},
		},
		"an editor that leads its session, on a desktop that a console started": {
			[]process{bare(base+3, base+2, base+2), bare(base+2, base+1, base+2), console(base+1, 1, base+1), first},
			base + 2, []int{base + 2}, []int{base + 8},
		},
		"a bridge whose parent has ended": {
			[]process{bare(base+3, 1, base+3), first}, base + 3, []int{base + 3}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := familyBehind(c.line, c.line[0].pid)
			if f.Root != c.root {
				t.Errorf("the root is %d; want %d", f.Root-base, c.root-base)
			}
			for _, session := range c.in {
				if !slices.Contains(f.Sessions, session) {
					t.Errorf("session %d is not in %v", session, f.Sessions)
				}
			}
			for _, session := range c.out {
				if slices.Contains(f.Sessions, session) {
					t.Errorf("session %d is in %v", session, f.Sessions)
				}
			}
		})
	}
}
