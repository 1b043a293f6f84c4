package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/journal"
	"callgate/tool"
)

// need is what of a thing a route shows or does.
type need int

const (
	contents need = iota // what somebody wrote or was answered
	speaks               // it speaks or acts in the place of whoever asked for it: no rule lets another do that
	facts                // the thing itself, of which an administrator is shown the metadata
	stops                // nothing of it is shown, and an administrator may
)

// one is for routes about one thing, by its ID.
func one[T any](k kind[T], n need) judge {
	return func(q *request, next route.Func) error {
		id := q.r.PathValue(k.param)
		owner, err := k.owner(q.ctx(), q.by.guard.kernel, id)
		if err != nil && tool.KindOf(err) != tool.NotFound {
			return err
		}
		if err != nil || q.by.sees(owner) == hidden {
			return absent(k.what, id)
		}
		switch {
		case !q.by.isOthers(owner) || n == stops:
			return next(q.w, q.r)
		case n == speaks:
			return speechDenied(owner)
		case q.by.sees(owner) == whole:
			if err := q.by.note(q.r, owner); err != nil {
				return err
			}
			return next(q.w, q.r)
		case n == contents:
			return contentsDenied(owner)
		}
		var thing T
		if done, err := q.ask(next, q.r, &thing); done || err != nil {
			return err
		}
		return route.Answer(q.w, k.facts(thing))
	}
}

// more changes a request so that it is for what follows in a list, after a page of it; false: the page was the last.
type more[T any] func(r *http.Request, page []T) bool

// several is for routes that list things: of them a reader gets those that they see, as they see them.
func several[T any](k kind[T], follow more[T]) judge {
	return func(q *request, next route.Func) error {
		if everything, err := q.by.seesEverything(q.ctx()); err != nil || everything {
			if err == nil {
				err = next(q.w, q.r)
			}
			return err
		}
		limit, err := limitOf(q.r)
		if err != nil {
			return err
		}
		if limit == 0 && follow != nil {
			limit = journal.MaxRows // as where nobody is judged
		}
		r, list, others := paged(q.r, follow == nil), []T{}, map[string]bool{}
		newest := r.Form.Get("newest") == "true"
		for {
			var page []T
			if done, err := q.ask(next, r, &page); done || err != nil {
				return err
			}
			owners, err := k.owners(q.ctx(), q.by.guard.kernel, page)
			if err != nil {
				return err
			}
			seen := pick(q.by, k, page, owners, others)
			if newest { // each page is older than the one before
				list = append(seen, list...)
			} else {
				list = append(list, seen...)
			}
			if limit > 0 && len(list) >= limit || follow == nil || !follow(r, page) {
				break
			}
		}
		if limit > 0 && len(list) > limit {
			if newest {
				list = list[len(list)-limit:]
			} else {
				list = list[:limit]
			}
		}
		if len(others) > 0 {
			if err := q.by.note(q.r, sorted(others)...); err != nil {
				return err
			}
		}
		return route.Answer(q.w, list)
	}
}

// pick returns what a reader sees of a page, as they see it, and adds the others whose contents they read.
func pick[T any](b Reader, k kind[T], page []T, owners []string, others map[string]bool) []T {
	seen := []T{}
	reads := sync.OnceValue(b.readsContents) // the rules are read once for a page
	for i, thing := range page {
		switch {
		case !b.isOthers(owners[i]):
			if b.sees(owners[i]) == whole {
				seen = append(seen, thing)
			}
		case b.isAdmin && reads():
			seen, others[owners[i]] = append(seen, thing), true
		case b.isAdmin:
			seen = append(seen, k.facts(thing))
		}
	}
	return seen
}

func sorted(set map[string]bool) []string {
	var all []string
	for one := range set {
		all = append(all, one)
	}
	slices.Sort(all)
	return all
}

// limitOf reads how many things are asked for; 0: as many as there are.
func limitOf(r *http.Request) (int, error) {
	var limit uint64
	err := route.Number(r, "limit", &limit)
	return int(min(limit, 1<<30)), err
}

// paged is a request for all of a list, or for a page of it: how many are seen is not known before.
func paged(r *http.Request, isWhole bool) *http.Request {
	again := r.Clone(r.Context())
	_ = again.ParseForm()
	size := pageSize
	if isWhole {
		size = 1_000_000
	}
	again.Form.Set("limit", strconv.Itoa(size))
	return again
}

const pageSize = 1000

// ask has a handler answer a request, and reads its answer. It is done when the handler answered something else, which
// is then the answer.
func (q *request) ask(next route.Func, r *http.Request, into any) (done bool, err error) {
	a := route.NewKept()
	if err := next(a, r); err != nil {
		return false, err
	}
	if a.Status != http.StatusOK {
		q.w.WriteHeader(a.Status)
		_, _ = q.w.Write(a.Body.Bytes())
		return true, nil
	}
	if err := json.Unmarshal(a.Body.Bytes(), into); err != nil {
		return false, &tool.Error{Op: "httpapi", Kind: tool.Internal, Message: "the answer cannot be read", Err: err}
	}
	return false, nil
}

// opening is for who opens a conversation: one that goes on, or is left for it, is their own.
func opening(q *request, next route.Func) error {
	body, err := io.ReadAll(http.MaxBytesReader(nil, q.r.Body, maxOpening))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return tool.Errorf("httpapi", tool.Invalid, "the request is too large")
		}
		return &tool.Error{Op: "httpapi", Kind: tool.Cancelled, Message: "the request broke off", Err: err}
	}
	var named struct {
		Resume string `json:"resume"`
		Leaves string `json:"leaves"`
	}
	_ = json.Unmarshal(body, &named) // the handler says what is wrong with it
	for _, id := range []string{named.Resume, named.Leaves} {
		if id == "" {
			continue
		}
		owner, err := conversations.owner(q.ctx(), q.by.guard.kernel, id)
		switch {
		case tool.KindOf(err) == tool.NotFound || err == nil && q.by.sees(owner) == hidden:
			return absent(conversations.what, id)
		case err != nil:
			return err
		case q.by.isOthers(owner): // nobody speaks in the place of another
			return contentsDenied(owner)
		}
	}
	q.r.Body = io.NopCloser(bytes.NewReader(body))
	return next(q.w, q.r)
}

const maxOpening = 1 << 20
