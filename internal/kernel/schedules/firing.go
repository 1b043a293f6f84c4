package schedules

import (
	"fmt"
	"strings"
	"time"

	"callgate/internal/resulttext"
	"callgate/internal/task"
	"callgate/tool"
)

// How much of a result is told, delivered, and kept with the schedule, in bytes.
const (
	maxTold      = 2000
	maxDelivered = 64 << 10
	maxKept      = 500
)

// late is how much later than planned a run begins without a word about it.
const late = time.Minute

// firing is one run of a schedule.
type firing struct {
	job            *job
	id             string
	planned, began time.Time
	status         string
	result         *tool.Result
	missed         int // times that are left out after it
	notes          []string
}

// state is how a schedule has ended whose last run it was.
func (f *firing) state() task.State {
	switch f.status {
	case inDoubt:
		return task.InDoubt
	case failed, refused:
		return task.Failed
	}
	return task.Done
}

// head is the run in a line.
func (f *firing) head() string {
	if f.job.Tool == "" {
		return "REMINDER " + f.id + f.named()
	}
	return "SCHEDULED RUN " + f.id + " of " + f.job.title() + ": " + f.status
}

func (f *firing) named() string {
	if f.job.Name == "" {
		return ""
	}
	return " (" + f.job.Name + ")"
}

// outcome is how a schedule has ended whose last run it was, and what is told of it.
func (f *firing) outcome() task.Outcome {
	return task.Outcome{State: f.state(), Head: f.head(), Summary: f.text(maxTold), Own: f.job.Tool == ""}
}

// text tells of the run, with at most n bytes of what it brought.
func (f *firing) text(n int) string {
	lines := append(f.delay(), f.notes...)
	if text := f.preview(n); text != "" {
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// delay says that the run was late, and that others are left out.
func (f *firing) delay() []string {
	var lines []string
	if f.began.Sub(f.planned) >= late {
		lines = append(lines, "planned for "+inZone(f.planned, f.job.Timezone)+", made at "+inZone(f.began, f.job.Timezone))
	}
	switch {
	case f.missed >= maxMissed:
		lines = append(lines, fmt.Sprintf("%d or more later times have passed, and are left out", maxMissed))
	case f.missed > 0:
		lines = append(lines, fmt.Sprintf("later times that have passed, and are left out: %d", f.missed))
	}
	return lines
}

// preview is the beginning of what the run brought.
func (f *firing) preview(n int) string {
	if f.job.Tool == "" {
		return f.job.Message
	}
	var parts []string
	for _, c := range resulttext.Content(f.result, nil) {
		if c.Text != "" {
			parts = append(parts, c.Text)
		} else {
			parts = append(parts, "("+c.Type+" "+c.MIME+")")
		}
	}
	text := strings.Join(parts, "\n")
	if len(text) <= n {
		return text
	}
	return tool.TruncateTo(text, n) + fmt.Sprintf("\n(%d bytes in all)", len(text))
}

// line is the run for the log of the schedule.
func (f *firing) line() string {
	text := strings.Join(append([]string{"run " + f.id + " " + f.status}, f.delay()...), "; ")
	if f.job.Tool != "" && f.result.Summary != "" {
		text += ": " + strings.Join(strings.Fields(tool.TruncateTo(f.result.Summary, 200)), " ")
	}
	return strings.Join(append([]string{text}, f.notes...), "; ")
}

// logged is the run as the log keeps it.
type logged struct {
	Run     string    `json:"run_id"`
	Planned time.Time `json:"planned"`
	Began   time.Time `json:"began"`
	Status  string    `json:"status"`
	Missed  int       `json:"missed,omitempty"`
}

func (f *firing) entry() logged {
	return logged{f.id, f.planned.UTC(), f.began.UTC(), f.status, f.missed}
}
