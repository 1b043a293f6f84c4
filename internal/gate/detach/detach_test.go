package detach_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/gate/detach"
	"callgate/internal/journal/outputbus"
	"callgate/tool"
)

// mover is a handler that moves after a time.
type mover struct {
	tool.HandlerFunc
	after time.Duration
	asked bool
}

func (m mover) MoveAfter(json.RawMessage, any) (time.Duration, bool) { return m.after, m.asked }

// stage is a table whose store says "moved", unless it fails.
type stage struct {
	*detach.Table
	output outputbus.Bus
	end    context.CancelCauseFunc // of the kernel
	stored atomic.Int32
	fails  atomic.Bool
	kept   atomic.Int32
}

func newStage(t *testing.T) *stage {
	s := &stage{}
	base, end := context.WithCancelCause(t.Context())
	s.end = end
	s.Table = detach.New(base, &s.output)
	s.SetStore(func(context.Context, *detach.Call) (*tool.Result, error) {
		if s.fails.Load() {
			return nil, errors.New("it cannot be stored")
		}
		s.stored.Add(1)
		return &tool.Result{Summary: "moved"}, nil
	})
	return s
}

func (s *stage) options(movable bool) detach.Options {
	return detach.Options{Movable: movable, Keep: func() func() {
		s.kept.Add(1)
		return func() { s.kept.Add(-1) }
	}}
}

func toolOf(h tool.Handler) *tool.Tool {
	return &tool.Tool{ID: tool.ID{Namespace: "t", Name: "t", Version: tool.Version{Major: 1}}, Handler: h}
}

func call(id string) tool.Call {
	return tool.Call{ID: id, Principal: tool.Principal{Session: "s1"}}
}

// work is a path whose handler runs until leave is closed, or its context ends.
func work(c *detach.Call, limit time.Duration, leave <-chan struct{}) func(context.Context) *tool.Result {
	return func(ctx context.Context) *tool.Result {
		ctx, cancel := c.Within(ctx, limit, nil)
		defer cancel()
		select {
		case <-leave:
			return &tool.Result{Summary: "done"}
		case <-ctx.Done():
			return &tool.Result{Summary: "stopped: " + context.Cause(ctx).Error()}
		}
	}
}

// A call that runs too long moves by itself, and only then loses its limit; one that
// ends before is told as it ended.
func TestMovesByItself(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		m              mover
		movable, fails bool
		takes          time.Duration
		told           string
		at             time.Duration // when its caller is told
		ends           string
	}{
		{"short", mover{after: time.Minute}, true, false, time.Second, "done", time.Second, "done"},
		{"long", mover{after: time.Minute}, true, false, time.Hour, "moved", time.Minute, "done"},
		{"long, for one who waits", mover{after: time.Minute}, false, false, time.Hour,
			"stopped: the call ran for 5m0s, the longest it may (do less in one call, or run it in the background)",
			5 * time.Minute, ""},
		{"asked for, for one who waits", mover{after: time.Second, asked: true}, false, false, time.Hour, "moved", time.Second, "done"},
		{"it never moves", mover{}, true, false, time.Minute, "done", time.Minute, "done"},
		{"it cannot be stored", mover{after: time.Minute}, true, true, 2 * time.Minute, "done", 2 * time.Minute, "done"},
		{"at the same instant", mover{after: time.Minute}, true, false, time.Minute, "", time.Minute, "done"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			s.fails.Store(test.fails)
			c := s.Begin(call("c1"), toolOf(test.m), s.options(test.movable))
			leave := make(chan struct{})
			time.AfterFunc(test.takes, func() { close(leave) })
			began := time.Now()
			told := c.Run(t.Context(), work(c, 5*time.Minute, leave))
			if test.told != "" && told.Summary != test.told || time.Since(began) != test.at {
				t.Errorf("%s: %q after %v", test.name, told.Summary, time.Since(began))
			}
			<-c.Done()
			if moved := s.stored.Load() == 1; moved != (told.Summary == "moved") || s.kept.Load() != 0 {
				t.Errorf("%s: stored %d times, kept %d, told %q", test.name, s.stored.Load(), s.kept.Load(), told.Summary)
			}
			if test.ends != "" && c.Result().Summary != test.ends {
				t.Errorf("%s: it ended with %q", test.name, c.Result().Summary)
			}
			synctest.Wait()
			if s.Find("c1") != nil {
				t.Errorf("%s: it is still there", test.name)
			}
		})
	}
}

// A call ends with its caller before it is moved, and not after.
func TestCallerThatGoes(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			c := s.Begin(call("c1"), toolOf(mover{}), s.options(true))
			ctx, cancel := context.WithCancelCause(t.Context())
			leave := make(chan struct{})
			told := make(chan *tool.Result, 1)
			go func() { told <- c.Run(ctx, work(c, time.Minute, leave)) }()
			synctest.Wait()
			if moved {
				if err := s.Move(t.Context(), "s1", "c1"); err != nil {
					t.Fatal(err)
				}
			}
			cancel(errors.New("gone"))
			synctest.Wait()
			want := "stopped: gone"
			if moved {
				<-time.After(time.Hour) // no limit counts any more
				close(leave)
				want = "done"
			}
			<-c.Done()
			if got := c.Result().Summary; got != want || moved != ((<-told).Summary == "moved") {
				t.Errorf("moved %v: %q", moved, got)
			}
		})
	}
}

// What is moved by hand is the caller's own, and moves once; a call that was moved ends
// when it is cancelled, or with the kernel.
func TestMoveByHand(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*stage, *detach.Call){
		"cancelled":  func(_ *stage, c *detach.Call) { c.Cancel(errors.New("over")) },
		"the kernel": func(s *stage, _ *detach.Call) { s.end(errors.New("over")) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			c := s.Begin(call("c1"), toolOf(tool.HandlerFunc(nil)), s.options(true))
			told := make(chan *tool.Result, 1)
			go func() { told <- c.Run(t.Context(), work(c, 0, nil)) }()
			synctest.Wait()
			for who, id := range map[string]string{"s2": "c1", "s1": "c2"} {
				if err := s.Move(t.Context(), who, id); tool.KindOf(err) != tool.NotFound {
					t.Errorf("%s %s: %v", who, id, err)
				}
			}
			s.output.Publish("c1", "stdout", []byte("so far\n"))
			for range 2 {
				if err := s.Move(t.Context(), "s1", "c1"); err != nil {
					t.Error(err)
				}
			}
			if r := <-told; r.Summary != "moved" || s.stored.Load() != 1 || s.kept.Load() != 1 {
				t.Errorf("%q, stored %d times, kept %d", r.Summary, s.stored.Load(), s.kept.Load())
			}
			if text, _ := c.Output.Tail(0); text != "so far\n" {
				t.Errorf("its output is %q", text)
			}
			end(s, c)
			<-c.Done()
			if got := c.Result().Summary; got != "stopped: over" || s.kept.Load() != 0 {
				t.Errorf("%s: %q", name, got)
			}
			synctest.Wait()
			if err := s.Move(t.Context(), "s1", "c1"); tool.KindOf(err) != tool.NotFound {
				t.Error(err)
			}
		})
	}
}

// The calls that a tool of the kernel's own makes are moved for it.
func TestMoveOfAControlTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		control := toolOf(tool.HandlerFunc(nil))
		control.Runtime.Control = true
		parent := s.Begin(call("c1"), control, s.options(true))
		told := make(chan string, 1)
		go func() {
			told <- parent.Run(t.Context(), func(ctx context.Context) *tool.Result {
				child := call("c1.1")
				child.Parent = "c1"
				c := s.Begin(child, toolOf(tool.HandlerFunc(nil)), s.options(false)) // as its parent may
				return c.Run(ctx, work(c, 0, nil))
			}).Summary
		}()
		synctest.Wait()
		if err := s.Move(t.Context(), "s1", "c1"); err != nil {
			t.Fatal(err)
		}
		if got := <-told; got != "moved" || s.Find("c1.1") == nil || s.Find("c1") != nil {
			t.Errorf("%q", got)
		}
		s.end(errors.New("over"))
		synctest.Wait()
	})
}

// A call that runs in the background from the beginning has no limit, and a process
// that it offers is reached while it is offered.
func TestInTheBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.Begin(call("c1"), toolOf(mover{after: time.Second}), detach.Options{Background: true})
		leave := make(chan struct{})
		time.AfterFunc(time.Hour, func() { close(leave) })
		if told := c.Run(t.Context(), work(c, time.Minute, leave)); told.Summary != "done" || s.stored.Load() != 0 {
			t.Errorf("%q", told.Summary)
		}
		if _, err := c.Process(t.Context()); tool.KindOf(err) != tool.Conflict {
			t.Error(err)
		}
	})
	var none *detach.Table
	if none.Begin(call("c1"), toolOf(mover{}), detach.Options{Movable: true}) != nil {
		t.Error("no table has calls")
	}
}
