package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"callgate/internal/storage/postgres"
)

// hear listens to a channel, and returns what comes: payloads, and "missed".
func hear(ctx context.Context, db *postgres.DB, name string) (came <-chan string, ended <-chan struct{}) {
	got, over := make(chan string), make(chan struct{})
	go func() {
		defer close(over)
		db.Listen(ctx, db.Channel(name), func(payload string, missed bool) {
			if missed {
				payload = "missed"
			}
			select {
			case got <- payload:
			case <-ctx.Done():
			}
		})
	}()
	return got, over
}

func expect(t *testing.T, came <-chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := <-came; got != w {
			t.Fatalf("came %q, want %q", got, w)
		}
	}
}

func notify(t *testing.T, db *postgres.DB, name string, payloads ...string) {
	t.Helper()
	for _, payload := range payloads {
		if err := db.Notify(t.Context(), db.Channel(name), payload); err != nil {
			t.Fatal(err)
		}
	}
}

// Everybody who listens hears every notification of its channel and its schema, whichever node told it, in order.
func TestListen(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	a, b := openNode(t, at, "a"), openNode(t, at, "b")
	other := openNode(t, server.Schema(t, schemaAt(t.TempDir())), "a")
	ctx, cancel := context.WithCancel(t.Context())
	first, ended := hear(ctx, a, "x")
	expect(t, first, "missed")
	second, _ := hear(t.Context(), a, "x")
	far, _ := hear(t.Context(), b, "x")
	y, _ := hear(t.Context(), a, "Y \"'")
	for _, came := range []<-chan string{second, far, y} {
		expect(t, came, "missed")
	}
	notify(t, other, "x", "of another schema")
	notify(t, b, "Y \"'", "y")
	notify(t, b, "x", "1", "2")
	notify(t, a, "x", "", strings.Repeat("long", 1000))
	for _, came := range []<-chan string{first, second, far} {
		expect(t, came, "1", "2", "", strings.Repeat("long", 1000))
	}
	expect(t, y, "y")
	cancel()
	<-ended
	notify(t, a, "x", "after one has ended")
	expect(t, second, "after one has ended")
	expect(t, far, "after one has ended")
}

// A connection that was lost is made again, and everybody is told that something may have been missed.
func TestListenAfterALoss(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	at := server.Schema(t, schemaAt(t.TempDir()))
	db, b := p.openAt(t, at, node("n")), openNode(t, at, "b")
	x, _ := hear(t.Context(), db, "x")
	y, _ := hear(t.Context(), db, "y")
	expect(t, x, "missed")
	expect(t, y, "missed")
	for n := range 3 {
		p.cut()
		expect(t, x, "missed")
		expect(t, y, "missed")
		notify(t, b, "x", fmt.Sprint(n))
		expect(t, x, fmt.Sprint(n))
	}
}

// Who takes nothing for long is told that it missed something, and keeps nobody else from hearing.
func TestSlowListener(t *testing.T) {
	t.Parallel()
	db := openNode(t, server.Schema(t, schemaAt(t.TempDir())), "n")
	slow, _ := hear(t.Context(), db, "x")
	end, _ := hear(t.Context(), db, "end")
	expect(t, slow, "missed")
	expect(t, end, "missed")
	many := fmt.Sprintf("SELECT pg_notify('%s', n::text) FROM generate_series(1, 2500) AS n", db.Channel("x"))
	if err := db.Run(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	notify(t, db, "end", "end") // it comes after all of them
	expect(t, end, "end")
	got := []string{<-slow}
	for got[len(got)-1] != "2500" {
		got = append(got, <-slow)
	}
	if missed := strings.Count(strings.Join(got, " "), "missed"); missed != 1 || len(got) >= 2500 {
		t.Errorf("%d came, and it was told %d times that it missed some", len(got), missed)
	}
}

// What listens ends with the database.
func TestListenEnds(t *testing.T) {
	t.Parallel()
	db := openDB(t, t.TempDir())
	came, ended := hear(t.Context(), db, "x")
	expect(t, came, "missed")
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	db.Listen(t.Context(), "x", func(string, bool) { t.Error("it heard something") })
}
