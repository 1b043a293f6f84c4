// Package stats sums up measurements. Law: the same measurements give the same numbers, on every
// machine and every time.
package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Sample is one measurement and how much it counts.
type Sample struct {
	Value  float64 // from 0 to 1
	Weight float64
}

// Mean is the weighted mean; 0 of none.
func Mean(samples []Sample) float64 {
	var sum, weights float64
	for _, s := range samples {
		sum += s.Value * s.Weight
		weights += s.Weight
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// Interval is the range in which the mean lies with a confidence of 95 %. Of measurements that are all
// right or wrong it is Wilson's, which is honest also where all of a few are right; of others it is
// made by drawing the measurements again, with a fixed seed.
func Interval(samples []Sample) (low, high float64) {
	if len(samples) == 0 {
		return 0, 1
	}
	for _, s := range samples {
		if s.Value != 0 && s.Value != 1 {
			return bootstrap(samples)
		}
	}
	return wilson(Mean(samples), effective(samples))
}

// effective is how many measurements of equal weight tell as much.
func effective(samples []Sample) float64 {
	var sum, squares float64
	for _, s := range samples {
		sum += s.Weight
		squares += s.Weight * s.Weight
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / squares
}

const z = 1.959963984540054 // of 95 %

func wilson(p, n float64) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return min(p, max(0, mid-half)), max(p, min(1, mid+half))
}

const draws = 2000

func bootstrap(samples []Sample) (low, high float64) {
	random := rand.New(rand.NewPCG(19, 4)) // any two numbers, but always the same
	means := make([]float64, draws)
	drawn := make([]Sample, len(samples))
	for i := range means {
		for j := range drawn {
			drawn[j] = samples[random.IntN(len(samples))]
		}
		means[i] = Mean(drawn)
	}
	slices.Sort(means)
	mean := Mean(samples)
	return min(mean, means[draws*25/1000]), max(mean, means[draws*975/1000-1])
}

// Quantile is the value below which a share of the values lies; 0 of none.
func Quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := share * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}
