// Package page writes the report of a benchmark as a page. Law: the page is whole in itself: it loads
// nothing, runs nothing, and whatever names and messages hold is text in it.
package page

import (
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/llmbench"
	"callgate/tool"
)

//go:embed page.html
var source string

var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"dollars":  func(n float64) string { return fmt.Sprintf("$%.4f", n) },
		"thousand": func(n float64) float64 { return 1000 * n },
		"short":    func(s string) string { return tool.TruncateTo(s, 160) },
		"join":     func(names []string) string { return strings.Join(names, ", ") },
		"ms":       duration,
	}).Parse(source))
})

// Write writes the page of a report.
func Write(w io.Writer, r *llmbench.Report) error {
	d := data{Report: r, Date: r.At.Format("2 January 2006, 15:04 MST")}
	for _, t := range r.Tools {
		d.Tools = append(d.Tools, toolData{
			ToolReport: t, Quality: qualityOf(t), Scatter: scatterOf(t), Latency: latencyOf(t),
		})
	}
	return page().Execute(w, d)
}

// data is what the page shows.
type data struct {
	Report *llmbench.Report
	Date   string
	Tools  []toolData
}

// Bottom is where the lines of a plot end, above its axis.
func (data) Bottom(height float64) float64 { return height - 20 }

type toolData struct {
	llmbench.ToolReport
	Quality quality
	Scatter scatter
	Latency latency
}

// tick is a mark of an axis.
type tick struct {
	X, Y, Height float64
	Label        string
}

// The plot of quality: names, a range of scores, numbers.
const (
	qualityLeft  = 300.0
	qualityRight = 860.0
	qualityRow   = 30.0
)

type quality struct {
	Height, Limit float64
	Ticks         []tick
	Rows          []qualityRowData
}

type qualityRowData struct {
	Name, Class, Label     string
	Y, Top, Low, Width, At float64
	Measured               bool
}

func qualityOf(t llmbench.ToolReport) quality {
	x := func(score float64) float64 { return round(qualityLeft + score/100*(qualityRight-qualityLeft)) }
	q := quality{Height: qualityRow*float64(len(t.Models)) + 34, Limit: x(t.Threshold)}
	for score := 0.0; score <= 100; score += 20 {
		q.Ticks = append(q.Ticks, tick{X: x(score), Height: q.Height, Label: fmt.Sprintf("%.0f", score)})
	}
	for i, m := range t.Models {
		y := 22 + qualityRow*float64(i)
		q.Rows = append(q.Rows, qualityRowData{
			Name: cut(m.Model, 42), Class: class(m), Y: y, Top: y - 6, Measured: m.Runs > 0,
			Low: x(m.Low), Width: max(2, round(x(m.High)-x(m.Low))), At: x(m.Score),
			Label: fmt.Sprintf("%.1f (%.1f–%.1f)", m.Score, m.Low, m.High),
		})
	}
	return q
}

// The plot of cost against quality.
const (
	scatterLeft, scatterRight = 36.0, 470.0
	scatterTop, scatterBottom = 10.0, 258.0
	labelHeight               = 14.0
)

type scatter struct {
	Limit          float64
	XTicks, YTicks []tick
	Points         []point
	Unpriced       []string
}

type point struct {
	Name, Class, Anchor string
	X, Y, TextX, TextY  float64
}

func scatterOf(t llmbench.ToolReport) scatter {
	most, least := 0.0, t.Threshold
	for _, m := range t.Models {
		if m.Priced && m.Runs > 0 {
			most, least = max(most, 1000*m.Cost), min(least, m.Score)
		}
	}
	most, step := axis(most)
	low := max(0, 10*math.Floor((least-5)/10))
	x := func(cost float64) float64 { return round(scatterLeft + cost/most*(scatterRight-scatterLeft)) }
	y := func(score float64) float64 {
		return round(scatterBottom - (score-low)/(100-low)*(scatterBottom-scatterTop))
	}
	s := scatter{Limit: y(t.Threshold)}
	for cost := 0.0; cost <= most*1.0001; cost += step {
		s.XTicks = append(s.XTicks, tick{X: x(cost), Label: fmt.Sprintf("%.4g", cost)})
	}
	for score := low; score <= 100; score += (100 - low) / 5 {
		s.YTicks = append(s.YTicks, tick{Y: y(score), Label: fmt.Sprintf("%.4g", score)})
	}
	for _, m := range t.Models {
		switch {
		case m.Runs == 0:
			continue
		case !m.Priced:
			s.Unpriced = append(s.Unpriced, m.Model)
			continue
		}
		p := point{Name: cut(m.Model, 32), Class: class(m), X: x(1000 * m.Cost), Y: y(m.Score), Anchor: "start"}
		if p.X > (scatterLeft+scatterRight)/2 {
			p.Anchor = "end"
		}
		s.Points = append(s.Points, p)
	}
	name(s.Points)
	spread(s.Points)
	return s
}

// name puts the names of points beside them, and beside the points that are near.
func name(points []point) {
	for i, p := range points {
		left, right := p.X, p.X
		for _, o := range points {
			if o.Anchor == p.Anchor && math.Abs(o.Y-p.Y) < 2*labelHeight && math.Abs(o.X-p.X) < 120 {
				left, right = min(left, o.X), max(right, o.X)
			}
		}
		points[i].TextX, points[i].TextY = round(right+10), p.Y
		if p.Anchor == "end" {
			points[i].TextX = round(left - 10)
		}
	}
}

// spread moves names apart that would lie on each other.
func spread(points []point) {
	slices.SortStableFunc(points, func(a, b point) int { return int(math.Copysign(1, a.Y-b.Y)) })
	for i := range points {
		points[i].TextY = max(points[i].TextY, scatterTop+6)
		if i > 0 {
			points[i].TextY = max(points[i].TextY, points[i-1].TextY+labelHeight)
		}
	}
	for i := len(points) - 1; i >= 0; i-- {
		most := scatterBottom - 4
		if i < len(points)-1 {
			most = points[i+1].TextY - labelHeight
		}
		points[i].TextY = min(points[i].TextY, most)
	}
}

// axis returns the end of an axis, and the distance of its marks: 1, 2 or 5 times a power of ten.
func axis(most float64) (end, step float64) {
	if !(most > 0) {
		return 1, 0.25
	}
	power := math.Pow(10, math.Floor(math.Log10(most/4)))
	step = 10 * power
	for _, n := range []float64{1, 2, 5} {
		if n*power >= most/4 {
			step = n * power
			break
		}
	}
	return step * math.Ceil(most/step), step
}

// The plot of latency.
const (
	latencyRow   = 40.0
	latencyRight = 360.0
)

type latency struct {
	Height float64
	Rows   []latencyRowData
}

type latencyRowData struct {
	Name, Class, Label          string
	Top, BarY, Mid, High, TextX float64
}

func latencyOf(t llmbench.ToolReport) latency {
	longest := 1.0
	for _, m := range t.Models {
		longest = max(longest, m.P95)
	}
	var l latency
	for _, m := range t.Models {
		if m.Runs == 0 {
			continue
		}
		top := 14 + latencyRow*float64(len(l.Rows))
		high := max(2, round(m.P95/longest*latencyRight))
		l.Rows = append(l.Rows, latencyRowData{
			Name: cut(m.Model, 60), Class: class(m), Top: top, BarY: top + 6, High: high, TextX: high + 8,
			Mid: max(2, round(m.Median/longest*latencyRight)), Label: duration(m.Median) + ", " + duration(m.P95),
		})
	}
	l.Height = latencyRow*float64(max(1, len(l.Rows))) + 4
	return l
}

func class(m llmbench.ModelReport) string {
	if m.Reached {
		return "good"
	}
	return "plain"
}

func cut(name string, most int) string {
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return name
}

func round(n float64) float64 { return math.Round(n*10) / 10 }

func duration(ms float64) string {
	d := time.Duration(ms * 1e6)
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
