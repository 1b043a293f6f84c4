package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"

	"callgate/internal/protocol"
)

// Conversation is an open conversation with an agent.
type Conversation struct {
	protocol.Conversation
	session *Session
	client  *Client
	spec    protocol.OpenConversation
	turns   atomic.Int32 // that are read
	begun   atomic.Int64 // turns of the conversation, as far as was heard
	events  atomic.Int64 // the Seq of the last event of its history, likewise

	mu      sync.Mutex
	granted protocol.SetPermissions // what was set: another kernel does not know it
}

// OpenConversation opens a conversation. The caller closes it.
func (c *Client) OpenConversation(ctx context.Context, o protocol.OpenConversation) (*Conversation, error) {
	opened, err := openConversation(ctx, c, o)
	if err != nil {
		return nil, err
	}
	made := &Conversation{
		Conversation: opened, client: c, spec: o,
		session: &Session{Session: opened.Session, client: c, current: opened.Session.ID},
	}
	made.hear(opened.Info)
	return made, nil
}

func openConversation(
	ctx context.Context, c *Client, o protocol.OpenConversation,
) (opened protocol.Conversation, err error) {
	err = retry(ctx, func() error { return c.do(ctx, http.MethodPost, "/v1/conversations", nil, o, &opened) })
	return opened, err
}

// Agents returns the agents that work for a conversation, each before those that work for
// it.
func Agents(ctx context.Context, c *Client, conversation string) (list []protocol.Agent, err error) {
	path := "/v1/conversations/" + url.PathEscape(conversation) + "/agents"
	err = retry(ctx, func() error { return c.do(ctx, http.MethodGet, path, nil, nil, &list) })
	return list, err
}

// hear keeps how far the conversation is.
func (c *Conversation) hear(i protocol.ConversationInfo) {
	c.begun.Store(int64(i.Turns))
	c.events.Store(i.Events)
}

func (c *Conversation) path(rest string) string {
	return "/v1/conversations/" + url.PathEscape(c.ID) + rest
}

// CallSession is the session in which the agent's calls are made.
func (c *Conversation) CallSession() *Session { return c.session }

// Close ends the conversation's session. The conversation can be resumed.
func (c *Conversation) Close(ctx context.Context) error { return c.session.Close(ctx) }

// Send sends a message to the agent, and yields the events of its turn. Breaking
// off the iteration, or ending ctx, stops the turn: the last event says how it
// ended. A turn whose client just goes away is interrupted instead.
func (c *Conversation) Send(ctx context.Context, text string) iter.Seq2[protocol.TurnEvent, error] {
	return c.turnEvents(ctx, "/messages", protocol.SendMessage{Text: text})
}

// Resume resumes a turn that was interrupted.
func (c *Conversation) Resume(ctx context.Context) iter.Seq2[protocol.TurnEvent, error] {
	return c.turnEvents(ctx, "/resume", struct{}{})
}

// Queue says something to the agent while its turn runs: the model is told with its
// next request, and an event of the turn says when (see protocol.QueuedMessage). It
// returns nil if no turn runs: then it is for Send. What a turn that ends has not
// taken comes back with its end.
func (c *Conversation) Queue(ctx context.Context, text string) (queued *protocol.QueuedMessage, err error) {
	err = c.client.do(ctx, http.MethodPost, c.path("/queue"), nil, protocol.SendMessage{Text: text}, &queued)
	return queued, err
}

// Unqueue takes back the last message that waits. It returns nil if none does.
func (c *Conversation) Unqueue(ctx context.Context) (taken *protocol.QueuedMessage, err error) {
	err = c.client.do(ctx, http.MethodDelete, c.path("/queue"), nil, nil, &taken)
	return taken, err
}

// MoveToBackground lets a call of the turn that runs go on in the background: the turn
// goes on without it, and is told of its end.
func (c *Conversation) MoveToBackground(ctx context.Context, call string) error {
	return c.client.do(ctx, http.MethodPost, c.path("/background"), nil, protocol.MoveCall{Call: call}, nil)
}

// Models lists the models that the conversation may change to.
func (c *Conversation) Models(ctx context.Context) ([]protocol.ModelChoice, error) {
	var list []protocol.ModelChoice
	err := c.client.get(ctx, c.path("/models"), nil, &list)
	return list, err
}

// SetModel has another model answer from the next turn on: see protocol.SetModel. It
// returns the conversation as it is then. No turn may run.
func (c *Conversation) SetModel(ctx context.Context, model string) (now protocol.Conversation, err error) {
	err = c.client.do(ctx, http.MethodPost, c.path("/model"), nil, protocol.SetModel{Model: model}, &now)
	return now, err
}

// Prompt returns the system prompt of the agent's model.
func (c *Conversation) Prompt(ctx context.Context) (protocol.Prompt, error) {
	var p protocol.Prompt
	err := c.client.get(ctx, c.path("/prompt"), nil, &p)
	return p, err
}

// Compact shortens the conversation. It returns what was done, or nil if there was
// nothing to shorten.
func (c *Conversation) Compact(ctx context.Context) (done *protocol.Compaction, err error) {
	err = c.client.do(ctx, http.MethodPost, c.path("/compact"), nil, struct{}{}, &done)
	return done, err
}

// Conversations lists conversations, the last used first.
func (c *Client) Conversations(ctx context.Context, limit int) ([]protocol.ConversationInfo, error) {
	var list []protocol.ConversationInfo
	err := c.get(ctx, "/v1/conversations", url.Values{"limit": {strconv.Itoa(limit)}}, &list)
	return list, err
}

// History returns a conversation with its events.
func (c *Client) History(ctx context.Context, id string) (protocol.History, error) {
	var h protocol.History
	err := c.get(ctx, "/v1/conversations/"+url.PathEscape(id), nil, &h)
	return h, err
}

// CancelTurn stops the turn that runs in a conversation, and reports whether one
// did.
func (c *Client) CancelTurn(ctx context.Context, id string) (stopped bool, err error) {
	path := "/v1/conversations/" + url.PathEscape(id) + "/cancel"
	err = c.do(ctx, http.MethodPost, path, nil, struct{}{}, &stopped)
	return stopped, err
}

// DeleteConversation deletes a conversation.
func (c *Client) DeleteConversation(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "/v1/conversations/"+url.PathEscape(id), nil, nil, nil)
}
