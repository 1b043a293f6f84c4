package subscriptions_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"callgate/internal/daemon/mcpserver/subscriptions"
	"callgate/tool"
)

// server counts the subscriptions at a server.
type server struct {
	started, stopped int
	err              error // of the next start
}

func (s *server) start() (func(), error) {
	if s.err != nil {
		return nil, s.err
	}
	s.started++
	return func() { s.stopped++ }, nil
}

func (s *server) want(t *testing.T, when string, started, stopped int) {
	t.Helper()
	if s.started != started || s.stopped != stopped {
		t.Errorf("%s: started %d times and stopped %d times, want %d and %d",
			when, s.started, s.stopped, started, stopped)
	}
}

func add(t *testing.T, table *subscriptions.Table[string], s *server, resource, connection string) {
	t.Helper()
	if err := table.Add(t.Context(), resource, connection, s.start); err != nil {
		t.Fatal(err)
	}
}

func TestOneSubscriptionPerResource(t *testing.T) {
	var table subscriptions.Table[string]
	s := &server{}
	add(t, &table, s, "x://1", "a")
	add(t, &table, s, "x://1", "b")
	add(t, &table, s, "x://1", "b")
	s.want(t, "with two connections", 1, 0)
	table.Remove("x://1", "a")
	table.Remove("x://1", "nobody")
	table.Remove("x://2", "a")
	s.want(t, "with one left", 1, 0)
	table.Remove("x://1", "b")
	s.want(t, "without any", 1, 1)
	add(t, &table, s, "x://1", "a")
	s.want(t, "subscribed again", 2, 1)
}

func TestRemoveConnection(t *testing.T) {
	var table subscriptions.Table[string]
	s := &server{}
	for _, resource := range []string{"x://1", "x://2", "x://3"} {
		add(t, &table, s, resource, "a")
	}
	add(t, &table, s, "x://3", "b")
	table.RemoveConnection("a")
	s.want(t, "without a", 3, 2)
}

func TestFailedStart(t *testing.T) {
	var table subscriptions.Table[string]
	refused := errors.New("refused")
	s := &server{err: refused}
	if err := table.Add(t.Context(), "x://1", "a", s.start); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	s.err = nil
	add(t, &table, s, "x://1", "b")
	table.Remove("x://1", "b")
	s.want(t, "after a refusal", 1, 1)
}

func TestClose(t *testing.T) {
	var table subscriptions.Table[string]
	s := &server{}
	add(t, &table, s, "x://1", "a")
	add(t, &table, s, "x://2", "a")
	table.Close()
	s.want(t, "closed", 2, 2)
	if err := table.Add(t.Context(), "x://1", "a", s.start); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("Add after Close: %v", err)
	}
	table.Remove("x://1", "a")
	table.RemoveConnection("a")
	table.Close()
	s.want(t, "closed again", 2, 2)
}

// TestTurns has one goroutine start a subscription slowly. Others wait for it at
// the same resource, give up with their context, and do not wait at another one.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table subscriptions.Table[string]
		s := &server{}
		release := make(chan struct{})
		slow := func() (func(), error) {
			<-release
			return s.start()
		}
		results := make(chan error, 3)
		go func() { results <- table.Add(t.Context(), "x://1", "a", slow) }()
		synctest.Wait()

		impatient, cancel := context.WithCancel(t.Context())
		go func() { results <- table.Add(impatient, "x://1", "b", s.start) }()
		synctest.Wait()
		cancel()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled Add: %v", err)
		}

		go func() { results <- table.Add(t.Context(), "x://1", "c", s.start) }()
		synctest.Wait()
		add(t, &table, s, "x://2", "a")
		s.want(t, "while the first waits", 1, 0)

		close(release)
		for range 2 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		s.want(t, "in the end", 2, 0)
	})
}

// TestCloseDuringStart closes a table while a subscription is started: it is
// stopped at once.
func TestCloseDuringStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table subscriptions.Table[string]
		s := &server{}
		release := make(chan struct{})
		added := make(chan error, 1)
		go func() {
			added <- table.Add(t.Context(), "x://1", "a", func() (func(), error) {
				<-release
				return s.start()
			})
		}()
		synctest.Wait()
		closed := make(chan struct{})
		go func() {
			table.Close()
			close(closed)
		}()
		synctest.Wait()
		close(release)
		<-closed
		if err := <-added; err != nil {
			t.Error(err)
		}
		s.want(t, "closed", 1, 1)
	})
}
