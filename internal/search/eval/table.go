package eval

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Named is a report with its set and engine.
type Named struct {
	Set    string `json:"set"`
	Engine string `json:"engine"`
	Report `json:"report"`
}

// ByLang splits each report with more than one language into a report for each
// language, and leaves out the others: rows for a second table.
func ByLang(reports []Named) []Named {
	var out []Named
	for _, r := range reports {
		if len(r.Langs) < 2 {
			continue
		}
		for _, lang := range slices.Sorted(maps.Keys(r.Langs)) {
			out = append(out, Named{r.Set + " " + lang, r.Engine, Report{Scores: r.Langs[lang]}})
		}
	}
	return Grouped(out)
}

// Table writes the reports as aligned text. In each column the best engine of a set
// has a star; equal texts are equally good.
func Table(w io.Writer, reports []Named) error {
	rows := Rows(reports)
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			width[i] = max(width[i], cells(c.Text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-cells(c.Text))
			switch {
			case i < NameColumns:
				line.WriteString(c.Text + pad + "  ")
			case c.Best:
				line.WriteString(pad + c.Text + "* ")
			default:
				line.WriteString(pad + c.Text + "  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// NameColumns is the number of columns, from the left, that hold names.
const NameColumns = 2

// Cell is one field of a table of reports.
type Cell struct {
	Text string
	Best bool // of its set, in its column
}

// column is a number of a report.
type column struct {
	head  string
	less  bool // less is better
	value func(Scores) float64
	write func(float64) string
}

func columns() []column {
	mean := func(v float64) string { return fmt.Sprintf("%.3f", v) }
	took := func(v float64) string { return writeTime(time.Duration(v)) }
	return []column{
		{"R@1", false, func(s Scores) float64 { return s.Recall1 }, mean},
		{"R@5", false, func(s Scores) float64 { return s.Recall5 }, mean},
		{"R@10", false, func(s Scores) float64 { return s.Recall10 }, mean},
		{"nDCG@5", false, func(s Scores) float64 { return s.NDCG5 }, mean},
		{"nDCG@10", false, func(s Scores) float64 { return s.NDCG10 }, mean},
		{"MRR", false, func(s Scores) float64 { return s.MRR }, mean},
		{"Hit@1", false, func(s Scores) float64 { return s.Hit1 }, mean},
		{"Hit@5", false, func(s Scores) float64 { return s.Hit5 }, mean},
		{"p50", true, func(s Scores) float64 { return float64(s.Latency.P50) }, took},
		{"p90", true, func(s Scores) float64 { return float64(s.Latency.P90) }, took},
		{"p99", true, func(s Scores) float64 { return float64(s.Latency.P99) }, took},
	}
}

// Rows makes the rows of a table of reports, the head first. Nothing is best
// where nothing competes.
func Rows(reports []Named) [][]Cell {
	cols := columns()
	head := []Cell{{Text: "set"}, {Text: "engine"}, {Text: "n"}}
	for _, c := range cols {
		head = append(head, Cell{Text: c.head})
	}
	rows := [][]Cell{head}
	reports = Grouped(reports)
	for from := 0; from < len(reports); {
		to := from + 1
		for to < len(reports) && reports[to].Set == reports[from].Set {
			to++
		}
		rows = append(rows, setRows(cols, reports[from:to])...)
		from = to
	}
	return rows
}

// setRows makes the rows of one set.
func setRows(cols []column, reports []Named) [][]Cell {
	rows := make([][]Cell, len(reports))
	for i, r := range reports {
		rows[i] = []Cell{{Text: OneLine(r.Set)}, {Text: OneLine(r.Engine)}, {Text: fmt.Sprint(r.N)}}
	}
	for _, c := range cols {
		best := ""
		var most float64
		for i, r := range reports {
			v := c.value(r.Scores)
			if c.less {
				v = -v
			}
			if r.N > 0 && (best == "" || v > most) {
				best, most = c.write(c.value(r.Scores)), v
			}
			rows[i] = append(rows[i], Cell{Text: c.write(c.value(r.Scores))})
		}
		for i, r := range reports {
			last := &rows[i][len(rows[i])-1]
			if r.N == 0 {
				last.Text = "-"
				continue
			}
			last.Best = len(reports) > 1 && last.Text == best
		}
	}
	return rows
}

// Grouped brings the reports of a set together, each set where it first comes.
func Grouped(reports []Named) []Named {
	var sets []string
	of := map[string][]Named{}
	for _, r := range reports {
		if of[r.Set] == nil {
			sets = append(sets, r.Set)
		}
		of[r.Set] = append(of[r.Set], r)
	}
	out := make([]Named, 0, len(reports))
	for _, s := range sets {
		out = append(out, of[s]...)
	}
	return out
}

// cells is the number of terminal columns of a text: East Asian letters take two.
func cells(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r >= 0x2e80 && r < 0xa4d0 || r >= 0xac00 && r < 0xd7b0 || r >= 0xff00 && r < 0xff61 {
			n++
		}
	}
	return n
}

// OneLine writes a name without line breaks and other control characters.
func OneLine(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, name)
}

// writeTime writes a duration with three significant digits.
func writeTime(d time.Duration) string {
	units := []struct {
		size time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}}
	for _, u := range units {
		if d < u.size {
			continue
		}
		v := float64(d) / float64(u.size)
		switch {
		case v < 10:
			return fmt.Sprintf("%.2f%s", v, u.name)
		case v < 100:
			return fmt.Sprintf("%.1f%s", v, u.name)
		}
		return fmt.Sprintf("%.0f%s", v, u.name)
	}
	return fmt.Sprintf("%dns", d.Nanoseconds())
}
