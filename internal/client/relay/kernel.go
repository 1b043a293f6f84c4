package relay

import (
	"encoding/json"
	"strconv"
)

// fromKernel takes a line of a kernel.
func (r *relay) fromKernel(k *link, l *line) {
	switch {
	case l.tooLong:
		r.oversized(l)
	case l.cut && len(l.found) != 1: // the kernel was killed while it wrote: the next one is asked
	case len(l.found) != 1:
		r.sayLine(l)
	default:
		r.messageOf(k, l, l.found[0])
	}
}

// oversized answers the requests whose answers are too long.
func (r *relay) oversized(l *line) {
	for _, m := range l.found {
		if of := r.answeredBy(nil, m); of != nil && !of.own {
			r.say(errorAnswer(of.id, codeInternal, "the answer is too large: "+r.tooLong(l.size), ""))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checkEmpty()
}

func (r *relay) messageOf(k *link, l *line, m message) {
	switch {
	case m.method == "" && m.id == "":
		r.sayLine(l) // an answer to what has no id
	case m.method == "":
		r.answerOf(k, l, m)
	case m.method == cancelled:
		r.mu.Lock()
		ours := k.ids[m.cancels]
		delete(r.asked, ours)
		r.mu.Unlock()
		if ours != "" {
			r.sayLine(l, edit{m.cancelsAt, ours})
		}
	case m.id != "":
		r.mu.Lock()
		r.lastAsked++
		ours := strconv.FormatUint(r.lastAsked, 10)
		r.asked[ours] = question{k, m.id}
		k.ids[keyOf(m.id)] = ours
		r.mu.Unlock()
		r.sayLine(l, edit{m.idAt, ours})
	default:
		r.sayLine(l)
	}
}

// answerOf takes an answer.
func (r *relay) answerOf(k *link, l *line, m message) {
	of := r.answeredBy(k, m)
	switch {
	case of == nil: // the client has an answer
	case of.own:
		if of.answer != nil {
			of.answer(l)
		}
	default:
		if of.method == initialize && errorIn(l) == "" {
			r.mu.Lock()
			r.client.answered = true
			r.mu.Unlock()
		}
		r.learnAnswer(of, l)
		r.sayLine(l, edit{m.idAt, of.id})
	}
	r.mu.Lock()
	r.checkEmpty()
	r.mu.Unlock()
}

// answeredBy finds and removes the request that an answer is for; nil if there is none.
func (r *relay) answeredBy(k *link, m message) *request {
	n, err := strconv.ParseUint(m.id, 10, 64)
	if err != nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.table.open[n]
	if of == nil {
		return nil
	}
	reused := of.cancelled && r.table.byKey[keyOf(of.id)] != nil
	r.table.remove(of)
	if k != nil && !of.own {
		k.answered = true
	}
	if reused {
		return nil // the client has cancelled it, and used its id again
	}
	return of
}

// errorIn is the message of an answer that is an error; "" for a result.
func errorIn(l *line) string {
	var answer struct {
		Error *struct{ Message string }
	}
	if err := json.Unmarshal(l.bytes(), &answer); err != nil {
		return err.Error()
	}
	if answer.Error == nil {
		return ""
	}
	return answer.Error.Message
}
