package client

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Conversation is an open conversation with an agent.
type Conversation struct {
	protocol.Conversation
	session *Session
	client  *Client
}

// OpenConversation opens a conversation; close it when done.
func (c *Client) OpenConversation(ctx context.Context, o protocol.OpenConversation) (*Conversation, error) {
	talk := &Conversation{client: c}
	if err := c.do(ctx, http.MethodPost, "/v1/conversations", nil, o, &talk.Conversation); err != nil {
		return nil, err
	}
	talk.session = &Session{Session: talk.Conversation.Session, client: c}
	return talk, nil
}

func (t *Conversation) path(rest string) string {
	return "/v1/conversations/" + url.PathEscape(t.ID) + rest
}

// CallSession is the session in which the agent's calls are made.
func (t *Conversation) CallSession() *Session { return t.session }

// Close ends the conversation's session. It can be taken up again.
func (t *Conversation) Close(ctx context.Context) error { return t.session.Close(ctx) }

// Send has the agent answer, and yields what happens until the turn has ended.
// Whoever stops listening, or whose ctx ends, stops the turn.
func (t *Conversation) Send(ctx context.Context, text string) iter.Seq2[protocol.TurnEvent, error] {
	return t.turnEvents(ctx, "/messages", protocol.SendMessage{Text: text})
}

// Resume takes up a turn that was broken off.
func (t *Conversation) Resume(ctx context.Context) iter.Seq2[protocol.TurnEvent, error] {
	return t.turnEvents(ctx, "/resume", struct{}{})
}

// Prompt returns what the agent's model is told before everything else.
func (t *Conversation) Prompt(ctx context.Context) (protocol.Prompt, error) {
	var p protocol.Prompt
	return p, t.client.get(ctx, t.path("/prompt"), nil, &p)
}

func (t *Conversation) turnEvents(ctx context.Context, path string, in any) iter.Seq2[protocol.TurnEvent, error] {
	return func(yield func(protocol.TurnEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := t.client.send(ctx, http.MethodPost, t.path(path), nil, in)
		if err != nil {
			yield(protocol.TurnEvent{}, err)
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		for {
			line, err := lines.ReadBytes('\n')
			var m protocol.TurnEvent
			if err == nil {
				err = json.Unmarshal(line, &m)
			}
			switch {
			case err != nil:
				yield(m, &tool.Error{Op: "client.Say", Kind: tool.Unavailable, Message: "the kernel went away during the turn", Err: err,
					Hint: "callgate sessions resume " + t.ID + " goes on where it was"})
				return
			case m.Failure != nil:
				yield(m, m.Failure)
				return
			case !yield(m, nil) || m.End != nil:
				return
			}
		}
	}
}

// Compact makes the conversation shorter, and returns what was done; nil when
// there was nothing to leave out.
func (t *Conversation) Compact(ctx context.Context) (done *protocol.Compaction, err error) {
	err = t.client.do(ctx, http.MethodPost, t.path("/compact"), nil, struct{}{}, &done)
	return done, err
}

// Conversations lists conversations, the one last touched first.
func (c *Client) Conversations(ctx context.Context, limit int) ([]protocol.ConversationInfo, error) {
	var list []protocol.ConversationInfo
	return list, c.get(ctx, "/v1/conversations", url.Values{"limit": {strconv.Itoa(limit)}}, &list)
}

// History returns a conversation, and what happened in it.
func (c *Client) History(ctx context.Context, id string) (protocol.History, error) {
	var h protocol.History
	return h, c.get(ctx, "/v1/conversations/"+url.PathEscape(id), nil, &h)
}

// CancelTurn stops the turn of a conversation that is under way, and reports whether
// there was one.
func (c *Client) CancelTurn(ctx context.Context, id string) (stopped bool, err error) {
	return stopped, c.do(ctx, http.MethodPost, "/v1/conversations/"+url.PathEscape(id)+"/cancel", nil, struct{}{}, &stopped)
}

// DeleteConversation deletes a conversation.
func (c *Client) DeleteConversation(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "/v1/conversations/"+url.PathEscape(id), nil, nil, nil)
}
