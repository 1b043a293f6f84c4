package throttle_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/source/mcp/throttle"
)

// repeat is a body that says one thing for ever.
type repeat struct {
	text string
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(p), nil
}

func (r *repeat) Close() error { return nil }

// TestEvents: what a server sends without end is read at the rate, whatever it is; the
// answers that were asked for are not counted.
func TestEvents(t *testing.T) {
	for _, text := range []string{"data: {}\n\n", "event: message\r\ndata: {}\r\n\r\n", ": ping\n", "id: 1\n: x\ndata: {}\n\n"} {
		synctest.Test(t, func(t *testing.T) {
			var asked throttle.Asked
			const answers = 100
			for range answers {
				asked.Add()
			}
			e := throttle.NewEvents(t.Context(), &repeat{text: text}, &throttle.Meter{}, &asked)
			buffer, size, began := make([]byte, 256), 0, time.Now()
			for time.Since(began) < 20*time.Second {
				n, _ := e.Read(buffer)
				size += n
			}
			events, most := size/len(text), throttle.Burst+21*throttle.Rate+answers+256
			if events > most || events < throttle.Burst+5*throttle.Rate {
				t.Errorf("%q: %d in 20 s", text, events)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestEventsEndWithTheirRequest: nobody waits for a stream whose request has ended.
func TestEventsEndWithTheirRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e := throttle.NewEvents(ctx, &repeat{text: ":\n"}, &throttle.Meter{}, &throttle.Asked{})
		time.AfterFunc(1500*time.Millisecond, cancel)
		began := time.Now()
		_, err := io.Copy(io.Discard, e)
		if took := time.Since(began); !errors.Is(err, context.Canceled) || took != 1500*time.Millisecond {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestAnswersAreNotSlow: an event for each request is no flood, however many they are.
func TestAnswersAreNotSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked throttle.Asked
		e := throttle.NewEvents(t.Context(), &repeat{text: "data: {}\n\n"}, &throttle.Meter{}, &asked)
		buffer, began := make([]byte, len("data: {}\n\n")), time.Now()
		for range 10 * throttle.Burst {
			asked.Add()
			if _, err := e.Read(buffer); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("they took %v", took)
		}
	})
}

type discard struct{ n int }

func (d *discard) Write(p []byte) (int, error) { d.n += len(p); return len(p), nil }
func (d *discard) Close() error                { return nil }

// TestLines: a flood of lines is written slowly, and so is a line without an end.
func TestLines(t *testing.T) {
	for text, most := range map[string]int{
		strings.Repeat("a line of a log that never ends\n", 1<<10): 10 << 20,
		strings.Repeat("x", 32<<10):                                150 << 20,
		strings.Repeat("\n", 32<<10):                               3 << 20,
	} {
		synctest.Test(t, func(t *testing.T) {
			to := &discard{}
			l := &throttle.Lines{To: to, Meter: &throttle.Meter{Burst: throttle.LogBurst, Rate: throttle.LogRate}}
			for began := time.Now(); time.Since(began) < 20*time.Second; {
				if _, err := l.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				if to.n > most {
					t.Fatalf("%.10q: %d bytes in %v", text, to.n, time.Since(began))
				}
			}
		})
	}
}
