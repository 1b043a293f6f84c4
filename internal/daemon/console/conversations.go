package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon/console/waterfall"
	"callgate/internal/protocol"
	"callgate/internal/visible"
	"callgate/llm"
	"callgate/tool"
)

// conversationPages shows conversations with agents, and goes on with them.
type conversationPages struct{ *Console }

func (c *conversationPages) routes() map[string]serve {
	return map[string]serve{
		"GET /conversations":       c.list,
		"POST /conversations":      c.begin,
		"GET /conversations/{id}":  c.one,
		"POST /conversations/{id}": c.say,
		"GET /live/turn/{id}":      c.follow,
	}
}

// conversationsShown is how many conversations the list shows.
const conversationsShown = 60

func (c *conversationPages) list(w http.ResponseWriter, r *http.Request) error {
	all, err := c.Client(r).Conversations(r.Context(), conversationsShown)
	if err != nil {
		return err
	}
	p := page{Title: "Conversations", Nav: "conversations", Live: "conversations", Data: all}
	return c.show(w, r, "conversations", p)
}

// conversationData is what the page of a conversation shows.
type conversationData struct {
	protocol.ConversationInfo
	Log       []message
	Turn      []message // of the turn that runs, so far
	Agents    []protocol.Agent
	Waterfall []waterfall.Bar
	Height    int
	Running   bool
}

func (c *conversationPages) one(w http.ResponseWriter, r *http.Request) error {
	k, id := c.Client(r), r.PathValue("id")
	t := c.turns.get(id) // before the history, which otherwise may lack the end of a turn that is not followed
	history, err := k.History(r.Context(), id)
	if err != nil {
		return err
	}
	d := conversationData{ConversationInfo: history.ConversationInfo, Waterfall: waterfall.Bars(history.Log)}
	d.Height = 16 + len(d.Waterfall)*22
	p := page{Title: cmp.Or(history.Title, "Conversation"), Nav: "conversations"}
	log := history.Log
	if t != nil {
		d.Running, p.Live = true, "turn/"+url.PathEscape(id)
		for i, e := range log {
			if e.Seq > t.before { // the stream of the turn replaces them
				log, d.Turn = log[:i], messages(log[i:])
				break
			}
		}
	}
	d.Log = messages(log)
	if d.Agents, err = client.Agents(r.Context(), k, id); err != nil {
		d.Agents = nil // a conversation that is not open has none
	}
	p.Data = d
	return c.show(w, r, "conversation", p)
}

// message is an event of a history as people read it.
type message struct {
	Class   string // user, assistant, note or tool
	Text    string
	At      time.Time
	Call    string // of a tool: the ID of the call
	Name    string
	Args    json.RawMessage
	Status  tool.Status
	Took    time.Duration
	Waits   string // the approval that it waits for
	Running bool
}

// messages are the events that people read. A call and its end are one.
func messages(log []protocol.HistoryEvent) (list []message) {
	calls := map[string]int{} // where each is in the list, by the model's ID
	for _, e := range log {
		switch e.Type {
		case protocol.EventUser:
			list = append(list, message{Class: "user", Text: textOf(e), At: e.At})
		case protocol.EventAssistant:
			if text := textOf(e); text != "" {
				list = append(list, message{Class: "assistant", Text: text, At: e.At})
			}
		case protocol.EventCallMade:
			calls[e.Call.Model] = len(list)
			list = append(list, message{
				Class: "tool", Call: e.Call.ID, Name: e.Call.Name, Args: e.Call.Args, At: e.At, Running: true,
			})
		case protocol.EventCallEnded:
			if i, ok := calls[e.Call.Model]; ok && e.Result != nil {
				m := &list[i]
				m.Running, m.Status, m.Text = false, e.Result.Status, e.Result.Summary
				m.Took, m.Waits = e.Result.Took, e.Result.Approval
			}
		case protocol.EventNote, protocol.EventWoken:
			if line, _ := protocol.NoteText(e); line != "" {
				list = append(list, message{Class: "note", Text: line, At: e.At})
			}
		case protocol.EventTurnEnded:
			if e.End != nil && e.End.Reason != protocol.EndDone {
				why := "the turn ended: " + string(e.End.Reason) + " " + e.End.Error
				list = append(list, message{Class: "note", Text: why, At: e.At})
			}
		case protocol.EventCompacted:
			list = append(list, message{Class: "note", Text: protocol.CompactionText(e.Compaction), At: e.At})
		case protocol.EventRewound:
			list = append(list, message{Class: "note", Text: e.Rewind.Text(), At: e.At})
		}
	}
	return list
}

func textOf(e protocol.HistoryEvent) string {
	if e.Message == nil {
		return ""
	}
	return strings.TrimSpace(e.Message.Text())
}

// begin opens a conversation, and says the first words.
func (c *conversationPages) begin(w http.ResponseWriter, r *http.Request) error {
	return c.start(w, r, protocol.OpenConversation{OpenSession: protocol.OpenSession{Workspace: c.workspace(r)}})
}

// say goes on with a conversation, tells its turn something, or stops it.
func (c *conversationPages) say(w http.ResponseWriter, r *http.Request) error {
	id, text := r.PathValue("id"), strings.TrimSpace(r.FormValue("text"))
	t := c.turns.get(id)
	switch {
	case r.FormValue("action") == "stop":
		if _, err := c.Client(r).CancelTurn(r.Context(), id); err != nil {
			return err
		}
	case t != nil && t.client == c.Client(r) && text != "":
		if _, err := t.conversation.Queue(r.Context(), text); err != nil {
			return err
		}
	default:
		history, err := c.Client(r).History(r.Context(), id)
		if err != nil {
			return err
		}
		open := protocol.OpenSession{Workspace: history.Workspace, AppFile: history.AppFile, Agent: history.Agent}
		return c.start(w, r, protocol.OpenConversation{OpenSession: open, Resume: id})
	}
	return back(w, r, "/conversations/"+url.PathEscape(id))
}

// start opens a conversation and begins a turn, which outlives the request.
func (c *conversationPages) start(w http.ResponseWriter, r *http.Request, open protocol.OpenConversation) error {
	text := strings.TrimSpace(r.FormValue("text"))
	if text == "" {
		return tool.Errorf("console.say", tool.Invalid, "nothing was said").WithHint("write what the agent should do")
	}
	k := c.Client(r)
	opened, err := k.OpenConversation(r.Context(), open)
	if err != nil {
		return err
	}
	t := &turn{conversation: opened, client: k, before: opened.Info.Events, more: make(chan struct{})}
	person := c.Person(r)
	t.add(c.draw(person, opened.ID, message{Class: "user", Text: text, At: time.Now()}), false)
	c.turns.begin(c.ended, t, text, func(e protocol.TurnEvent) (piece, bool) { return c.pieceOf(person, opened.ID, e) })
	return back(w, r, "/conversations/"+url.PathEscape(opened.ID))
}

// pieceData is what the template of a piece is given.
type pieceData struct {
	Person       Person
	Conversation string
	Message      message
	Approval     *protocol.Approval
	Question     *protocol.Question
}

// draw makes the element of a message.
func (c *conversationPages) draw(p Person, id string, m message) piece {
	return c.element(pieceData{Person: p, Conversation: id, Message: m})
}

func (c *conversationPages) element(d pieceData) piece {
	var b bytes.Buffer
	if err := c.pages["conversation"].ExecuteTemplate(&b, "piece", d); err != nil {
		return piece{Text: asError(err).Error()}
	}
	return piece{HTML: strings.TrimSpace(b.String())}
}

// pieceOf is what a page adds for an event of a turn; false: nothing.
func (c *conversationPages) pieceOf(p Person, id string, e protocol.TurnEvent) (piece, bool) {
	switch {
	case e.Delta != nil && e.Delta.Kind == llm.DeltaText:
		return piece{Text: visible.Lines(e.Delta.Text)}, true
	case e.Call != nil:
		m := message{Class: "tool", Call: e.Call.ID, Name: e.Call.Name, Args: e.Call.Args, Running: true}
		return c.draw(p, id, m), true
	case e.Result != nil && e.Result.Result != nil:
		call, got := e.Result.Call, e.Result.Result
		return c.draw(p, id, message{
			Class: "tool", Call: call.ID, Name: call.Name, Args: call.Args, Status: got.Status, Text: got.Summary,
			Took: e.Result.Took, Waits: got.Approval,
		}), true
	case e.Approval != nil:
		return c.element(pieceData{Person: p, Conversation: id, Approval: e.Approval}), true
	case e.Answered != nil:
		return c.element(pieceData{Person: p, Conversation: id, Approval: e.Answered}), true
	case e.Question != nil:
		return c.element(pieceData{Person: p, Conversation: id, Question: e.Question}), true
	case e.Wait != nil:
		return c.draw(p, id, message{Class: "note", Text: protocol.WaitText(*e.Wait, time.Now())}), true
	case e.Notice != "":
		return c.draw(p, id, message{Class: "note", Text: e.Notice}), true
	}
	return piece{}, false
}

// follow streams a turn: all of it so far, and what comes.
func (c *conversationPages) follow(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(c.ended, cancel)()
	k := c.Client(r)
	if _, err := k.History(ctx, r.PathValue("id")); err != nil { // who may not read it follows nothing
		return err
	}
	s, t := newStream(w), c.turns.get(r.PathValue("id"))
	if t == nil {
		return s.send("over", "")
	}
	for n := 0; ; {
		pieces, over, more := t.after(n)
		for _, p := range pieces {
			data, err := json.Marshal(p)
			if err != nil {
				return err
			}
			if s.send("turn", string(data)) != nil {
				return nil
			}
		}
		n += len(pieces)
		waiting, err := json.Marshal(c.waits(ctx, k).notices())
		if err != nil || s.sendNew("waits", string(waiting)) != nil {
			return nil
		}
		if over {
			_ = s.send("over", "")
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		}
	}
}
