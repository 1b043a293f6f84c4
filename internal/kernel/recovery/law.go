package recovery

import (
	"context"
	"strings"

	"callgate/internal/gate"
	"callgate/internal/gate/filestate"
	"callgate/internal/gate/lock"
	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// maxSince is the most records, and the most other doubts, that are looked at to
// see what happened since a call began. After more than that too much has happened
// to make it again.
const maxSince = journal.MaxRows

// law says why a call in doubt may not be made again. It is asked under the locks of
// the call: nobody who heeds them touches its files meanwhile.
func (r *Recovery) law(ctx context.Context, doubted journal.Record, call gate.DoubtfulCall) error {
	const op = "recovery.law"
	now, _ := filestate.Of(call.Claims)
	if changed := changedFile(call.Claims, doubted.Doubt.Files, now); changed != "" {
		return tool.Errorf(op, tool.Conflict, "%s, or the folder that it is absent from, "+
			"is not as it was when the call began; the call or somebody else has changed it", changed)
	}
	if d, open, err := r.Journal.DoubtOf(ctx, call.ID); err != nil || !open || d.State != doubt.New {
		return tool.Errorf(op, tool.Conflict, "its asker or a human knows of it by now")
	}
	if other, err := r.touchedSince(ctx, doubted, call); err != nil || other != "" {
		if err != nil {
			return err
		}
		return tool.Errorf(op, tool.Conflict, "call %s touched the same thing since", other)
	}
	others, err := r.Journal.OpenDoubts(ctx, doubt.Query{})
	if err != nil {
		return err
	}
	if len(others) >= maxSince {
		return tool.Errorf(op, tool.Limited, "%d calls or more are in doubt", maxSince)
	}
	for _, d := range others {
		if d.Call != call.ID && d.Doubt != nil && touches(call, d.Record, d.Doubt.Claims, false) {
			return tool.Errorf(op, tool.Conflict, "call %s, which is in doubt too, touches the same thing", d.Call)
		}
	}
	return nil
}

// changedFile names the first file that differs; "" for none.
func changedFile(claims []tool.Claim, then, now []doubt.FileState) string {
	i := 0
	for _, c := range claims {
		if !strings.HasPrefix(c.Resource, "file:") {
			continue
		}
		if i >= len(then) || i >= len(now) || then[i] != now[i] {
			return c.Resource
		}
		i++
	}
	return ""
}

// touchedSince returns a call that touched the same thing and began, ended or was
// cut off after this one began; "" for none.
func (r *Recovery) touchedSince(
	ctx context.Context, doubted journal.Record, call gate.DoubtfulCall,
) (other string, err error) {
	since, err := r.Journal.Read(ctx, journal.Query{After: doubted.Doubt.Record, Limit: maxSince})
	if err != nil {
		return "", err
	}
	if len(since) >= maxSince {
		return "", tool.Errorf("recovery.law", tool.Limited, "%d records or more were written since it began", maxSince)
	}
	claims := map[string][]tool.Claim{}
	for _, rec := range since {
		if rec.Ask != nil {
			claims[rec.Call] = rec.Ask.Claims
		}
	}
	for _, rec := range since {
		if rec.Call == "" || rec.Call == call.ID || rec.Call == doubt.RetryID(call.ID) {
			continue
		}
		if rec.Kind != journal.Begun && rec.Kind != journal.Ended && rec.Kind != journal.Doubted {
			continue
		}
		claimed, known := claims[rec.Call]
		if !known { // it was asked for before
			if claimed, err = r.claimsOf(ctx, rec.Call); err != nil {
				return "", err
			}
			claims[rec.Call] = claimed
		}
		readsOnly := rec.Kind == journal.Ended && rec.Ask != nil // such a call is one record
		if touches(call, rec, claimed, readsOnly) {
			return rec.Call, nil
		}
	}
	return "", nil
}

// claimsOf returns what a call claimed, from its Asked record.
func (r *Recovery) claimsOf(ctx context.Context, call string) ([]tool.Claim, error) {
	asked, err := r.Journal.Read(ctx, journal.Query{Call: call, Kind: journal.Asked, Newest: true, Limit: 1})
	if err != nil || len(asked) == 0 || asked[0].Ask == nil {
		return nil, err
	}
	return asked[0].Ask.Claims, nil
}

// touches reports whether another call touches what the call does. One that claims
// nothing touches everything of its source, unless it only reads.
func touches(call gate.DoubtfulCall, other journal.Record, claims []tool.Claim, readsOnly bool) bool {
	if len(claims) > 0 {
		return lock.Meets(call.Claims, claims)
	}
	return !readsOnly && sourceOf(call.Tool) == sourceOf(other.Tool)
}

// sourceOf is the namespace of a tool: the module or the server that it is of.
func sourceOf(id string) string {
	if parsed, ok := tool.TryParseID(id); ok {
		return parsed.Namespace
	}
	return id
}
