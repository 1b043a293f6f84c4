package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
)

// Outside writes what is known of channels and triggers.
type Outside struct{ Style }

// Channels writes the table of an app's channels.
func (s Outside) Channels(w io.Writer, list []protocol.Channel) error {
	rows := make([][]Cell, len(list))
	for i, c := range list {
		from := "this app"
		if c.User {
			from = "your own file"
		}
		state := Plain("ready")
		switch {
		case !c.Accepted:
			state = Cell{"not accepted", warn}
		case c.Problem != "":
			state = Cell{text.OneLine(c.Problem), bad}
		}
		rows[i] = []Cell{Bold(c.Name), Plain(c.Type), Plain(c.To), Plain(from), state}
	}
	return s.Table(w, []string{"CHANNEL", "TYPE", "TO", "FROM", "STATE"}, rows)
}

// Deliveries writes the table of deliveries.
func (s Outside) Deliveries(w io.Writer, list []protocol.Delivery) error {
	rows := make([][]Cell, len(list))
	for i, d := range list {
		rows[i] = []Cell{
			Bold(d.ID), Plain(d.Channel), outsideState(d.State), Plain(s.outsideTime(d.State, d.Next, d.Ended)),
			Plain(fmt.Sprint(d.Attempts)), Plain(cmp.Or(d.Title, d.Text)), Plain(d.Error),
		}
	}
	return s.Table(w, []string{"ID", "CHANNEL", "STATE", "WHEN", "ATTEMPTS", "MESSAGE", "ERROR"}, rows)
}

// BackgroundApps writes the table of the apps that run without a client.
func (s Outside) BackgroundApps(w io.Writer, list []protocol.BackgroundApp) error {
	rows := make([][]Cell, len(list))
	for i, a := range list {
		state := Plain("runs")
		switch {
		case !a.Serves:
			state = Cell{"waits for a kernel that stays (callgate up)", warn}
		case a.Problem != "":
			state = Cell{text.OneLine(a.Problem), bad}
		}
		rows[i] = []Cell{
			Bold(a.App), Plain(s.ago(a.Since)), Plain(fmt.Sprint(len(a.Triggers))), Plain(a.AppFile), state,
		}
	}
	return s.Table(w, []string{"APP", "SINCE", "TRIGGERS", "FILE", "STATE"}, rows)
}

// Triggers writes the table of the triggers of apps that run without a client.
func (s Outside) Triggers(w io.Writer, list []protocol.BackgroundApp) error {
	var rows [][]Cell
	for _, a := range list {
		for _, t := range a.Triggers {
			state := Plain("active")
			if t.Problem != "" {
				state = Cell{text.OneLine(t.Problem), bad}
			}
			rows = append(rows, []Cell{
				Bold(a.App + "/" + t.Name), Plain(t.Type), Plain(t.At), Plain(t.ReplyTo), Plain(fmt.Sprint(t.Events)),
				Plain(s.ago(t.Last)), state,
			})
		}
	}
	return s.Table(w, []string{"TRIGGER", "TYPE", "AT", "REPLIES TO", "EVENTS", "LAST", "STATE"}, rows)
}

// Events writes the table of events.
func (s Outside) Events(w io.Writer, list []protocol.TriggerEvent) error {
	rows := make([][]Cell, len(list))
	for i, e := range list {
		rows[i] = []Cell{
			Bold(e.ID), Plain(strings.TrimPrefix(e.App+"/"+e.Trigger, "/")), outsideState(e.State),
			Plain(s.outsideTime(e.State, e.Next, e.Ended)), Plain(amount.Bytes(uint64(max(e.Size, 0)))),
			Plain(e.Conversation), Plain(cmp.Or(e.Error, e.Answer, e.Title)),
		}
	}
	return s.Table(w, []string{"ID", "TRIGGER", "STATE", "WHEN", "SIZE", "CONVERSATION", "WHAT CAME OF IT"}, rows)
}

// outsideState is the state of a delivery or an event. One that was given up is a dead
// letter.
func outsideState(state protocol.TaskState) Cell {
	switch state {
	case protocol.TaskFailed, protocol.TaskInDoubt:
		return Cell{"dead", bad}
	case protocol.TaskCancelled, protocol.TaskRunning:
		return Cell{text.OneLine(string(state)), warn}
	}
	return Plain(string(state))
}

// outsideTime says when something is tried next, or since when it has ended.
func (s Outside) outsideTime(state protocol.TaskState, next, ended time.Time) string {
	switch {
	case state.Final():
		return s.ago(ended)
	case state == protocol.TaskRunning:
		return "now"
	}
	if left := next.Sub(s.now()); left > 0 {
		return "in " + text.Duration(left)
	}
	return "due"
}
