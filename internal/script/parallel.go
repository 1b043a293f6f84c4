package script

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"callgate/tool"
)

// lane is one function of a parallel. It runs in a goroutine of its own and only while it
// has the turn, so that all of it happens in one order.
type lane struct {
	machine *machine
	thread  *starlark.Thread
	fn      starlark.Value
	args    starlark.Tuple
	turn    chan *tool.Result // gives the turn, with the answer of the call it waits for
	back    chan laneState    // gives the turn back
	state   laneState
}

// laneState is how far a function is.
type laneState struct {
	call  *Call // that it waits for; nil: it has ended
	value starlark.Value
	err   error
}

var errLaneStopped = errors.New("another function of this parallel failed")

// call waits for the answer of a call.
func (l *lane) call(c Call) (starlark.Value, error) {
	l.back <- laneState{call: &c}
	r, ok := <-l.turn
	if !ok {
		return nil, errLaneStopped
	}
	return l.machine.answer(c, r)
}

func (l *lane) run() {
	var s laneState
	defer func() {
		if p := recover(); p != nil {
			s = laneState{err: fmt.Errorf("the interpreter failed: %v", p)}
		}
		l.back <- s
	}()
	if _, ok := <-l.turn; !ok {
		s.err = errLaneStopped
		return
	}
	s.value, s.err = starlark.Call(l.thread, l.fn, l.args, nil)
}

// resume gives a lane the turn until it waits for a call or ends.
func (m *machine) resume(l *lane, r *tool.Result) {
	left := m.limits.Steps - min(m.limits.Steps, m.thread.Steps)
	l.thread.SetMaxExecutionSteps(l.thread.Steps + left + 1)
	before := l.thread.Steps
	m.lane = l
	l.turn <- r
	l.state = <-l.back
	m.lane = nil
	m.thread.Steps += l.thread.Steps - before
}

// parallel is parallel([function, …]) and parallel(function, items): the calls that the
// functions wait for are made side by side, round by round.
func (m *machine) parallel(
	_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	if m.lane != nil {
		return nil, errors.New("parallel: it cannot be used inside itself")
	}
	if len(kwargs) > 0 {
		return nil, errors.New("parallel: " + parallelUse)
	}
	lanes, err := m.newLanes(args)
	if err != nil {
		return nil, err
	}
	if err := m.flush(); err != nil {
		return nil, err
	}
	for _, l := range lanes {
		go l.run()
	}
	err = m.rounds(lanes)
	values := make([]starlark.Value, len(lanes))
	for i, l := range lanes {
		if l.state.call != nil { // it waits for an answer that it will not get
			close(l.turn)
			l.state = <-l.back
		}
		values[i] = l.state.value
	}
	if err != nil {
		return nil, err
	}
	return starlark.NewList(values), nil
}

const parallelUse = "use parallel([lambda: …, lambda: …]) or parallel(function, items)"

func (m *machine) newLanes(args starlark.Tuple) (lanes []*lane, err error) {
	add := func(fn starlark.Value, args ...starlark.Value) {
		if _, builtin := fn.(*starlark.Builtin); builtin {
			err = errors.New("parallel: give lambdas, functions of the script or tools")
		} else if _, ok := fn.(starlark.Callable); !ok {
			err = fmt.Errorf("parallel: a %s is no function; %s", fn.Type(), parallelUse)
		}
		lanes = append(lanes, &lane{
			machine: m, fn: fn, args: args, turn: make(chan *tool.Result), back: make(chan laneState),
		})
	}
	var first starlark.Iterable
	if len(args) > 0 {
		first, _ = args[0].(starlark.Iterable)
	}
	switch {
	case len(args) == 1 && first != nil:
		if n := starlark.Len(args[0]); n > m.limits.Parallel {
			return nil, m.tooWide(n)
		}
		for fn := range starlark.Elements(first) {
			add(fn)
		}
	case len(args) == 2 && first == nil:
		items, ok := args[1].(starlark.Iterable)
		if !ok {
			break
		}
		if n := starlark.Len(args[1]); n > m.limits.Parallel {
			return nil, m.tooWide(n)
		}
		for item := range starlark.Elements(items) {
			add(args[0], item)
		}
	}
	if lanes == nil && len(args) > 0 && first == nil {
		for _, fn := range args {
			add(fn)
		}
	} else if len(args) == 0 {
		err = errors.New("parallel: " + parallelUse)
	}
	if len(lanes) > m.limits.Parallel {
		err = m.tooWide(len(lanes))
	}
	for i, l := range lanes {
		if err == nil {
			l.thread = m.newThread(fmt.Sprint("parallel ", i+1))
		}
	}
	return lanes, err
}

func (m *machine) tooWide(n int) error {
	return &limitError{fmt.Sprintf("parallel has %d functions, and takes %d at most", n, m.limits.Parallel),
		"give it the items in parts"}
}

// rounds runs the functions until all have ended, or one has failed.
func (m *machine) rounds(lanes []*lane) error {
	answers := make([]*tool.Result, len(lanes))
	live := make([]int, len(lanes))
	for i := range lanes {
		live[i] = i
		lanes[i].state.call = &Call{} // it waits for its first turn
	}
	for len(live) > 0 {
		var failed error
		var calls []Call
		var waiting []int
		for _, i := range live {
			m.resume(lanes[i], answers[i])
			s := &lanes[i].state
			switch {
			case s.call != nil:
				calls, waiting = append(calls, *s.call), append(waiting, i)
			case s.err != nil && failed == nil:
				failed = s.err
			}
		}
		if failed != nil {
			return failed
		}
		if len(calls) > 0 {
			for j, r := range m.make(calls, false) {
				answers[waiting[j]] = r
			}
		}
		live = waiting
	}
	return nil
}
