package app

import (
	"slices"

	"callgate/internal/app/channels"
	"callgate/internal/app/node"
	"callgate/internal/app/triggers"
)

// What an app file says of messages and events.
type (
	Channel = channels.Channel
	Trigger = triggers.Trigger
)

// Background is the mode of an app that runs without a client.
const Background = "background"

func (f *file) channelsBlock(e node.Entry) {
	f.app.Runtime.Channels = channels.Read(f.Reader, e, f.id())
}

// linkTriggers looks up the agents and channels that triggers name. A channel may be in
// the user's own file, which is not known here; one whose name is nearly that of another
// is a mistake.
func (f *file) linkTriggers() {
	run := &f.app.Runtime
	var agents, names []string
	for _, a := range f.app.Agents {
		agents = append(agents, a.ID)
	}
	for _, c := range run.Channels {
		names = append(names, c.Name)
	}
	lookup := func(path, name string) {
		switch near := node.Closest(name, names); {
		case name == "" || channels.IsConversation(name) || slices.Contains(names, name):
		case near != "":
			f.Fail(f.Position(path), "did you mean "+near+"?", "there is no channel %s", node.Quote(name))
		default:
			f.warn(f.Reader, f.Position(path), "there is no channel "+node.Quote(name)+
				" here, so it must be one of the user's own file")
		}
	}
	lookup("runtime.default_channel", run.DefaultChannel)
	for i, t := range run.Triggers {
		if run.Triggers[i].Takes.AtOnce = run.Sessions.Activations; t.Brings() {
			run.Triggers[i].Takes.Payload = run.Contract.Payload
		}
		at := "runtime.triggers." + t.Name
		lookup(at+".reply_to", t.ReplyTo)
		if t.Agent != "" && len(agents) > 0 && !slices.Contains(agents, t.Agent) {
			f.Fail(f.Position(at+".agent"), node.DidYouMean(t.Agent, agents, "the agents are"),
				"there is no agent %s", node.Quote(t.Agent))
		}
	}
	brings := slices.ContainsFunc(run.Triggers, Trigger.Brings)
	if run.Contract.Payload != nil && !brings {
		f.Fail(f.Position("runtime.payload_schema"), "name a trigger that brings something, such as a webhook; "+
			"what other apps give is runtime.input", "runtime.payload_schema is for what triggers bring, and none does")
	}
	if run.Sessions.Activations > 0 && len(run.Triggers) == 0 {
		f.warn(f.Reader, f.Position("runtime.max_concurrent_activations"),
			"runtime.max_concurrent_activations is for turns that triggers start, and there are none")
	}
	if len(run.Triggers) > 0 && run.Mode != Background {
		f.Fail(f.Position("runtime.triggers"), "write runtime.mode: background",
			"an app with triggers runs in the background, and runtime.mode says otherwise")
	}
}
