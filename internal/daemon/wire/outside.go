package wire

import (
	"callgate/internal/kernel/channels"
	"callgate/internal/kernel/triggers"
	"callgate/internal/protocol"
)

// Channel converts a channel.
func Channel(c channels.Info) protocol.Channel {
	return protocol.Channel{
		Name: c.Name, Type: c.Type, To: c.To, Accepted: c.Accepted, User: c.User, Problem: c.Problem,
	}
}

// Delivery converts a delivery.
func Delivery(l channels.Letter) protocol.Delivery {
	return protocol.Delivery{
		ID: l.ID, Message: l.Message, Channel: l.Channel, App: l.App, Agent: l.Agent, Title: l.Title, Text: l.Text,
		State: protocol.TaskState(l.State), Attempts: l.Attempts, Error: l.Error, At: l.At, Next: l.Next, Ended: l.Ended,
	}
}

// BackgroundApp converts a background app.
func BackgroundApp(a triggers.App) protocol.BackgroundApp {
	return protocol.BackgroundApp{
		App: a.App, Workspace: a.Workspace, AppFile: a.AppFile, By: a.By, Since: a.Since, Serves: a.Serves,
		Problem: a.Problem, Triggers: List(a.Triggers, trigger),
	}
}

func trigger(t triggers.Info) protocol.Trigger {
	return protocol.Trigger{
		Name: t.Name, Type: t.Type, At: t.At, ReplyTo: t.ReplyTo, Events: t.Events, Last: t.Last, Problem: t.Problem,
	}
}

// Event converts an event.
func Event(e triggers.Event) protocol.TriggerEvent {
	return protocol.TriggerEvent{
		ID: e.ID, App: e.App, Trigger: e.Trigger, Title: e.Title, State: protocol.TaskState(e.State), Size: e.Size, At: e.At,
		Next: e.Next, Ended: e.Ended, Conversation: e.Conversation, Tries: e.Tries, Error: e.Error, Answer: e.Answer,
	}
}
