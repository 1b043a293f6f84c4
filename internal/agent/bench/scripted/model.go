package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
)

// Model is a model at work on one task.
type Model struct {
	habits Habits
	goal   string // words of the request by which it knows that it is still there
	plan   []Step
	at     int
	works  []*work
	calls  int
	back   int // how often it had to look again for what it knew
	resume int // the step after that look, plus one; 0: none

	known   map[string]Schema // of tools, as far as it was told
	learned map[string]bool   // tools whose parameters it no longer writes by habit
	names   map[intent]string // tools that it found for something
	refused map[intent]bool   // habits of naming that were mended
	omitted bool
	quoted  bool
	wasted  map[string]bool
	ended   string // its last words
}

// NewModel returns a model that follows a plan.
func NewModel(h Habits, goal string, plan []Step) *Model {
	return &Model{habits: h, goal: goal, plan: plan, known: map[string]Schema{}, learned: map[string]bool{},
		names: map[intent]string{}, refused: map[intent]bool{}, wasted: map[string]bool{}}
}

// Wasted returns the IDs of the calls that told the model nothing it could use.
func (m *Model) Wasted() map[string]bool { return m.wasted }

// Next is what the model says to a request.
func (m *Model) Next(r *Request) Answer {
	toSumUp := summarize.MatchString(r.lastWords()) && len(r.results()) == 0
	if toSumUp || len(r.Tools) == 0 { // without tools there is only something to write
		return Answer{Text: m.summary(r)}
	}
	if m.ended != "" { // asked again though it had answered: it says so again
		return Answer{Text: m.ended}
	}
	m.take(r)
	for {
		if a, ok := m.step(r); ok {
			if len(a.Calls) == 0 {
				m.ended = a.Text
			} else if m.habits.narrates {
				a.Text = m.learnt(r)
			}
			return a
		}
	}
}

var summarize = lazyregexp.New(`(?i)\bsummari[sz]e\b|\bsummary\b.{0,80}\bconversation\b|` +
	`\bconversation\b.{0,80}\bsummary\b`)

// summary is what a model writes when it is asked to sum up: what it set out to do,
// and the facts that it sees.
func (m *Model) summary(r *Request) string {
	text := r.text()
	var b strings.Builder
	b.WriteString("The user asked: " + m.goal + "\nWhat is known:\n")
	for i := range m.plan {
		for _, s := range m.plan[i].steps() {
			if s.Find == "" {
				continue
			}
			if found := regexp.MustCompile(s.Find).FindString(text); found != "" {
				b.WriteString("- " + found + "\n")
			}
		}
	}
	return b.String()
}

// learnt is what the model says of the results that just came.
func (m *Model) learnt(r *Request) string {
	var said []string
	for _, res := range r.results() {
		for i := range m.plan {
			for _, s := range m.plan[i].steps() {
				if s.As == "" {
					continue
				}
				if found := regexp.MustCompile(s.Find).FindString(res.Text); found != "" && !slices.Contains(said, found) {
					said = append(said, found)
				}
			}
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "I see: " + strings.Join(said, "; ") + "."
}

// facts are those that the model sees now.
func (m *Model) facts(r *Request) map[string]string {
	text, facts := r.text(), map[string]string{}
	for i := range m.plan {
		for _, s := range m.plan[i].steps() {
			if value, ok := s.fact(text); ok && s.As != "" {
				facts[s.As] = value
			}
		}
	}
	return facts
}

// take gives the results to the works that wait for them.
func (m *Model) take(r *Request) {
	results := r.results()
	n := -1
	for _, w := range m.open() {
		if !w.waiting {
			continue
		}
		n++
		w.waiting = false
		var got *Result
		for i := range results {
			if results[i].Call == w.call.ID || results[i].Call == "" && i == n {
				got = &results[i]
			}
		}
		if got == nil {
			m.wasted[w.call.ID] = true
			w.tries++
			continue
		}
		w.take(m, r, *got)
	}
}

// open are the works that are not done.
func (m *Model) open() []*work {
	var open []*work
	for _, w := range m.works {
		if !w.done && w.failed == "" {
			open = append(open, w)
		}
	}
	return open
}

// step makes the next calls, or ends; false: the next step is to be looked at.
func (m *Model) step(r *Request) (Answer, bool) {
	for _, w := range m.works {
		if w.failed != "" {
			return Answer{Text: w.failed}, true
		}
	}
	if open := m.open(); len(open) > 0 {
		return m.call(r, open), true
	}
	if len(m.works) > 0 {
		m.works = nil
		m.at++
		if m.resume > 0 {
			m.at, m.resume = m.resume-1, 0
		}
	}
	if m.at >= len(m.plan) {
		return Answer{Text: "Done."}, true
	}
	facts := m.facts(r)
	if lost := missing(m.plan[m.at].needs(), facts); len(lost) > 0 {
		return m.lookAgain(lost)
	}
	if m.habits.hurries && m.skips() {
		m.at++
		return Answer{}, false
	}
	s := m.plan[m.at].filled(facts)
	if s.Say != "" {
		return Answer{Text: s.Say}, true
	}
	plain := m.plan[m.at].steps()
	parts := s.steps()
	if len(s.Edits) > 0 && !m.atOnce(r) {
		parts = s.apart()
	}
	for i, part := range parts {
		w := newWork(m.habits, part)
		w.again, w.plain = m.resume > 0, plain[min(i, len(plain)-1)]
		m.works = append(m.works, w)
	}
	return m.call(r, m.open()), true
}

// atOnce reports whether the model sees a way to make several changes in one call: a
// patch, if it is used to them, or a parameter of the tool that it is shown.
func (m *Model) atOnce(r *Request) bool {
	t, ok := shown(r.Tools, editing, map[role]any{path: "", several: ""})
	_, patches := shown(r.Tools, patching, map[role]any{patch: ""})
	return m.habits.patches && patches || ok && !m.habits.stubborn && t.Schema.param(several) != ""
}

// skips reports whether a hasty model leaves the step out: a look at a file that it
// is about to change.
func (m *Model) skips() bool {
	s := m.plan[m.at]
	return s.Read != "" && s.Find == "" && m.at+1 < len(m.plan) && m.plan[m.at+1].Edit == s.Read
}

// lookAgain goes back to the step that found what is no longer told.
func (m *Model) lookAgain(lost []string) (Answer, bool) {
	m.back++
	for i := range m.plan[:m.at] {
		for _, s := range m.plan[i].steps() {
			if s.As == lost[0] && m.back <= 4 {
				m.resume, m.at = m.at+1, i
				return Answer{}, false
			}
		}
	}
	return Answer{Text: fmt.Sprintf("I could not find out: %s.", strings.Join(lost, ", "))}, true
}

// call makes the next calls of works, together or one at a time.
func (m *Model) call(r *Request, open []*work) Answer {
	if !m.habits.parallel {
		open = open[:1]
	}
	var a Answer
	for _, w := range open {
		w.next(m, r)
		if w.failed != "" { // it has no tool
			return Answer{Text: w.failed}
		}
		a.Calls = append(a.Calls, w.call)
	}
	return a
}

// write makes the call of a tool.
func (m *Model) write(name string, args map[string]any) Call {
	m.calls++
	text, _ := json.Marshal(args) // of plain values
	written := string(text)
	if m.habits.quotes && !m.quoted && m.calls > 1 {
		m.quoted = true
		again, _ := json.Marshal(written)
		written = string(again)
	}
	return Call{ID: fmt.Sprintf("call_%d", m.calls), Name: name, Args: written}
}
