package otlp_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/observe"
	"callgate/internal/observe/otlp"
)

// transport is how requests go.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// exporter makes one with variables, whose requests are never answered.
func exporter(t *testing.T, env map[string]string) *otlp.Exporter {
	t.Helper()
	set, err := otlp.Read("http://127.0.0.1:4318", func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	set.Transport = transport(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	return otlp.Start(set, slog.New(slog.DiscardHandler))
}

// OTEL_TRACES_SAMPLER says which traces are recorded: of those that begin here, and of those that began elsewhere.
func TestSampler(t *testing.T) {
	t.Parallel()
	const recorded = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	const left = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
	for _, c := range []struct {
		sampler, arg         string
		least, most          int // of a thousand that begin here
		recorded, unrecorded bool
	}{
		{"", "", 1000, 1000, true, false},
		{"always_on", "", 1000, 1000, true, true},
		{"always_off", "", 0, 0, false, false},
		{"traceidratio", "0.25", 150, 350, false, false}, // by the trace's ID, which is above that part
		{"traceidratio", "0.9", 800, 980, true, true},
		{"traceidratio", "", 1000, 1000, true, true},
		{"parentbased_always_on", "", 1000, 1000, true, false},
		{"parentbased_always_off", "", 0, 0, true, false},
		{"parentbased_traceidratio", "0.5", 400, 600, true, false},
	} {
		t.Run(c.sampler+c.arg, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := exporter(t, map[string]string{"OTEL_TRACES_SAMPLER": c.sampler, "OTEL_TRACES_SAMPLER_ARG": c.arg})
				defer e.Close()
				ctx := observe.With(t.Context(), e)
				begins := func(ctx context.Context) bool {
					inside, span := observe.Start(ctx, observe.Internal, "outer")
					_, below := observe.Start(inside, observe.Internal, "inner")
					if (span == nil) != (below == nil) {
						t.Error("half of a trace is recorded")
					}
					return span != nil
				}
				n := 0
				for range 1000 {
					if begins(ctx) {
						n++
					}
				}
				if n < c.least || n > c.most {
					t.Errorf("%d of a thousand were recorded", n)
				}
				if got := begins(observe.Within(ctx, recorded)); got != c.recorded {
					t.Errorf("one that is recorded elsewhere: %v", got)
				}
				if got := begins(observe.Within(ctx, left)); got != c.unrecorded {
					t.Errorf("one that is not: %v", got)
				}
			})
		})
	}
	for sampler, arg := range map[string]string{"sometimes": "", "traceidratio": "2", "parentbased_": "", "parentbased_traceidratio": "NaN"} {
		_, err := otlp.Read("http://127.0.0.1:4318", func(name string) string {
			return map[string]string{"OTEL_TRACES_SAMPLER": sampler, "OTEL_TRACES_SAMPLER_ARG": arg}[name]
		})
		if err == nil || !strings.Contains(err.Error(), "OTEL_TRACES_SAMPLER") {
			t.Errorf("%s %s: %v", sampler, arg, err)
		}
	}
}

// Closing gives a collector that does not answer two seconds, however long a request may take.
func TestClosingWaitsForNoCollector(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := exporter(t, map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "600000"})
		ctx := observe.With(t.Context(), e)
		for range 6000 { // more than the queue holds: nobody waits
			_, span := observe.Start(ctx, observe.Internal, "filler")
			span.Finish("")
		}
		began := time.Now()
		e.Close()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("closing took %v", took)
		}
		if n := e.Counts(); n["dropped"] == 0 || n["sent"] != 0 || n["dropped"]+n["failed"] > 6000 {
			t.Errorf("%v", n)
		}
	})
}
