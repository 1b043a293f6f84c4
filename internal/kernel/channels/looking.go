package channels

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"callgate/internal/amount"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/session"
	"callgate/internal/module"
	"callgate/internal/task"
	"callgate/tool"
)

var (
	//go:embed broadcast.md
	broadcastDoc string
	//go:embed test_send.md
	testSendDoc string
	//go:embed list_providers.md
	listDoc string
	//go:embed provider_status.md
	statusDoc string
	//go:embed provider_history.md
	historyDoc string
	//go:embed stats.md
	statsDoc string
)

const (
	channelInput = `{"type": "object", "properties": {
  "channel": {"type": "string", "minLength": 1, "maxLength": 64, "description": "The channel's name."}
}, "required": ["channel"], "additionalProperties": false}`
	historyInput = `{"type": "object", "properties": {
  "channel": {"type": "string", "minLength": 1, "maxLength": 64, "description": "Of this channel alone."},
  "dead": {"type": "boolean", "description": "Those alone that were given up."},
  "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}
}, "additionalProperties": false}`
	broadcastInput = `{"type": "object", "properties": {
  "channels": {"type": "array", "minItems": 1, "maxItems": 10, "uniqueItems": true,
    "items": {"type": "string", "minLength": 1, "maxLength": 64}, "description": "The channels' names."},
  "message": {"type": "string", "minLength": 1, "maxLength": 262144, "description": "The text."},
  "title": {"type": "string", "maxLength": 200, "description": "A subject line."}
}, "required": ["channels", "message"], "additionalProperties": false}`
)

// lookingTools are those that look at channels, and those that have send_message called. A model finds them by search:
// most need none of them.
func (c *Channels) lookingTools() []*tool.Tool {
	looks := tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Idempotent: true, FoundOnly: true}
	// What is sent is sent by calls of send_message, each of which is judged by itself.
	sends := tool.Runtime{Risk: tool.Low, SideEffect: tool.None, FoundOnly: true, Timeout: 24 * time.Hour}
	params := []tool.ParamAlias{
		{Name: "provider", Param: "channel", Weak: true}, {Name: "providers", Param: "channels", Weak: true},
		{Name: "text", Param: "message", Weak: true},
	}
	var all []*tool.Tool
	for _, d := range []module.Definition{
		{Name: "list_providers", Doc: listDoc, Runtime: looks, Handler: tool.HandlerFunc(c.listProviders),
			Input:   `{"type": "object", "additionalProperties": false}`,
			Aliases: []string{"list_channels", "which channels are there", "lister_canaux", "Kanäle auflisten", "listar canales", "列出渠道"}},
		{Name: "provider_status", Doc: statusDoc, Input: channelInput, Runtime: looks, Handler: tool.HandlerFunc(c.providerStatus),
			Aliases: []string{"channel_status", "does the channel work", "état du canal", "Zustand des Kanals", "estado del canal"}},
		{Name: "provider_history", Doc: historyDoc, Input: historyInput, Runtime: looks, Handler: tool.HandlerFunc(c.providerHistory),
			Aliases: []string{"channel_history", "messages that were sent", "dead letters", "historique_canaux", "gesendete Nachrichten"}},
		{Name: "stats", Doc: statsDoc, Runtime: looks, Handler: tool.HandlerFunc(c.stats),
			Input:   `{"type": "object", "additionalProperties": false}`,
			Aliases: []string{"channel_stats", "how many messages were delivered", "stats_canaux", "Zahlen der Kanäle"}},
		{Name: "broadcast", Doc: broadcastDoc, Input: broadcastInput, Runtime: sends, Handler: tool.HandlerFunc(c.broadcast),
			Aliases: []string{"send to several channels", "notify everybody", "diffuser", "an alle Kanäle senden", "difundir", "广播"}},
		{Name: "test_send", Doc: testSendDoc, Input: channelInput, Runtime: sends, Handler: tool.HandlerFunc(c.testSend),
			Aliases: []string{"try a channel", "send a test message", "tester un canal", "Kanal ausprobieren", "probar un canal"}},
	} {
		d.Tags, d.Runtime.ParamAliases = []string{"message", "notify", "channel", "canal", "Kanal"}, params
		all = append(all, d.Tool(Module))
	}
	return all
}

// provider is a channel as a model is told of it. Where messages go is not part of it: addresses may hold a secret.
type provider struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Accepted bool   `json:"accepted"` // by a human
	Default  bool   `json:"default"`
	Problem  string `json:"problem,omitempty"`
}

// mine returns the session of a call, and the channels of its app.
func (c *Channels) mine(ctx context.Context, call tool.Call) (*session.Session, []provider, error) {
	s, err := c.opt.Session(call.Principal.Session)
	if err != nil {
		return nil, nil, err
	}
	infos, err := c.List(ctx, deferred.AskerOf(s, call))
	if err != nil {
		return nil, nil, err
	}
	list := []provider{}
	for _, i := range infos {
		problem := c.opt.Secrets.ScrubString(i.Problem)
		list = append(list, provider{i.Name, i.Type, i.Accepted, i.Name == defaultChannel(s), problem})
	}
	return s, list, nil
}

func (c *Channels) listProviders(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	_, list, err := c.mine(ctx, call)
	if err != nil {
		return nil, err
	}
	return tool.OK(amount.Of(len(list), "channel"), map[string]any{"channels": list})
}

func (c *Channels) providerStatus(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in struct{ Channel string }
	if err := tool.DecodeArgs(call.Tool.Dotted(), call.Args, &in); err != nil {
		return nil, err
	}
	s, list, err := c.mine(ctx, call)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(list, func(p provider) bool { return p.Name == in.Channel })
	if at < 0 {
		return nil, tool.Errorf(call.Tool.Dotted(), tool.NotFound, "there is no channel %q", tool.Truncate(in.Channel)).
			WithHint("the channels are %v", Names(s.Loaded()))
	}
	one := list[at]
	words := "messages can be sent to " + one.Name
	switch {
	case !one.Accepted:
		words = one.Name + " is not used: no human has accepted it yet (callgate app trust)"
	case one.Problem != "":
		words = one.Name + " cannot be used here: " + one.Problem
	}
	sent, err := c.sentBy(ctx, s, call)
	if err != nil {
		return nil, err
	}
	return tool.OK(words, struct {
		provider
		Counts counts `json:"messages"`
	}{one, countOf(sent, one.Name)})
}

// letter is a delivery as a model is told of it: not its text, which it may look up by its own call.
type letter struct {
	Delivery string `json:"delivery"`
	Channel  string `json:"channel"`
	Title    string `json:"title,omitempty"`
	Status   string `json:"status"`
	Attempts int    `json:"attempts"`
	Error    string `json:"error,omitempty"`
	At       string `json:"at"`
}

// maxLooked bounds the deliveries that are looked at.
const maxLooked = 1000

// sentBy lists the deliveries of the caller's app in its folder, the newest first.
func (c *Channels) sentBy(ctx context.Context, s *session.Session, call tool.Call) ([]Letter, error) {
	me := deferred.AskerOf(s, call)
	var list []Letter
	q := task.Query{Kinds: []string{Kind}, Newest: true}
	for looked := 0; looked < maxLooked; {
		page, err := c.opt.Runner.Store().List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			of := t.Asker
			if of.Workspace == me.Workspace && of.AppFile == me.AppFile && of.Principal.User == me.Principal.User {
				list = append(list, letterOf(t))
			}
		}
		if looked += len(page); len(page) < task.MaxList {
			break
		}
		q.After = page[len(page)-1].ID
	}
	return list, nil
}

func (c *Channels) providerHistory(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in struct {
		Channel string
		Dead    bool
		Limit   int
	}
	if err := tool.DecodeArgs(call.Tool.Dotted(), call.Args, &in); err != nil {
		return nil, err
	}
	s, err := c.opt.Session(call.Principal.Session)
	if err != nil {
		return nil, err
	}
	sent, err := c.sentBy(ctx, s, call)
	if err != nil {
		return nil, err
	}
	list := []letter{}
	for _, l := range sent {
		if in.Channel != "" && l.Channel != in.Channel || in.Dead && l.State != task.Failed {
			continue
		}
		if len(list) == cmp.Or(in.Limit, 20) {
			break
		}
		list = append(list, letter{
			l.ID, l.Channel, l.Title, string(l.State), l.Attempts, tool.TruncateTo(l.Error, 300),
			l.At.UTC().Format(time.RFC3339),
		})
	}
	return tool.OK(amount.Of(len(list), "message"), map[string]any{"messages": list})
}

// counts are messages by what became of them.
type counts struct {
	Delivered int `json:"delivered"`
	OnItsWay  int `json:"on_its_way"`
	GivenUp   int `json:"given_up"`
}

// countOf counts the messages to a channel; "": to all.
func countOf(sent []Letter, name string) (n counts) {
	for _, l := range sent {
		switch {
		case name != "" && l.Channel != name:
		case l.State == task.Done:
			n.Delivered++
		case l.State.Final():
			n.GivenUp++
		default:
			n.OnItsWay++
		}
	}
	return n
}

func (c *Channels) stats(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	s, list, err := c.mine(ctx, call)
	if err != nil {
		return nil, err
	}
	sent, err := c.sentBy(ctx, s, call)
	if err != nil {
		return nil, err
	}
	by := map[string]counts{}
	for _, one := range list {
		by[one.Name] = countOf(sent, one.Name)
	}
	all := countOf(sent, "")
	return tool.OK(fmt.Sprintf("%d delivered, %d on their way, %d given up", all.Delivered, all.OnItsWay, all.GivenUp),
		map[string]any{"all": all, "channels": by})
}

// sending is what became of one call of send_message.
type sending struct {
	Channel string      `json:"channel"`
	Status  tool.Status `json:"status"`
	Summary string      `json:"summary"`
}

// sendTo has send_message called for each channel, one after the other. Each is a call of its own.
func (c *Channels) sendTo(
	ctx context.Context, call tool.Call, names []string, title, message string,
) (*tool.Result, error) {
	s, err := c.opt.Session(call.Principal.Session)
	if err != nil {
		return nil, err
	}
	list, good := []sending{}, 0
	for i, name := range names {
		args, err := json.Marshal(map[string]string{"channel": name, "title": title, "message": message})
		if err != nil {
			return nil, err
		}
		r := s.Call(ctx, session.CallRequest{
			ID: fmt.Sprintf("%s.%d", call.ID, i+1), Name: Module + ".send_message", Args: args, Parent: call.ID,
		})
		if r.Status == tool.Success {
			good++
		}
		list = append(list, sending{name, r.Status, r.Summary})
	}
	if good == 0 {
		return nil, tool.Errorf(call.Tool.Dotted(), tool.Failed, "no message was sent: %s", list[0].Summary)
	}
	result, err := tool.OK(fmt.Sprintf("%d of %s sent", good, amount.As(len(list), "message was", "messages were")),
		map[string]any{"sent": list})
	if err == nil && good < len(list) {
		result.Warnings = []string{fmt.Sprintf("%d were not sent; the results say why", len(list)-good)}
	}
	return result, err
}

func (c *Channels) broadcast(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in struct {
		Channels       []string
		Title, Message string
	}
	if err := tool.DecodeArgs(call.Tool.Dotted(), call.Args, &in); err != nil {
		return nil, err
	}
	return c.sendTo(ctx, call, in.Channels, in.Title, in.Message)
}

func (c *Channels) testSend(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in struct{ Channel string }
	if err := tool.DecodeArgs(call.Tool.Dotted(), call.Args, &in); err != nil {
		return nil, err
	}
	const text = "This is a test of the channel %s. Nothing has to be done."
	return c.sendTo(ctx, call, []string{in.Channel}, "A test", fmt.Sprintf(text, in.Channel))
}
