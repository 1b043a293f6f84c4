package top_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callgate/internal/protocol/activity"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/top"
)

var now = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// busy is a kernel with so many of everything.
func busy(n int) activity.Activity {
	a := activity.Activity{
		Time: now, Started: now.Add(-time.Hour), Version: "1.2.3", PID: 7,
		Calls: activity.CallCounts{Total: 100, LastMinute: 90, Failed: 1},
		Tasks: []activity.TaskCount{{Kind: "watch", State: "running", Count: 2}},
	}
	for i := range n {
		name := fmt.Sprintf("module.tool%d", i)
		a.Running = append(a.Running, activity.RunningCall{Tool: name, Since: now.Add(-90 * time.Second), WaitsFor: "file:/a"})
		a.Waiting = append(a.Waiting, activity.WaitingForHuman{Kind: "approval", ID: "a1", Tool: name, Since: now})
		a.Tools = append(a.Tools, activity.ToolCounts{Tool: name, Calls: 5, P50: 1500 * time.Microsecond, P99: 2 * time.Second})
		a.Models = append(a.Models, activity.ModelCounts{Provider: "p", Model: name, Input: 12, Output: 3, Cost: 2_500_000})
		a.Servers = append(a.Servers, activity.ServerHealth{Name: name, State: "running"})
	}
	return a
}

// The picture fits the screen, whatever there is, and every part keeps a row.
func TestFits(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 10}, {20, 3}} {
		for _, n := range []int{0, 1, 3, 100} {
			lines := top.Render(busy(n), nil, size[0], size[1])
			if len(lines) > size[1] {
				t.Errorf("%v with %d of everything: %d lines", size, n, len(lines))
			}
			for _, line := range lines {
				if termtext.Width(line) > size[0] {
					t.Errorf("%v: %d columns: %q", size, termtext.Width(line), line)
				}
			}
			text := strings.Join(lines, "\n")
			if size[1] >= 24 && n > 0 {
				for _, want := range []string{"RUNNING", "WAITS FOR A HUMAN", "TOOL", "MODEL", "SERVER", "watch running 2"} {
					if !strings.Contains(text, want) {
						t.Errorf("%v with %d: no %s in\n%s", size, n, want, text)
					}
				}
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	before := busy(1)
	after := busy(1)
	after.Time, after.Calls.Total = now.Add(2*time.Second), 130
	for _, c := range []struct {
		name   string
		before *activity.Activity
		want   []string
	}{
		{"the first picture", nil, []string{"1.5/s last minute", "up 1h00m", "1m30s", "1.5ms", "2.0s", "spent $2.5000", "tokens 15"}},
		{"the next one", &before, []string{"15.0/s now"}},
	} {
		a := before
		if c.before != nil {
			a = after
		}
		text := strings.Join(top.Render(a, c.before, 120, 0), "\n")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, text)
			}
		}
	}
}

// Names from outside do nothing to the terminal.
func TestNothingIsObeyed(t *testing.T) {
	a := busy(1)
	const hostile = "x\x1b[2Jy\nz\u202e"
	a.Tools[0].Tool, a.Servers[0].Name, a.Models[0].Model, a.Running[0].Principal = hostile, hostile, hostile, hostile
	a.Problems = []string{hostile}
	for _, line := range top.Render(a, nil, 200, 0) {
		if strings.Contains(line, "\x1b[2J") || strings.ContainsAny(line, "\n\u202e") {
			t.Errorf("%q", line)
		}
	}
}
