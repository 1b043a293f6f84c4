package channels

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"callgate/internal/app/channels"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

// Module is the module of the tools that send messages.
const Module = "channels"

const (
	sendText = "Send a message to a person or a program outside this conversation, through one of the app's channels " +
		"(they stand in your instructions). It is delivered at least once, in the background if that takes long; " +
		"you are told if it is given up."
	sendSchema = `{"type":"object","properties":{` +
		`"channel":{"type":"string","maxLength":64,"description":"the channel's name; default: the app's default channel"},` +
		`"message":{"type":"string","maxLength":262144,"description":"the text"},` +
		`"title":{"type":"string","maxLength":200,"description":"a subject line"}},"required":["message"]}`
	replyText = "Answer whoever started this conversation: the channel that an event's answers go to, or the app's " +
		"default channel. Your last words of the turn go there by themselves, unless you have used this."
	replySchema = `{"type":"object","properties":{` +
		`"message":{"type":"string","maxLength":262144,"description":"the text"},` +
		`"title":{"type":"string","maxLength":200,"description":"a subject line"}},"required":["message"]}`
)

// messageNames are what other programs call the parameters.
var messageNames = []tool.ParamAlias{
	{Name: "text", Param: "message", Weak: true}, {Name: "content", Param: "message", Weak: true},
	{Name: "body", Param: "message", Weak: true}, {Name: "subject", Param: "title", Weak: true},
}

func define(name, text, schema string, aliases []tool.ParamAlias, run tool.HandlerFunc) *tool.Tool {
	t := &tool.Tool{
		ID:   tool.ID{Namespace: Module, Name: name, Version: tool.Version{Major: 1}},
		Spec: tool.Spec{Short: name, Description: text, Input: json.RawMessage(schema), Tags: []string{"message", "notify"}},
		Runtime: tool.Runtime{
			Risk: tool.Medium, SideEffect: tool.External, Network: true, Timeout: time.Minute, ParamAliases: aliases,
		},
		Handler: run,
	}
	t.Spec.Name = t.ID.Dotted()
	return t
}

func sendTool(run tool.HandlerFunc) *tool.Tool {
	to := tool.ParamAlias{Name: "to", Param: "channel", Weak: true}
	return define("send_message", sendText, sendSchema, append([]tool.ParamAlias{to}, messageNames...), run)
}

// Tools are the tools that send messages. They are judged by an app's rules like those
// of any module, and an app without channels does not have them.
func (c *Channels) Tools() []*tool.Tool {
	reply := define("reply", replyText, replySchema, messageNames, c.reply)
	return append(c.lookingTools(), sendTool(c.sendMessage), reply)
}

// Sent is what a model is told of a message.
type Sent struct {
	Delivery string `json:"delivery"`
	Channel  string `json:"channel"`
	Status   string `json:"status"` // delivered, on_its_way or failed
}

func (c *Channels) sendMessage(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in struct{ Channel, Message, Title string }
	if err := tool.DecodeArgs(call.Tool.Dotted(), call.Args, &in); err != nil {
		return nil, err
	}
	s, err := c.opt.Session(call.Principal.Session)
	if err != nil {
		return nil, err
	}
	to := cmp.Or(in.Channel, defaultChannel(s))
	if to == "" {
		return nil, tool.Errorf(call.Tool.Dotted(), tool.Invalid, "no channel is named, and the app has no default channel").
			WithHint("name one: %v", Names(s.Loaded()))
	}
	return c.sendFor(ctx, s, call, Message{Channel: to, Title: in.Title, Text: in.Message})
}

func (c *Channels) reply(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in struct{ Message, Title string }
	if err := tool.DecodeArgs(call.Tool.Dotted(), call.Args, &in); err != nil {
		return nil, err
	}
	s, err := c.opt.Session(call.Principal.Session)
	if err != nil {
		return nil, err
	}
	m := Message{Title: in.Title, Text: in.Message}
	if c.opt.ReplyTo != nil {
		m.Channel, m.Event = c.opt.ReplyTo(ctx, call.Principal.Session)
	}
	if m.Channel = cmp.Or(m.Channel, defaultChannel(s)); m.Channel == "" {
		return nil, tool.Errorf(call.Tool.Dotted(), tool.Invalid, "there is nobody outside to reply to").
			WithHint("answer in your own words, or use send_message with one of %v", Names(s.Loaded()))
	}
	return c.sendFor(ctx, s, call, m)
}

func defaultChannel(s *session.Session) string {
	if s.App() == nil {
		return ""
	}
	return s.App().Runtime.DefaultChannel
}

// patience is how long a call waits for its message to arrive before it says that the
// message is on its way.
const patience = 5 * time.Second

// sendFor sends a message for a call. Its delivery has an ID of the call, so a call that
// is made again sends nothing more.
func (c *Channels) sendFor(
	ctx context.Context, s *session.Session, call tool.Call, m Message,
) (*tool.Result, error) {
	m.ID = call.ID
	started, err := c.Send(ctx, deferred.AskerOf(s, call), m)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = c.opt.Runner.Wait(within, started.ID) // it goes on
	now, err := c.opt.Runner.Store().Get(ctx, started.ID)
	if err != nil {
		return nil, err
	}
	out := Sent{Delivery: now.ID, Channel: m.Channel, Status: "on_its_way"}
	switch {
	case now.State == task.Done && channels.IsConversation(m.Channel):
		out.Status = "delivered"
		return tool.OK("the message is a notice of this conversation", out)
	case now.State == task.Done:
		out.Status = "delivered"
		return tool.OK("the message was delivered to "+m.Channel, out)
	case now.State.Final():
		if now.Outcome != nil && now.Outcome.Error != nil {
			return nil, now.Outcome.Error
		}
		return nil, tool.Errorf(call.Tool.Dotted(), tool.Failed, "the message was not delivered to %s", m.Channel)
	}
	var p progress
	_ = json.Unmarshal(now.Data, &p) // without it, nothing is known of an attempt
	text := fmt.Sprintf("the message to %s is on its way", m.Channel)
	if p.Error != "" {
		text += fmt.Sprintf(": an attempt failed (%s), and it is tried again", p.Error)
	}
	return tool.OK(text, out)
}
