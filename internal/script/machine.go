package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"callgate/tool"
)

// machine runs one program. All but cancel is for whoever has the turn: the program, or
// one function of a parallel.
type machine struct {
	ctx     context.Context
	caller  Caller
	limits  Limits
	program *program
	thread  *starlark.Thread
	memory  int
	calls   int
	made    int
	log     strings.Builder
	pending []*deferred // calls that were put off, in order
	direct  int         // over 0: nothing is put off
	lane    *lane       // that has the turn; nil: the program itself

	mu      sync.Mutex
	threads []*starlark.Thread // that cancel stops
	stopped string
}

// Run runs a program and returns its result. An error says where the program stopped, and
// why. When ctx ends, the program does.
func Run(ctx context.Context, text string, o Options) (r *Result, err error) {
	o.Limits = o.Limits.withDefaults()
	m := &machine{ctx: ctx, caller: o.Caller, limits: o.Limits}
	defer func() {
		if p := recover(); p != nil {
			r, err = m.told(), tool.Errorf(op, tool.Internal, "the interpreter failed: %v", p)
		}
	}()
	fns := newFunctions(&o)
	if m.program, err = parse(text, &o, fns); err != nil {
		return m.told(), err
	}
	m.thread = m.newThread("script")
	m.thread.SetMaxExecutionSteps(o.Limits.Steps)
	defer context.AfterFunc(ctx, func() { m.cancel(stopReason(ctx)) })()
	globals, err := m.program.code.Init(m.thread, m.environment(fns))
	if err == nil {
		err = m.flush()
	}
	if err == nil {
		return m.result(globals[resultName])
	}
	if ctx.Err() != nil {
		return m.told(), m.program.placed(tool.Cancelled, stoppedAt(err), stopReason(ctx))
	}
	return m.told(), m.program.explain(err)
}

func stoppedAt(err error) Position {
	var eval *starlark.EvalError
	if errors.As(err, &eval) {
		return innermost(eval.CallStack)
	}
	return Position{}
}

func stopReason(ctx context.Context) string {
	return "the script was stopped: " + context.Cause(ctx).Error()
}

// told is what there is to tell of a program beside its result.
func (m *machine) told() *Result { return &Result{Log: m.log.String(), Calls: m.made} }

func (m *machine) result(v starlark.Value) (*Result, error) {
	r := m.told()
	if v == nil {
		v = starlark.None
	}
	data, err := toJSON(v)
	if err != nil {
		return r, tool.Errorf(op, tool.Failed, "result: %w", err).WithHint("make it of texts, numbers, lists and dicts")
	}
	if len(data) > m.limits.Result {
		const text = "the result has %d bytes; at most %d enter the context"
		return r, tool.Errorf(op, tool.Failed, text, len(data), m.limits.Result).
			WithHint("return less: count, filter or cut; or write it to a file with a tool. The calls were made")
	}
	r.Value = data
	if s, ok := plain(v).(starlark.String); ok {
		r.Text = strings.ToValidUTF8(string(s), "\uFFFD")
	}
	return r, nil
}

func (m *machine) newThread(name string) *starlark.Thread {
	t := &starlark.Thread{Name: name, Print: func(_ *starlark.Thread, text string) { m.print(text) }}
	t.OnMaxSteps = func(t *starlark.Thread) {
		t.Cancel(fmt.Sprintf("it took more than %d steps", m.limits.Steps))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.threads = append(m.threads, t)
	if m.stopped != "" {
		t.Cancel(m.stopped)
	}
	return t
}

func (m *machine) cancel(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = reason
	for _, t := range m.threads {
		t.Cancel(reason)
	}
}

func (m *machine) print(text string) {
	if left := m.limits.Log - m.log.Len(); left > 0 {
		m.log.WriteString(tool.TruncateTo(text, left))
		m.log.WriteByte('\n')
	}
}

// environment is what a program finds.
func (m *machine) environment(fs *functions) starlark.StringDict {
	env := m.checks()
	bound := func(f *Function) starlark.Value { return &toolFunction{m, f} }
	for name, mod := range fs.modules {
		mod.bound = bound
		env[name] = mod
	}
	for name, f := range fs.single {
		env[name] = bound(f)
	}
	env["json"] = m.jsonModule()
	env["parallel"] = starlark.NewBuiltin("parallel", m.parallel)
	env["attempt"] = starlark.NewBuiltin("attempt", m.attempt)
	env["call"] = starlark.NewBuiltin("call", m.callByName)
	return env
}

// callTool makes a call of a tool, or puts it off.
func (m *machine) callTool(
	thread *starlark.Thread, fn *toolFunction, args starlark.Tuple, kwargs []starlark.Tuple, mayPutOff bool,
) (starlark.Value, error) {
	raw, err := fn.bind(args, kwargs)
	if err != nil {
		return nil, err
	}
	if m.calls == m.limits.Calls {
		text := fmt.Sprintf("a script makes at most %d calls", m.limits.Calls)
		return nil, &limitError{text, "do the rest in another script"}
	}
	if err := m.charge(len(raw)); err != nil {
		return nil, err
	}
	m.calls++
	call := Call{Number: m.calls, Name: fn.Function.Name, Args: raw, At: innermost(thread.CallStack())}
	if m.lane != nil {
		return m.lane.call(call)
	}
	if mayPutOff && m.direct == 0 && m.caller.Asks(m.ctx, call) {
		d := &deferred{call: call}
		m.pending = append(m.pending, d)
		return d, nil
	}
	if len(m.pending) > 0 && !m.caller.Apart(m.ctx, call, m.putOff()) {
		if err := m.flush(); err != nil {
			return nil, err
		}
	}
	return m.answer(call, m.make([]Call{call}, false)[0])
}

func (m *machine) putOff() []Call {
	calls := make([]Call, len(m.pending))
	for i, d := range m.pending {
		calls[i] = d.call
	}
	return calls
}

// flush makes the calls that were put off, in turn.
func (m *machine) flush() error {
	if len(m.pending) == 0 {
		return nil
	}
	pending := m.pending
	calls := m.putOff()
	m.pending = nil
	for i, r := range m.make(calls, true) {
		v, err := m.answer(calls[i], r)
		if err != nil {
			return err
		}
		pending[i].value = v
	}
	return nil
}

// make makes calls.
func (m *machine) make(calls []Call, inTurn bool) []*tool.Result {
	results := m.caller.Call(m.ctx, calls, inTurn)
	for _, r := range results {
		if r != nil {
			m.made++
		}
	}
	return results
}

// answer is what a program gets of a call: a value, or an error that stops it.
func (m *machine) answer(call Call, r *tool.Result) (starlark.Value, error) {
	if r == nil || r.Status != tool.Success {
		return nil, &callError{call, r}
	}
	return m.valueOf(r)
}

// callByName is call(name, …): a tool by any of its names.
func (m *machine) callByName(
	thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	var name string
	if len(args) > 0 {
		name, _ = starlark.AsString(args[0])
	}
	if name == "" {
		return nil, errors.New(`call: give the tool's name first: call("module.name", key=value)`)
	}
	return m.callTool(thread, &toolFunction{m, &Function{Name: name, Open: true}}, args[1:], kwargs, false)
}

// attempt is attempt(function, …): it tells of a call that fails and goes on.
func (m *machine) attempt(
	thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	if len(args) == 0 {
		return nil, errors.New("attempt: give a function: attempt(lambda: …)")
	}
	if _, ok := args[0].(*starlark.Builtin); ok {
		return nil, errors.New("attempt: give a lambda or a tool: attempt(lambda: …)")
	}
	if err := m.flush(); err != nil {
		return nil, err
	}
	m.direct++
	v, err := starlark.Call(thread, args[0], args[1:], kwargs)
	m.direct--
	var failed *callError
	switch {
	case err == nil:
		return &record{true, v, starlark.None}, nil
	case errors.As(err, &failed) && m.ctx.Err() == nil && !isStop(failed.result):
		text := tool.TruncateTo(failed.Error(), 2000)
		return &record{false, starlark.None, starlark.String(text)}, m.charge(len(text))
	}
	return nil, err
}

// isStop reports whether a human stopped the script with their answer.
func isStop(r *tool.Result) bool { return r != nil && r.Error != nil && errors.Is(r.Error, ErrStopped) }

// ErrStopped is in the error of a call at which a human stopped the whole script.
var ErrStopped = errors.New("the script was stopped")
