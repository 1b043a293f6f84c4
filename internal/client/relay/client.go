package relay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"callgate/tool"
)

// introduction is what the client has told its kernel that lasts: the next kernel is
// told it again.
type introduction struct {
	initialize    *line // the request
	answered      bool  // the client has its answer
	initialized   *line // the notification
	level         *line
	subscriptions map[string]*line // by address
}

// fromClient takes a line of the client.
func (r *relay) fromClient(l *line) {
	switch {
	case l.tooLong:
		r.refuse(l, codeInvalid, r.tooLong(l.size))
	case bytes.HasPrefix(bytes.TrimLeft(l.pieces[0], " \t\r"), []byte("[")):
		r.fromBatch(l)
	case len(l.found) > 1:
		r.refuse(l, codeParse, "this is not a JSON-RPC message: there is more than one on the line")
	case len(l.found) == 0:
		r.send(outgoing{line: l}) // the kernel says what is wrong with it
	default:
		r.fromMessage(l, l.found[0])
	}
}

// refuse answers the requests of a line that is not used.
func (r *relay) refuse(l *line, code int, message string) {
	refused := false
	for _, m := range l.found {
		if m.method != "" && m.id != "" {
			refused = true
			r.say(errorAnswer(m.id, code, message, ""))
		}
	}
	if !refused {
		r.say(errorAnswer(noID, code, message, ""))
	}
}

// fromBatch takes the messages of a line one by one: the kernel answers them so.
func (r *relay) fromBatch(l *line) {
	var batch []json.RawMessage
	if err := json.Unmarshal(l.bytes(), &batch); err != nil {
		r.refuse(l, codeParse, "this is not a JSON-RPC message: "+err.Error())
		return
	}
	if len(batch) == 0 {
		r.refuse(l, codeInvalid, "a batch needs a message")
	}
	for _, raw := range batch {
		one := newLine(raw)
		if len(one.found) != 1 || bytes.HasPrefix(raw, []byte("[")) {
			r.refuse(one, codeInvalid, "this is not a JSON-RPC message: it is JSON, but no request, notification or response")
			continue
		}
		r.fromMessage(one, one.found[0])
	}
}

// fromMessage takes one message.
func (r *relay) fromMessage(l *line, m message) {
	switch {
	case m.method == "":
		r.fromAnswer(l, m)
	case m.method == cancelled:
		r.cancel(l, m)
	case !m.hasID:
		r.notification(l, m)
	case m.id == "":
		r.say(errorAnswer(noID, codeInvalid, "the id of a request is a text or a number", ""))
	default:
		r.request(l, m)
	}
}

// fromAnswer takes an answer to a question of a kernel. One to a kernel that is gone is
// for nobody: the next kernel has questions of its own.
func (r *relay) fromAnswer(l *line, m message) {
	r.mu.Lock()
	q, found := r.asked[keyOf(m.id)]
	delete(r.asked, keyOf(m.id))
	if found {
		delete(q.over.ids, keyOf(q.id))
	}
	to := r.link
	r.mu.Unlock()
	if found && to != nil && q.over == to {
		to.write(outgoing{line: l, edits: []edit{{m.idAt, q.id}}})
	}
}

// cancel cancels a request.
func (r *relay) cancel(l *line, m message) {
	r.mu.Lock()
	of := r.table.byKey[m.cancels]
	if of == nil {
		r.mu.Unlock()
		return // it has its answer
	}
	of.cancelled = true
	r.table.forget(of) // it is not sent again, and may never be answered
	delete(r.table.byKey, m.cancels)
	if of.over == nil {
		r.table.remove(of) // no kernel has heard of it
	}
	to := r.link
	r.checkEmpty()
	r.mu.Unlock()
	if to != nil && of.over == to {
		to.write(outgoing{line: l, edits: []edit{{m.cancelsAt, strconv.FormatUint(of.n, 10)}}})
	}
}

func (r *relay) notification(l *line, m message) {
	if m.method == initialized {
		r.mu.Lock()
		r.client.initialized = l
		r.mu.Unlock()
	}
	r.send(outgoing{line: l})
}

// request takes a request.
func (r *relay) request(l *line, m message) {
	r.mu.Lock()
	if r.table.byKey[keyOf(m.id)] != nil {
		r.mu.Unlock()
		r.say(errorAnswer(m.id, codeInvalid, fmt.Sprintf(
			"the id %s is in use by a request that has no answer yet; that one goes on, and this one was not begun",
			tool.Truncate(m.id)), ""))
		return
	}
	r.client.learn(l, m)
	of := r.table.add(l, false)
	o := outgoing{line: l, edits: of.edits, of: of}
	r.mu.Unlock()
	r.answerFromCache(of, l)
	r.send(o)
}

// learn keeps what the next kernel must be told.
func (c *introduction) learn(l *line, m message) {
	switch m.method {
	case initialize:
		if !c.answered { // else the kernel refuses it, and the first one counts
			*c = introduction{initialize: l}
		}
	case setLevel:
		c.level = l
	case subscribe, unsubscribe:
		var of struct{ Params struct{ URI string } }
		if json.Unmarshal(l.bytes(), &of) != nil {
			return
		}
		if m.method == unsubscribe {
			delete(c.subscriptions, of.Params.URI)
			return
		}
		if c.subscriptions == nil {
			c.subscriptions = map[string]*line{}
		}
		c.subscriptions[of.Params.URI] = l
	}
}

// maxOutbox bounds the notifications that wait for a kernel.
const maxOutbox = 256

// send sends a message to the kernel, or keeps it for the next one.
func (r *relay) send(o outgoing) {
	r.mu.Lock()
	to := r.link
	switch {
	case to == nil && (o.of != nil || len(r.outbox) < maxOutbox):
		r.outbox = append(r.outbox, o)
		if o.of != nil || r.connecting { // a notification alone starts no kernel
			r.startConnecting()
		}
	case o.of != nil:
		r.table.sent(o.of, to)
	}
	r.mu.Unlock()
	if to != nil {
		to.write(o)
	}
}
