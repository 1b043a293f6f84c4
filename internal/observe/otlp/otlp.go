// Package otlp sends spans and metrics to a collector of OpenTelemetry, over HTTP.
//
// # Law
//
// Who records a span never waits: it goes into a queue of bounded length, and is dropped and counted where that is
// full. One goroutine sends. A collector that does not answer costs memory for one queue and one batch, and nothing
// else; what it did not take is dropped, counted, and not sent again. Closing sends what is left, for a short time.
package otlp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"callgate/internal/observe"
	"callgate/internal/observe/metric"
)

// The bounds of what waits and of what is sent at once.
const (
	queueLength = 4096
	batchLength = 512
	batchDelay  = time.Second
	lastWords   = 2 * time.Second // that closing may take
	maxPause    = 30 * time.Second
)

// Exporter sends spans and metrics. Make one with Start.
type Exporter struct {
	set      Settings
	log      *slog.Logger
	http     *http.Client
	queue    chan *observe.Span
	families atomic.Pointer[func(context.Context) []metric.Family]
	began    time.Time

	sent, dropped, failed atomic.Uint64

	closing chan struct{}
	closed  chan struct{}
	failing bool // the last request failed; of the goroutine that sends
}

var (
	_ observe.Recorder = (*Exporter)(nil)
	_ observe.Sampler  = (*Exporter)(nil)
)

// Samples is of observe.Sampler.
func (e *Exporter) Samples(trace [16]byte, elsewhere *bool) bool {
	return e.set.Sampling.samples(trace, elsewhere)
}

// Start makes an exporter, which sends until it is closed.
func Start(set Settings, log *slog.Logger) *Exporter {
	e := &Exporter{
		set: set, log: log, http: newClient(set), queue: make(chan *observe.Span, queueLength),
		began: time.Now(), closing: make(chan struct{}), closed: make(chan struct{}),
	}
	go e.run()
	return e
}

// Metrics has the exporter send metrics too, which families gathers. A nil exporter sends nothing.
func (e *Exporter) Metrics(families func(context.Context) []metric.Family) {
	if e != nil {
		e.families.Store(&families)
	}
}

// Ended queues a span, or drops it.
func (e *Exporter) Ended(s *observe.Span) {
	if e.set.Traces == "" {
		return
	}
	select {
	case e.queue <- s:
	default:
		e.dropped.Add(1)
	}
}

// Counts says what became of spans: sent, dropped because the queue was full, failed because the collector did not
// take them.
func (e *Exporter) Counts() map[string]uint64 {
	return map[string]uint64{"sent": e.sent.Load(), "dropped": e.dropped.Load(), "failed": e.failed.Load()}
}

// Close sends what is left, and ends.
func (e *Exporter) Close() {
	if e == nil {
		return
	}
	close(e.closing)
	<-e.closed
}

func (e *Exporter) run() {
	defer close(e.closed)
	spans, numbers := time.NewTicker(batchDelay), time.NewTicker(e.set.Interval)
	defer spans.Stop()
	defer numbers.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // a request under way has a moment more
		<-e.closing
		time.AfterFunc(lastWords, cancel)
	}()
	var batch []*observe.Span
	pause := pause{}
	for {
		select {
		case s := <-e.queue:
			if batch = append(batch, s); len(batch) < batchLength {
				continue
			}
		case <-spans.C:
		case <-numbers.C:
			e.sendMetrics(ctx)
			continue
		case <-e.closing:
			e.last(ctx, batch)
			return
		}
		if len(batch) == 0 {
			continue
		}
		if pause.over(time.Now()) {
			pause.next(e.sendSpans(ctx, batch), time.Now())
		} else {
			e.failed.Add(uint64(len(batch)))
		}
		batch = nil
	}
}

// last sends what is left when the exporter is closed.
func (e *Exporter) last(ctx context.Context, batch []*observe.Span) {
	for ctx.Err() == nil {
		select {
		case s := <-e.queue:
			batch = append(batch, s)
			continue
		default:
		}
		break
	}
	if len(batch) > 0 {
		e.sendSpans(ctx, batch)
	}
	e.sendMetrics(ctx)
}

// pause is how long nothing is sent after the collector failed: longer each time.
type pause struct {
	until  time.Time
	length time.Duration
}

func (p *pause) over(now time.Time) bool { return !now.Before(p.until) }

func (p *pause) next(ok bool, now time.Time) {
	if ok {
		*p = pause{}
		return
	}
	p.length = min(max(2*p.length, time.Second), maxPause)
	p.until = now.Add(p.length)
}

func (e *Exporter) sendSpans(ctx context.Context, batch []*observe.Span) bool {
	err := e.post(ctx, e.set.Traces, traceRequest(e.set.Resource, batch))
	if err != nil {
		e.failed.Add(uint64(len(batch)))
	} else {
		e.sent.Add(uint64(len(batch)))
	}
	e.note(err)
	return err == nil
}

func (e *Exporter) sendMetrics(ctx context.Context) {
	families := e.families.Load()
	if families == nil || e.set.Metrics == "" {
		return
	}
	gathering, cancel := context.WithTimeout(ctx, e.set.Timeout)
	defer cancel()
	e.note(e.post(ctx, e.set.Metrics, metricRequest(e.set.Resource, (*families)(gathering), e.began, time.Now())))
}

// note logs that the collector began to fail, or works again: once each.
func (e *Exporter) note(err error) {
	switch {
	case err != nil && !e.failing:
		e.log.Warn("the OpenTelemetry collector takes nothing; spans and metrics are dropped until it does", "error", err)
	case err == nil && e.failing:
		e.log.Warn("the OpenTelemetry collector takes spans and metrics again")
	}
	e.failing = err != nil
}

// newClient follows no redirect: the headers, which may hold a key, are for the collector that was named.
func newClient(set Settings) *http.Client {
	return &http.Client{
		Transport: set.Transport, Timeout: set.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (e *Exporter) post(ctx context.Context, url string, m proto.Message) error {
	body, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range e.set.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	res, err := e.http.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	if res.StatusCode >= 300 {
		return fmt.Errorf("the collector answered %s", res.Status)
	}
	return nil
}
