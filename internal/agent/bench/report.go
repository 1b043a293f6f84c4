package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"callgate/tool"
)

// Summary is what one way came to.
type Summary struct {
	Form     string  `json:"form"`
	Model    string  `json:"model,omitempty"`
	Tasks    int     `json:"tasks"`
	Right    int     `json:"right"` // tasks that ended right
	Calls    int     `json:"calls"`
	Wasted   int     `json:"wasted"`
	Sent     int     `json:"tokens_sent"`
	Received int     `json:"tokens_received"`
	Seconds  float64 `json:"seconds"`
}

// Report is what a run of the suite came to.
type Report struct {
	Binary   string    `json:"binary"`
	Summary  []Summary `json:"summary"`
	Outcomes []Outcome `json:"outcomes"`
}

// Summarize adds outcomes up, a row for each way in the order of the outcomes.
func Summarize(binary string, outcomes []Outcome) Report {
	r := Report{Binary: binary, Outcomes: outcomes}
	for _, o := range outcomes {
		n := len(r.Summary)
		if n == 0 || r.Summary[n-1].Form != o.Form || r.Summary[n-1].Model != o.Model {
			r.Summary = append(r.Summary, Summary{Form: o.Form, Model: o.Model})
			n++
		}
		s := &r.Summary[n-1]
		s.Tasks++
		if o.OK {
			s.Right++
		}
		s.Calls += o.Calls
		s.Wasted += o.Wasted
		s.Sent += o.Sent
		s.Received += o.Received
		s.Seconds += o.Seconds
	}
	return r
}

// Table writes a report for people: a row for each way, and why tasks went wrong.
func (r Report) Table(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "form\tmodel\tright\ttasks\tcalls\twasted\ttokens sent\treceived\tseconds\t")
	var all Summary
	for _, s := range r.Summary {
		row(w, s)
		all = Summary{Form: "all", Tasks: all.Tasks + s.Tasks, Right: all.Right + s.Right, Calls: all.Calls + s.Calls,
			Wasted: all.Wasted + s.Wasted, Sent: all.Sent + s.Sent, Received: all.Received + s.Received,
			Seconds: all.Seconds + s.Seconds}
	}
	if len(r.Summary) > 1 {
		row(w, all)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	first := true
	for _, o := range r.Outcomes {
		if o.OK {
			continue
		}
		if first {
			first = false
			fmt.Fprintln(to, "\nwent wrong:")
		}
		if _, err := fmt.Fprintf(to, "  %s, %s: %s\n", o.Task, Way{o.Form, o.Model}, oneLine(o.Why, 160)); err != nil {
			return err
		}
	}
	return nil
}

func row(w io.Writer, s Summary) {
	fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t\n", s.Form, s.Model, s.Right, s.Tasks, s.Calls, s.Wasted,
		s.Sent, s.Received, s.Seconds)
}

// oneLine is a text on one line, of at most n bytes.
func oneLine(text string, n int) string {
	return tool.TruncateTo(strings.Join(strings.Fields(text), " "), n)
}

// List writes the tasks of a suite.
func List(to io.Writer, tasks []Task) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TASK\tKIND\tREQUEST")
	for _, t := range tasks {
		fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, t.Kind, oneLine(t.Ask, 100))
	}
	return w.Flush()
}
