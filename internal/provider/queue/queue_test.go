package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/provider/queue"
)

// after lets the bubble's clock run.
func after(d time.Duration) { <-time.After(d) }

var works = queue.End{Verdict: queue.Works, Tokens: -1}

// begin has a request begin at once.
func begin(t *testing.T, q *queue.Queue, r queue.Request) *queue.Ticket {
	t.Helper()
	began := time.Now()
	ticket, err := q.Wait(t.Context(), r)
	if err != nil || time.Since(began) > 0 {
		t.Fatalf("it began after %v: %v", time.Since(began), err)
	}
	return ticket
}

// refused has a request be refused at once.
func refused(t *testing.T, q *queue.Queue, ctx context.Context, r queue.Request) *queue.Refusal {
	t.Helper()
	began := time.Now()
	_, err := q.Wait(ctx, r)
	var refusal *queue.Refusal
	if !errors.As(err, &refusal) || time.Since(began) > 0 {
		t.Fatalf("after %v: %v", time.Since(began), err)
	}
	return refusal
}

// order records in which order requests begin, and when.
type order struct {
	all   sync.WaitGroup
	mu    sync.Mutex
	began []string
}

// add has a request wait in the background, and end as soon as it has begun.
func (o *order) add(q *queue.Queue, name string, r queue.Request) {
	start := time.Now()
	o.all.Go(func() {
		ticket, err := q.Wait(context.Background(), r)
		o.mu.Lock()
		defer o.mu.Unlock()
		if err != nil {
			name += " " + err.Error()
		} else {
			ticket.Done(works)
		}
		o.began = append(o.began, fmt.Sprintf("%s %v", name, time.Since(start)))
	})
	synctest.Wait()
}

func (o *order) want(t *testing.T, want ...string) {
	t.Helper()
	o.all.Wait()
	if !slices.Equal(o.began, want) {
		t.Errorf("they began as\n%q, want\n%q", o.began, want)
	}
}

func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queue
		r := queue.Request{Meters: []*queue.Meter{queue.NewMeter(queue.Limits{MaxConcurrent: 2})}}
		first, second := begin(t, &q, r), begin(t, &q, r)
		var o order
		o.add(&q, "third", r)
		o.add(&q, "fourth", r)
		after(time.Second)
		first.Done(works)
		first.Done(works) // a second end frees no second place
		synctest.Wait()
		o.want(t, "third 1s", "fourth 1s")
		second.Done(works)
	})
}

// TestMoreUrgentFirst begins the more urgent first, and among equals the older.
func TestMoreUrgentFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queue
		m := []*queue.Meter{queue.NewMeter(queue.Limits{MaxConcurrent: 1})}
		running := begin(t, &q, queue.Request{Meters: m})
		var o order
		for _, l := range []queue.Level{queue.Low, queue.Background, queue.Interactive, queue.Retry, queue.Interactive} {
			o.add(&q, fmt.Sprint(l), queue.Request{Level: l, Meters: m})
			after(time.Second)
		}
		running.Done(works)
		o.want(t, "0 2s", "1 3s", "1 1s", "2 4s", "3 5s")
	})
}

// TestNoneStarves has one request of the lowest level wait among a stream of urgent ones that
// never ends: it begins when it has waited three times thirty seconds.
func TestNoneStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queue
		m := []*queue.Meter{queue.NewMeter(queue.Limits{MaxConcurrent: 1})}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 5 { // each asks again as soon as it has its answer
			all.Go(func() {
				for ctx.Err() == nil {
					if ticket, err := q.Wait(ctx, queue.Request{Level: queue.Retry, Meters: m}); err == nil {
						after(time.Second)
						ticket.Done(works)
					}
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		ticket, err := q.Wait(ctx, queue.Request{Level: queue.Low, Meters: m})
		if err != nil || time.Since(start) > 95*time.Second || time.Since(start) < 90*time.Second {
			t.Errorf("it began after %v: %v", time.Since(start), err)
		}
		stop()
		ticket.Done(works)
		all.Wait()
	})
}

func TestRequestsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queue
		r := queue.Request{Level: queue.Interactive, Meters: []*queue.Meter{queue.NewMeter(queue.Limits{RPM: 3})}}
		for range 3 {
			begin(t, &q, r).Done(works)
			after(time.Second)
		}
		var o order
		o.add(&q, "fourth", r)
		o.add(&q, "fifth", r)
		o.want(t, "fourth 57s", "fifth 58s")
	})
}

// TestBackgroundIsSpread spreads what nobody waits for, so that an urgent request finds a place.
func TestBackgroundIsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queue
		m := []*queue.Meter{queue.NewMeter(queue.Limits{RPM: 60})}
		var o order
		for i := range 4 {
			o.add(&q, fmt.Sprint("background", i), queue.Request{Level: queue.Background, Meters: m})
		}
		begin(t, &q, queue.Request{Level: queue.Interactive, Meters: m}).Done(works)
		o.want(t, "background0 0s", "background1 1s", "background2 2s", "background3 3s")
	})
}

// TestTokens reserves by the estimate, and gives back what was not used.
func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queue
		m := []*queue.Meter{queue.NewMeter(queue.Limits{TPM: 1000})}
		ask := func(tokens int) queue.Request {
			return queue.Request{Level: queue.Interactive, Tokens: tokens, Meters: m}
		}
		first := begin(t, &q, ask(800))
		var o order
		o.add(&q, "large", ask(500))
		o.add(&q, "small", ask(10)) // may not overtake, or the large one would never begin
		after(time.Second)
		first.Done(queue.End{Verdict: queue.Works, Tokens: 300}) // 300 + 500 + 10
		o.all.Wait()
		slices.Sort(o.began) // they began together
		o.want(t, "large 1s", "small 1s")

		o = order{}
		o.add(&q, "more than all", ask(5000))
		o.want(t, "more than all 1m0s") // those that began after a second are the last to go
		more := begin(t, &q, queue.Request{Meters: []*queue.Meter{queue.NewMeter(queue.Limits{TPM: 10})}, Tokens: 1})
		more.Done(queue.End{Verdict: queue.Works, Tokens: 50}) // more than was reserved counts too
		o = order{}
		o.add(&q, "other", ask(1))
		o.want(t, "other 1m0s")
	})
}

// TestRefusalSpendsNothing is FACTS 3.9, defect 13: a request that tokens keep from beginning has
// not used up one of the minute's requests, nor has one that gave up.
func TestRefusalSpendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queue
		m := []*queue.Meter{queue.NewMeter(queue.Limits{RPM: 3, TPM: 1000}), queue.NewMeter(queue.Limits{MaxConcurrent: 9})}
		ask := func(tokens int) queue.Request {
			return queue.Request{Level: queue.Interactive, Tokens: tokens, Meters: m, Bounds: queue.Bounds{Wait: time.Second}}
		}
		begin(t, &q, ask(900)).Done(works)
		for range 5 {
			_, err := q.Wait(t.Context(), ask(900))
			var refusal *queue.Refusal
			if !errors.As(err, &refusal) || refusal.Reason != queue.WaitedTooLong {
				t.Fatalf("got %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			if _, err := q.Wait(ctx, ask(900)); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v", err)
			}
			cancel()
		}
		begin(t, &q, ask(50)).Done(works)
		begin(t, &q, ask(50)).Cancel() // never sent
		begin(t, &q, ask(50)).Done(works)
		if _, err := q.Wait(t.Context(), ask(0)); err == nil {
			t.Error("a fourth request began")
		}
	})
}

// TestPause has everybody on a key wait when the provider asks one to.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queue
		model := func() []*queue.Meter { return []*queue.Meter{queue.NewMeter(queue.Limits{MaxConcurrent: 8})} }
		first := begin(t, &q, queue.Request{Meters: model()})
		other := begin(t, &q, queue.Request{Meters: model()})
		first.Done(queue.End{Verdict: queue.Works, Tokens: 0, Pause: 20 * time.Second})
		var o order
		o.add(&q, "same key", queue.Request{Meters: model()})
		other.Done(queue.End{Verdict: queue.Works, Tokens: 0, Pause: 5 * time.Second}) // shortens nothing
		ctx, cancel := context.WithTimeout(t.Context(), 19*time.Second)
		defer cancel()
		if r := refused(t, &q, ctx, queue.Request{}); r.Reason != queue.Paused || r.Wait != 20*time.Second {
			t.Errorf("a request without the time is refused with %+v", r)
		}
		patience := queue.Request{Bounds: queue.Bounds{Patience: 10 * time.Second}}
		if r := refused(t, &q, t.Context(), patience); r.Wait != 20*time.Second {
			t.Errorf("a request without the patience is refused with %+v", r)
		}
		o.want(t, "same key 20s")
		begin(t, &q, queue.Request{}).Done(queue.End{Verdict: queue.Works, Tokens: 0, Pause: 24 * time.Hour})
		o = order{}
		o.add(&q, "asks again", queue.Request{})
		o.want(t, "asks again 10m0s")
	})
}

// TestCoolDown refuses at once while a provider fails, and sends one probe then.
func TestCoolDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queue
		r := queue.Request{Bounds: queue.Bounds{CoolDownAfter: 3, CoolDown: 30 * time.Second}}
		fails := queue.End{Verdict: queue.Fails, Tokens: -1}
		fail := func(n int) {
			for range n {
				begin(t, &q, r).Done(fails)
			}
		}
		fail(2)
		begin(t, &q, r).Done(works) // in a row
		fail(2)
		begin(t, &q, r).Done(queue.End{Tokens: -1}) // a caller that gave up says nothing
		fail(1)
		after(10 * time.Second)
		if no := refused(t, &q, t.Context(), r); no.Reason != queue.CoolingDown || no.Wait != 20*time.Second {
			t.Errorf("it is refused with %+v", no)
		}
		begin(t, &q, queue.Request{}).Done(queue.End{Tokens: -1}) // whoever has no such bound is not kept
		after(20 * time.Second)
		probe := begin(t, &q, r)
		var o order
		o.add(&q, "during the probe", r)
		after(time.Second)
		probe.Done(fails)
		o.want(t, "during the probe the request was not sent: the provider failed 4 times in a row, "+
			"and is asked again in 30s 1s")
		after(30 * time.Second)
		probe = begin(t, &q, r)
		o = order{}
		o.add(&q, "next probe", r)
		probe.Cancel() // nobody knows; the next one finds out
		o.want(t, "next probe 0s")
		begin(t, &q, r).Done(works)
	})
}

// TestFull refuses the least urgent.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queue
		m := []*queue.Meter{queue.NewMeter(queue.Limits{MaxConcurrent: 1})}
		ask := func(l queue.Level) queue.Request {
			return queue.Request{Level: l, Meters: m, Bounds: queue.Bounds{Length: 2}}
		}
		running := begin(t, &q, ask(queue.Interactive))
		var o order
		o.add(&q, "of other bounds", queue.Request{Level: queue.Low, Meters: m})
		o.add(&q, "background", ask(queue.Background))
		o.add(&q, "background too", ask(queue.Background))
		if r := refused(t, &q, t.Context(), ask(queue.Low)); r.Reason != queue.Full || r.Length != 2 {
			t.Errorf("it is refused with %+v", r)
		}
		o.add(&q, "interactive", ask(queue.Interactive))
		after(time.Second)
		running.Done(works)
		o.want(t, "background too the request was not sent: 2 others wait already, which is the most 0s",
			"interactive 1s", "background 1s", "of other bounds 1s")
	})
}

// TestModelsDoNotBlockEachOther lets requests of another model pass one that waits for its own.
func TestModelsDoNotBlockEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queue
		key := queue.NewMeter(queue.Limits{MaxConcurrent: 3})
		busy := []*queue.Meter{key, queue.NewMeter(queue.Limits{MaxConcurrent: 1})}
		free := []*queue.Meter{key, queue.NewMeter(queue.Limits{MaxConcurrent: 8})}
		running := begin(t, &q, queue.Request{Meters: busy})
		var o order
		o.add(&q, "busy", queue.Request{Meters: busy})
		one := begin(t, &q, queue.Request{Level: queue.Low, Meters: free})
		two := begin(t, &q, queue.Request{Level: queue.Low, Meters: free})
		o.add(&q, "free", queue.Request{Meters: free})
		after(time.Second)
		one.Done(works)
		synctest.Wait()
		running.Done(works)
		o.want(t, "free 1s", "busy 1s")
		two.Done(works)
	})
}

// TestGivingUpKeepsNobodyBack lets the next one begin when the one before it is gone.
func TestGivingUpKeepsNobodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queue
		m := []*queue.Meter{queue.NewMeter(queue.Limits{TPM: 100})}
		begin(t, &q, queue.Request{Tokens: 60, Meters: m}).Done(works)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := q.Wait(ctx, queue.Request{Tokens: 90, Meters: m})
			gone <- err
		}()
		synctest.Wait()
		var o order
		o.add(&q, "small", queue.Request{Tokens: 40, Meters: m})
		after(time.Second)
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("it gave up with %v", err)
		}
		o.want(t, "small 1s")
	})
}
