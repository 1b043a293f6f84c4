package metric_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"callgate/internal/observe/metric"
)

// The text is what Prometheus' own parser reads, and says the same.
func TestTextIsPrometheus(t *testing.T) {
	var h metric.Histogram
	for _, d := range []time.Duration{time.Millisecond, 3 * time.Millisecond, time.Hour} {
		h.Add(d)
	}
	var b strings.Builder
	err := metric.WriteText(&b, []metric.Family{
		metric.Of("a_total", "What\nit \\ counts.", metric.Counter, 3),
		{Name: "empty", Help: "Nothing yet.", Type: metric.Gauge},
		{Name: "took_seconds", Help: "How long.", Type: metric.Spread, Samples: []metric.Sample{
			{Labels: []metric.Label{{Name: "module", Value: "a\"b\\c\nd\xff"}}, Spread: &h},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(b.String()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	if v := families["a_total"].GetMetric()[0].GetCounter().GetValue(); v != 3 {
		t.Errorf("a_total is %v", v)
	}
	took := families["took_seconds"].GetMetric()[0]
	if got := took.GetLabel()[0].GetValue(); got != "a\"b\\c\nd\uFFFD" {
		t.Errorf("the label is %q", got)
	}
	spread := took.GetHistogram()
	if spread.GetSampleCount() != 3 || math.Abs(spread.GetSampleSum()-3600.004) > 1e-9 {
		t.Errorf("%v", spread)
	}
	if n := len(spread.GetBucket()); n != len(metric.Bounds())+1 {
		t.Errorf("%d buckets", n)
	}
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		name     string
		add      []time.Duration
		share    float64
		low, top time.Duration
	}{
		{"empty", nil, 0.5, 0, 0},
		{"one", []time.Duration{30 * time.Millisecond}, 0.5, 25 * time.Millisecond, 50 * time.Millisecond},
		{"negative is none", []time.Duration{-time.Second}, 0.99, 0, 500 * time.Microsecond},
		{"beyond the last bound", []time.Duration{time.Hour}, 0.5, 5 * time.Minute, 5 * time.Minute},
		{"the tail", append(make([]time.Duration, 97), time.Second, time.Second, time.Second), 0.99,
			500 * time.Millisecond, time.Second},
		{"the middle", append(make([]time.Duration, 98), time.Second, time.Second), 0.5, 0, 500 * time.Microsecond},
	} {
		var h metric.Histogram
		for _, d := range c.add {
			h.Add(d)
		}
		if got := h.Quantile(c.share); got < c.low || got > c.top {
			t.Errorf("%s: %v, want %v to %v", c.name, got, c.low, c.top)
		}
	}
}

// No label value breaks the text.
func FuzzText(f *testing.F) {
	f.Add("a", "help")
	f.Add("\"} 1\nb 2", "\n# TYPE b counter")
	f.Fuzz(func(t *testing.T, value, help string) {
		var b strings.Builder
		family := metric.Family{Name: "a_total", Help: help, Type: metric.Counter, Samples: []metric.Sample{
			{Labels: []metric.Label{{Name: "x", Value: value}}, Value: 1},
		}}
		if err := metric.WriteText(&b, []metric.Family{family}); err != nil {
			t.Fatal(err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(b.String()))
		if err != nil || len(families) != 1 || len(families["a_total"].GetMetric()) != 1 {
			t.Fatalf("%d families, %v in\n%s", len(families), err, b.String())
		}
		if got, want := families["a_total"].GetMetric()[0].GetLabel()[0].GetValue(), strings.ToValidUTF8(value, "\uFFFD"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
