package observe_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"callgate/internal/observe"
	"callgate/tool"
)

// kept is a recorder that keeps spans.
type kept struct {
	mu    sync.Mutex
	spans []*observe.Span
}

func (k *kept) Ended(s *observe.Span) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spans = append(k.spans, s)
}

const remote = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// Without a recorder there are no spans, and nothing is passed on.
func TestOff(t *testing.T) {
	ctx := observe.Within(observe.With(t.Context(), nil), remote)
	inside, span := observe.Start(ctx, observe.Client, "x")
	span.Set("a", "b")
	span.SetInt("c", 1)
	span.Finish("failed")
	if span != nil || inside != ctx || observe.Traceparent(inside) != "" || observe.From(inside) != nil {
		t.Errorf("%v, %q", span, observe.Traceparent(inside))
	}
	n := testing.AllocsPerRun(100, func() {
		_, end := observe.ToolCall(ctx, tool.Call{ID: "c1"})
		end(nil, nil)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name, traceparent, trace, parent string
		recorded                         bool
	}{
		{"none", "", "", "0000000000000000", true},
		{"of another program", remote, "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", true},
		{"of a later version", strings.Replace(remote, "00-", "cc-", 1) + "-more", "0af7651916cd43dd8448eb211c80319c",
			"b7ad6b7169203331", true},
		{"not to be recorded", remote[:53] + "00", "", "", false},
		{"too long", remote + "-more", "", "0000000000000000", true},
		{"of no version", "ff" + remote[2:], "", "0000000000000000", true},
		{"no trace", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "", "0000000000000000", true},
		{"no span", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "", "0000000000000000", true},
		{"in capitals", strings.ToUpper(remote), "", "0000000000000000", true},
		{"nonsense", strings.Repeat("x", 55), "", "0000000000000000", true},
	} {
		k := &kept{}
		ctx, span := observe.Start(observe.Within(observe.With(t.Context(), k), c.traceparent), observe.Server, "x")
		if (span != nil) != c.recorded {
			t.Errorf("%s: recorded is %v", c.name, span != nil)
		}
		place := observe.Traceparent(ctx)
		if span == nil {
			if place != c.traceparent { // it is passed on as it came
				t.Errorf("%s: %s", c.name, place)
			}
			continue
		}
		span.Finish("")
		got := k.spans[0]
		if c.trace != "" && !strings.HasPrefix(place, "00-"+c.trace+"-") || got.ID == [8]byte{} || got.Trace == [16]byte{} {
			t.Errorf("%s: %s", c.name, place)
		}
		if hexOf(got.Parent[:]) != c.parent {
			t.Errorf("%s: the parent is %x", c.name, got.Parent)
		}
	}
}

func hexOf(b []byte) (text string) {
	const digits = "0123456789abcdef"
	for _, x := range b {
		text += string(digits[x>>4]) + string(digits[x&15])
	}
	return text
}

// What is passed on is read by the next as it was meant, and nothing else is believed.
func FuzzTraceparent(f *testing.F) {
	f.Add(remote)
	f.Add("00-")
	f.Fuzz(func(t *testing.T, text string) {
		ctx := observe.Within(observe.With(context.Background(), &kept{}), text)
		if place := observe.Traceparent(ctx); place != "" && !strings.HasPrefix(place[3:], text[3:52]) {
			t.Errorf("%q became %q", text, place)
		}
	})
}

// BenchmarkToolCall is what a call pays for its span: without a recorder, and with one.
func BenchmarkToolCall(b *testing.B) {
	deep := context.Background()
	for range 10 { // as a request's context is
		var cancel context.CancelFunc
		deep, cancel = context.WithCancel(deep)
		defer cancel()
	}
	for name, ctx := range map[string]context.Context{"off": deep, "on": observe.With(deep, discard{})} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, end := observe.ToolCall(ctx, tool.Call{ID: "c1"})
				end(nil, &tool.Result{Status: tool.Success})
			}
		})
	}
}

type discard struct{}

func (discard) Ended(*observe.Span) {}
