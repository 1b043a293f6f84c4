package subscription_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/source/mcp/subscription"
)

// server records what it is asked for. It is slow: hold, if set, keeps it busy.
type server struct {
	hold    chan struct{}
	refuses bool

	mu     sync.Mutex
	events []string
}

func (s *server) note(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event)
}

func (s *server) subscribe(context.Context) error {
	s.note("subscribe")
	if s.hold != nil {
		<-s.hold
	}
	if s.refuses {
		return errors.New("not that one")
	}
	return nil
}

func (s *server) unsubscribe() { s.note("unsubscribe") }

func (s *server) expect(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(strings.Join(want, " "), strings.Join(s.events, " ")); diff != "" {
		t.Error(diff)
	}
}

func add(t *testing.T, table *subscription.Table, s *server, uri string, changed func()) func() {
	t.Helper()
	stop, err := table.Add(t.Context(), uri, changed, s.subscribe, s.unsubscribe)
	if err != nil {
		t.Error(err)
	}
	return stop
}

func TestOneSubscriptionForAllWatchers(t *testing.T) {
	t.Parallel()
	var table subscription.Table
	var s server
	var one, two, other int
	stopOne := add(t, &table, &s, "a", func() { one++ })
	stopTwo := add(t, &table, &s, "a", func() { two++ })
	s.expect(t, "subscribe")
	stopOther := add(t, &table, &s, "b", func() { other++ })
	if diff := cmp.Diff([]string{"a", "b"}, table.URIs()); diff != "" {
		t.Error(diff)
	}
	table.Notify("a")
	table.Notify("nothing")
	stopOne()
	stopOne() // once is enough
	table.Notify("a")
	if one != 1 || two != 2 || other != 0 {
		t.Errorf("notified %d, %d and %d times", one, two, other)
	}
	s.expect(t, "subscribe", "subscribe")
	stopTwo()
	s.expect(t, "subscribe", "subscribe", "unsubscribe")
	stopOther()
	if !table.Empty() {
		t.Errorf("still watched: %v", table.URIs())
	}
	add(t, &table, &s, "a", func() {})
	s.expect(t, "subscribe", "subscribe", "unsubscribe", "unsubscribe", "subscribe")
}

func TestRefusedSubscriptionLeavesNothing(t *testing.T) {
	t.Parallel()
	var table subscription.Table
	s := server{refuses: true}
	_, err := table.Add(t.Context(), "a", func() { t.Error("notified without a subscription") }, s.subscribe, s.unsubscribe)
	if err == nil || !table.Empty() {
		t.Errorf("error %v, watched %v", err, table.URIs())
	}
	table.Notify("a")
	s.expect(t, "subscribe")
}

// A change that comes while the server is being asked is not missed, and those
// who come meanwhile wait for the answer.
func TestWatchersAreKnownBeforeTheServerIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table subscription.Table
		s := server{hold: make(chan struct{})}
		var changes int
		go add(t, &table, &s, "a", func() { changes++ })
		synctest.Wait()
		table.Notify("a")
		if changes != 1 {
			t.Errorf("notified %d times", changes)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		failed := make(chan error)
		go func() {
			_, err := table.Add(ctx, "b", func() {}, s.subscribe, s.unsubscribe)
			failed <- err
		}()
		synctest.Wait()
		s.expect(t, "subscribe")
		cancel(enough)
		if err := <-failed; !errors.Is(err, enough) {
			t.Errorf("error %v", err)
		}
		close(s.hold)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a"}, table.URIs()); diff != "" {
			t.Error(diff)
		}
	})
}

// A watcher who comes while the last one stops is subscribed anew.
func TestSubscribingFollowsUnsubscribing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table subscription.Table
		var s server
		hold := make(chan struct{})
		stop, err := table.Add(t.Context(), "a", func() {}, s.subscribe, func() { <-hold; s.unsubscribe() })
		if err != nil {
			t.Fatal(err)
		}
		go stop()
		synctest.Wait()
		go add(t, &table, &s, "a", func() {})
		synctest.Wait()
		s.expect(t, "subscribe")
		close(hold)
		synctest.Wait()
		s.expect(t, "subscribe", "unsubscribe", "subscribe")
	})
}
