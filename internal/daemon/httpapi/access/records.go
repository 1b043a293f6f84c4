package access

import (
	"encoding/json"
	"net/http"
	"strconv"

	"callgate/internal/daemon/httpapi/feed"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/journal"
	"callgate/internal/protocol"
	"callgate/tool"
)

// moreRecords asks for the records that follow, or for those before.
func moreRecords(r *http.Request, page []protocol.Record) bool {
	if len(page) < pageSize {
		return false
	}
	if r.Form.Get("newest") == "true" {
		r.Form.Set("before", strconv.FormatUint(page[0].Seq, 10))
	} else {
		r.Form.Set("after", strconv.FormatUint(page[len(page)-1].Seq, 10))
	}
	return true
}

// olderTasks asks for the tasks that follow.
func olderTasks(r *http.Request, page []protocol.Task) bool {
	if len(page) == 0 {
		return false
	}
	r.Form.Set("after", page[len(page)-1].ID)
	return true
}

// searched is how many of the newest records are searched for the name of an artifact.
const searched = 20_000

// artifact is for what is kept of large arguments and results: it is of those whose records name it.
func artifact(q *request, next route.Func) error {
	ref := q.r.PathValue("ref")
	var own, others []string
	read := journal.Query{Newest: true, Limit: pageSize}
	for left := searched; left > 0 && len(own) == 0; left -= pageSize {
		list, err := q.by.guard.kernel.Journal.Read(q.ctx(), read)
		if err != nil {
			return err
		}
		for _, rec := range list {
			if rec.Principal == nil || !names(rec, ref) {
				continue
			}
			if q.by.isOthers(rec.Principal.User) {
				others = append(others, rec.Principal.User)
			} else {
				own = append(own, rec.Principal.User)
			}
		}
		if len(list) < pageSize {
			break
		}
		read.Before = list[0].Seq
	}
	switch {
	case len(own) > 0, len(others) == 0 && q.by.user == "": // the kernel's own may be older, or of something else
		return next(q.w, q.r)
	case len(others) == 0 || !q.by.isAdmin:
		return absent("artifact", ref)
	case q.by.sees(others[0]) != whole:
		return contentsDenied(others[0])
	}
	if err := q.by.note(q.r, others[0]); err != nil {
		return err
	}
	return next(q.w, q.r)
}

// names reports whether a record names an artifact.
func names(r journal.Record, ref string) bool {
	return r.End != nil && (r.End.ArtifactRef == ref || r.End.ResultRef == ref) || r.Ask != nil && r.Ask.ArgsRef == ref ||
		r.Answer != nil && r.Answer.ArgsRef == ref
}

// Records are the records of a journal that somebody follows, as they see them.
type Records struct {
	by    Reader
	all   bool            // they see everything
	calls map[string]bool // under way, whose output they see
}

// Records returns how the sender of a request sees the journal. An administrator who reads contents is on record.
func (g *Guard) Records(r *http.Request) (*Records, error) {
	by, overNetwork := g.Reader(r)
	s := &Records{by: by, all: !overNetwork, calls: map[string]bool{}}
	if overNetwork && by.isAdmin && by.readsContents() {
		others, err := g.kernel.Tokens.Users.Any(r.Context())
		if err != nil || !others {
			return s, err
		}
		s.all = true
		return s, by.note(r, everybody)
	}
	return s, nil
}

// See returns the entries that are seen, as they are.
func (s *Records) See(entries []feed.Entry) ([]feed.Entry, error) {
	if s.all {
		return entries, nil
	}
	var seen []feed.Entry
	for _, e := range entries {
		owner := system
		if e.Principal != nil {
			owner = e.Principal.User
		}
		switch {
		case !s.by.isOthers(owner) && s.by.sees(owner) == whole:
			s.follow(e)
			seen = append(seen, e)
		case s.by.isOthers(owner) && s.by.isAdmin:
			data, err := factsOf(e.Data)
			if err != nil {
				return nil, err
			}
			e.Data = data
			seen = append(seen, e)
		}
	}
	return seen, nil
}

// follow notes which calls are under way.
func (s *Records) follow(e feed.Entry) {
	if e.Kind == journal.Ended {
		delete(s.calls, e.Call)
	} else if e.Call != "" {
		s.calls[e.Call] = true
	}
}

// SeesOutput reports whether what a call prints is seen.
func (s *Records) SeesOutput(call string) bool { return s.all || s.calls[call] }

// factsOf is the metadata of a record that is written already.
func factsOf(data []byte) ([]byte, error) {
	var e protocol.Event
	if err := json.Unmarshal(data, &e); err != nil || e.Record == nil {
		return nil, &tool.Error{Op: "httpapi", Kind: tool.Internal, Message: "a record cannot be read", Err: err}
	}
	kept := recordFacts(*e.Record)
	return json.Marshal(protocol.Event{Record: &kept})
}
