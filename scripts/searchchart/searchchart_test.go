package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"callgate/internal/search/eval"
	"callgate/tool"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with the file of that name in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), string(got)); diff != "" {
		t.Errorf("%s (-want +got), -update writes it anew:\n%s", name, diff)
	}
}

// report makes a report whose means are all alike but for nDCG@10.
func report(set, engine string, n int, mean, ndcg float64, p50 time.Duration) eval.Named {
	return eval.Named{Set: set, Engine: engine, Report: eval.Report{Scores: eval.Scores{
		N: n, Hit1: mean, Hit5: mean, Recall1: mean, Recall5: mean, Recall10: mean, NDCG5: mean, NDCG10: ndcg, MRR: mean,
		Latency: eval.Latency{P50: p50, P90: 2 * p50, P99: 15 * p50},
	}}}
}

// drawn has what a drawing can stumble over: names to escape and to cut, a
// tie, sets that come apart, an engine that is missing, a set without queries.
func drawn() []eval.Named {
	return []eval.Named{
		report("everyday", "lexical", 2000, 0.5, 0.55, 87*time.Microsecond),
		report("functions", "lexical", 1351, 0.6, 0.684, 120*time.Microsecond),
		report("everyday", "semantic", 2000, 0.7, 0.71234, 3*time.Millisecond),
		report("everyday", "fused", 2000, 0.7, 0.7125, 3100*time.Microsecond),
		report("functions", "fused", 1351, 0.8, 0.8, 3200*time.Microsecond),
		report("a set with a <name> & \"quotes\" that goes on\nand on", "lexical", 1, 1, 1, 999),
		report("catalogue", "lexical", 0, 0, 0, 0),
		report("中文|查询_集", "fused", 327, 0, 0, 2*time.Second),
	}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := writeMarkdown(&b, drawn()); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.md", b.Bytes())
}

func TestSVG(t *testing.T) {
	var b bytes.Buffer
	if err := writeSVG(&b, drawn()); err != nil {
		t.Fatal(err)
	}
	golden(t, "picture.svg", b.Bytes())
}

// However many sets there are, the picture is whole XML, each bar is in it, and
// its words stay inside it and clear of each other.
func TestSVGOfManySets(t *testing.T) {
	for n := 1; n <= 12; n++ {
		var in []eval.Named
		for i := range n {
			for _, e := range []string{"lexical", "semantic", "fused"}[:1+i%3] {
				in = append(in,
					report(fmt.Sprintf("set %d \x00<&> of a rather long name", i), e, 123456, 0.5, float64(i)/11, time.Millisecond))
			}
		}
		var b bytes.Buffer
		if err := writeSVG(&b, in); err != nil {
			t.Fatal(err)
		}
		var pic drawing
		if err := xml.Unmarshal(b.Bytes(), &pic); err != nil {
			t.Fatalf("%d sets: %v", n, err)
		}
		if want := 1 + min(n, 3) + len(in); len(pic.Rects) != want { // the ground, the legend, the bars
			t.Errorf("%d sets: %d rectangles, want %d", n, len(pic.Rects), want)
		}
		for i, a := range pic.Texts {
			if box := a.box(); !box.In(image.Rect(0, 0, pic.Width, pic.Height)) {
				t.Errorf("%d sets: %q at %v leaves the picture", n, a.Words, box)
			}
			for _, b := range pic.Texts[:i] {
				if a.box().Overlaps(b.box()) {
					t.Errorf("%d sets: %q at %v lies over %q at %v", n, a.Words, a.box(), b.Words, b.box())
				}
			}
		}
	}
}

// drawing is what the test reads of an SVG.
type drawing struct {
	Width  int        `xml:"width,attr"`
	Height int        `xml:"height,attr"`
	Rects  []struct{} `xml:"rect"`
	Texts  []text     `xml:"text"`
}

type text struct {
	X      int    `xml:"x,attr"`
	Y      int    `xml:"y,attr"`
	Size   int    `xml:"font-size,attr"`
	Anchor string `xml:"text-anchor,attr"`
	Words  string `xml:",chardata"`
}

// box is about where the words are drawn.
func (w text) box() image.Rectangle {
	wide := utf8.RuneCountInString(w.Words) * w.Size * 55 / 100
	left := w.X
	switch w.Anchor {
	case "end":
		left -= wide
	case "middle":
		left -= wide / 2
	}
	return image.Rect(left, w.Y-w.Size*3/4, left+wide, w.Y+w.Size/5)
}

func TestSVGRefuses(t *testing.T) {
	var nine []eval.Named
	for i := range 9 {
		nine = append(nine, report("set", fmt.Sprint("engine ", i), 1, 1, 1, 1))
	}
	for _, c := range []struct {
		name string
		in   []eval.Named
	}{
		{"nothing", nil},
		{"only sets without queries", []eval.Named{report("set", "lexical", 0, 0, 0, 0)}},
		{"more engines than colours", nine},
		{"no number", []eval.Named{report("set", "lexical", 1, 1, math.NaN(), 1)}},
		{"no mean", []eval.Named{report("set", "lexical", 1, 1, 1.5, 1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			err := writeSVG(&b, c.in)
			var e *tool.Error
			if !errors.As(err, &e) || e.Kind != tool.Invalid || e.Hint == "" || b.Len() != 0 {
				t.Errorf("got %v and %d bytes, want Invalid with a hint, and nothing written", err, b.Len())
			}
		})
	}
}
