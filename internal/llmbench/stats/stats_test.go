package stats_test

import (
	"math"
	"testing"

	"callgate/internal/llmbench/stats"
)

func samples(values ...float64) (all []stats.Sample) {
	for _, v := range values {
		all = append(all, stats.Sample{Value: v, Weight: 1})
	}
	return all
}

func near(a, b float64) bool { return math.Abs(a-b) < 0.0005 }

func TestInterval(t *testing.T) {
	t.Parallel()
	ones := make([]float64, 10)
	for i := range ones {
		ones[i] = 1
	}
	for _, tc := range []struct {
		name      string
		of        []stats.Sample
		mean      float64
		low, high float64
	}{
		{"none", nil, 0, 0, 1},
		{"all right", samples(ones...), 1, 0.7225, 1},  // Wilson's, from tables
		{"half", samples(1, 0, 1, 0), 0.5, 0.15, 0.85}, // Wilson's, from tables
		{"all wrong", samples(0, 0, 0), 0, 0, 0.5615},  // Wilson's, from tables
		{"no weight", []stats.Sample{{Value: 1}}, 0, 0, 1},
		{"the same", samples(0.5, 0.5, 0.5), 0.5, 0.5, 0.5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			low, high := stats.Interval(tc.of)
			if mean := stats.Mean(tc.of); !near(mean, tc.mean) || !near(low, tc.low) || !near(high, tc.high) {
				t.Errorf("the mean is %v, in %v to %v", mean, low, high)
			}
		})
	}
	// Drawn again, the same measurements give the same interval, around their mean.
	parts := samples(0.1, 0.5, 0.9, 1, 0.3, 0.7)
	low, high := stats.Interval(parts)
	again, _ := stats.Interval(parts)
	if mean := stats.Mean(parts); low != again || low >= mean || high <= mean || low < 0.1 || high > 1 {
		t.Errorf("the interval is %v to %v, then from %v", low, high, again)
	}
}

func TestWeights(t *testing.T) {
	t.Parallel()
	if got := stats.Mean([]stats.Sample{{1, 3}, {0, 1}}); got != 0.75 {
		t.Errorf("the mean is %v", got)
	}
	// A case that counts for much leaves less to tell than as many of equal weight.
	low, _ := stats.Interval([]stats.Sample{{1, 100}, {1, 1}, {1, 1}})
	even, _ := stats.Interval(samples(1, 1, 1))
	if low >= even {
		t.Errorf("the interval begins at %v, and with even weights at %v", low, even)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	values := []float64{4, 1, 3, 2}
	for share, want := range map[float64]float64{0: 1, 0.5: 2.5, 1: 4, 0.95: 3.85} {
		if got := stats.Quantile(values, share); !near(got, want) {
			t.Errorf("at %v it is %v, want %v", share, got, want)
		}
	}
	if stats.Quantile(nil, 0.5) != 0 || values[0] != 4 {
		t.Error("none has a median, or the values were sorted in place")
	}
}
