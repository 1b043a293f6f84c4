// Package script runs one short Starlark program over tools.
//
// # Law
//
//   - A program reaches nothing but the tools that it is given: no file, no network, no
//     clock, no chance, no other program. What it does is its calls.
//   - The same program with the same answers makes the same calls, in the same order,
//     under the same numbers. Numbers are given when a call is reached, also inside
//     parallel, whose functions take turns in a fixed order.
//   - A call that fails stops the program with the line, the column and what the call
//     answered, unless attempt(…) was asked to tell. A failure is never a value that looks
//     like a success.
//   - Calls happen in the program's order. A call that a human must be asked about, and
//     whose answer the program cannot look at yet, may be put off (see rewrite/gather.go), so that
//     the human is asked about several at once. What was put off is made before anything
//     that could see the difference: a call that touches the same, one that changes
//     something, and the program's end. Side by side are only the calls of one parallel.
//   - It is bounded: steps, memory, calls, size of the program, of its result and of its
//     log. The interpreter has no allocator of its own, so what can allocate or run much
//     in one step (operators, slices, built-in functions) goes through a check that knows
//     the size before it happens: see rewrite/rewrite.go and guard.go.
package script

import (
	"context"
	"encoding/json"

	"callgate/internal/script/rewrite"
	"callgate/tool"
)

// Limits bounds a program; zero fields mean the defaults.
type Limits struct {
	Steps    uint64 // of the interpreter; default 2,000,000
	Memory   int    // bytes that the program's values may take, counted as they are made; default 64 MiB
	Calls    int    // default 200
	Parallel int    // functions of one parallel; default 50
	Program  int    // bytes; default 16 KiB
	Result   int    // bytes of the result as JSON; default 48 KiB
	Log      int    // bytes that print keeps; default 4 KiB
}

func (l Limits) withDefaults() Limits {
	pick := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	if l.Steps == 0 {
		l.Steps = 2_000_000
	}
	pick(&l.Memory, 64<<20)
	pick(&l.Calls, 200)
	pick(&l.Parallel, 50)
	pick(&l.Program, 16<<10)
	pick(&l.Result, 48<<10)
	pick(&l.Log, 4<<10)
	return l
}

// Position is a place in a program, from 1.
type Position = rewrite.Position

// Call is a call that a program makes.
type Call struct {
	Number int // in the program's order, from 1
	Name   string
	Args   json.RawMessage
	At     Position
}

// Caller makes the calls of a program.
type Caller interface {
	// Call makes calls and returns their results in order. In turn means one after the
	// other, and none after one that failed: of those the result is nil.
	Call(ctx context.Context, calls []Call, inTurn bool) []*tool.Result
	// Asks reports whether a human would probably be asked about a call. A wrong answer
	// does no harm.
	Asks(ctx context.Context, c Call) bool
	// Apart reports whether a call only reads, and nothing that others touch: it may be
	// made before them.
	Apart(ctx context.Context, c Call, others []Call) bool
}

// Options is what a program is run with.
type Options struct {
	Caller    Caller // required
	Functions []Function
	Limits    Limits
}

// Result is what came of a program.
type Result struct {
	Value json.RawMessage // as JSON; null: the program gave no result
	Text  string          // of a result that is a text
	Log   string          // what it printed, cut to its limit
	Calls int             // that were made
}
