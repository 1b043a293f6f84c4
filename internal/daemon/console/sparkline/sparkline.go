// Package sparkline makes a watcher a line that goes up with each check that gave something new.
package sparkline

import (
	"encoding/json"
	"strconv"
	"strings"

	"callgate/internal/protocol"
)

// Watcher is a watcher with what its last checks gave.
type Watcher struct {
	protocol.Task
	Checks, Notices int
	Preview, Error  string
	Spark           string // the points of its line
	Marks           []Mark
}

// Mark is a check that told something, or failed.
type Mark struct {
	X, Y   int
	Failed bool
}

// The size of the line.
const width, height = 140, 26

// Of reads what a watcher keeps of its checks: its line goes up with each result that is
// another than the one before.
func Of(t protocol.Task) Watcher {
	one := Watcher{Task: t}
	var kept struct {
		Checks  int
		Notices int
		Last    struct{ Preview, Error string }
		History []struct {
			Notified  bool
			Error     string
			Unchanged bool
		}
	}
	if json.Unmarshal(t.Data, &kept) != nil {
		return one
	}
	one.Checks, one.Notices, one.Preview, one.Error = kept.Checks, kept.Notices, kept.Last.Preview, kept.Last.Error
	if len(kept.History) == 0 {
		return one
	}
	changes, most := 0, 1
	for _, check := range kept.History {
		if !check.Unchanged {
			most++
		}
	}
	var points []string
	for i, check := range kept.History {
		if !check.Unchanged {
			changes++
		}
		x := 3 + i*(width-6)/max(len(kept.History)-1, 1)
		y := height - 3 - changes*(height-6)/most
		points = append(points, strconv.Itoa(x)+","+strconv.Itoa(y))
		if check.Notified || check.Error != "" {
			one.Marks = append(one.Marks, Mark{x, y, check.Error != ""})
		}
	}
	one.Spark = strings.Join(points, " ")
	return one
}
