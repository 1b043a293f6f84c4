// Package metric has the words for numbers that a program tells of itself, and writes them in the text format
// that Prometheus reads.
//
// # Law
//
// A family has one sample for each set of label values. Who makes a family bounds how many there are: a name
// from outside is no label value unless it was counted before (see internal/observe/callcount).
package metric

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Type is what the samples of a family are.
type Type string

// The types.
const (
	Counter Type = "counter"   // only grows, until the process ends
	Gauge   Type = "gauge"     // as it is now
	Spread  Type = "histogram" // how durations are spread
)

// Family is a metric with all its samples.
type Family struct {
	Name    string // as Prometheus has it, with its unit
	Help    string
	Type    Type
	Samples []Sample
}

// Sample is one number, or one spread, under label values.
type Sample struct {
	Labels []Label
	Value  float64
	Spread *Histogram // of a Spread, in the place of Value
}

// Label is a name and a value.
type Label struct{ Name, Value string }

// Of makes a family with one sample and no labels.
func Of(name, help string, t Type, value float64) Family {
	return Family{Name: name, Help: help, Type: t, Samples: []Sample{{Value: value}}}
}

// bounds are the upper ends of the buckets in seconds: from a call that only reads memory to one that a person
// waits for.
var bounds = [...]float64{
	0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
}

// Bounds are the upper ends of a histogram's buckets, in seconds; the last bucket has none.
func Bounds() []float64 { return slices.Clone(bounds[:]) }

// Histogram counts durations in buckets. The zero value is empty.
type Histogram struct {
	Buckets [len(bounds) + 1]uint64
	Count   uint64
	Sum     float64 // seconds
}

// Add counts a duration.
func (h *Histogram) Add(d time.Duration) {
	s := max(d.Seconds(), 0)
	at, _ := slices.BinarySearch(bounds[:], s)
	h.Buckets[at]++
	h.Count++
	h.Sum += s
}

// Quantile returns the duration that a share of the counted ones did not exceed, as near as the buckets tell:
// within one, durations are taken as evenly spread. What lies above the last bound is that bound.
func (h *Histogram) Quantile(share float64) time.Duration {
	if h.Count == 0 {
		return 0
	}
	rank, seen := share*float64(h.Count), 0.0
	for i, n := range h.Buckets {
		if n == 0 || seen+float64(n) < rank {
			seen += float64(n)
			continue
		}
		if i == len(bounds) {
			break
		}
		low := 0.0
		if i > 0 {
			low = bounds[i-1]
		}
		return time.Duration((low + (bounds[i]-low)*(rank-seen)/float64(n)) * float64(time.Second))
	}
	return time.Duration(bounds[len(bounds)-1] * float64(time.Second))
}

// ContentType is that of the text format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// WriteText writes families in Prometheus' text format.
func WriteText(w io.Writer, families []Family) error {
	t := textWriter{bufio.NewWriter(w)}
	for _, f := range families {
		t.line("# HELP ", f.Name, " ", escape(f.Help, false))
		t.line("# TYPE ", f.Name, " ", string(f.Type))
		for _, s := range f.Samples {
			if s.Spread == nil {
				t.sample(f.Name, s.Labels, s.Value)
				continue
			}
			t.spread(f.Name, s)
		}
	}
	return t.Flush()
}

type textWriter struct{ *bufio.Writer }

func (t textWriter) line(parts ...string) {
	for _, p := range parts {
		_, _ = t.WriteString(p) // Flush tells
	}
	_ = t.WriteByte('\n')
}

func (t textWriter) sample(name string, labels []Label, value float64) {
	t.line(name, labelText(labels), " ", number(value))
}

func (t textWriter) spread(name string, s Sample) {
	var sum uint64
	for i, n := range s.Spread.Buckets {
		sum += n
		end := math.Inf(1)
		if i < len(bounds) {
			end = bounds[i]
		}
		t.sample(name+"_bucket", append(slices.Clip(s.Labels), Label{"le", number(end)}), float64(sum))
	}
	t.sample(name+"_sum", s.Labels, s.Spread.Sum)
	t.sample(name+"_count", s.Labels, float64(s.Spread.Count))
}

func labelText(labels []Label) string {
	if len(labels) == 0 {
		return ""
	}
	parts := make([]string, len(labels))
	for i, l := range labels {
		parts[i] = l.Name + `="` + escape(l.Value, true) + `"`
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// escape writes a text so that it is one line of UTF-8, and ends no quotes.
func escape(text string, quoted bool) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), `\`, `\\`)
	text = strings.ReplaceAll(text, "\n", `\n`)
	if quoted {
		text = strings.ReplaceAll(text, `"`, `\"`)
	}
	return text
}

func number(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
