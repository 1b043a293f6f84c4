package httpapi

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"callgate/internal/daemon/httpapi/feed"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/journal/outputbus"
	"callgate/internal/kernel"
	"callgate/internal/kernel/chains"
	"callgate/internal/kernel/recovery"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
)

func query(r *http.Request) (journal.Query, error) {
	q := journal.Query{
		Call: r.FormValue("call"), Kind: journal.Kind(r.FormValue("kind")), Newest: r.FormValue("newest") == "true",
	}
	for name, into := range map[string]*uint64{"after": &q.After, "before": &q.Before} {
		if err := route.Number(r, name, into); err != nil {
			return q, err
		}
	}
	var limit uint64
	if err := route.Number(r, "limit", &limit); err != nil {
		return q, err
	}
	q.Limit = int(min(limit, 10_000))
	return q, nil
}

// journalRoutes reads, follows, verifies and prunes the journal.
type journalRoutes struct {
	*api
	feed *feed.Feed
}

func (a *journalRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteJournal:  a.journal,
		protocol.RouteFollow:   a.follow,
		protocol.RouteVerify:   a.verify,
		protocol.RouteExport:   a.export,
		protocol.RouteDoubts:   a.doubts,
		protocol.RouteDoubt:    a.doubt,
		protocol.RouteResolve:  a.resolve,
		protocol.RoutePrune:    a.prune,
		operations.RouteRetain: a.retain,
		protocol.RouteArtifact: a.artifact,

		protocol.RouteAcceptLoss: a.acceptLoss,
	}
}

func (a *journalRoutes) journal(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r)
	if err != nil {
		return err
	}
	// The answer includes the records that are not written yet, if the disk takes them:
	// what there is can be read in any case.
	_ = a.kernel.Journal.Flush(r.Context())
	list, err := a.kernel.Journal.Read(r.Context(), q)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.Record))
}

// follow streams records as they are written and, with live=true, what calls
// print while they run.
func (a *journalRoutes) follow(w http.ResponseWriter, r *http.Request) error {
	var after uint64
	if err := route.Number(r, "after", &after); err != nil {
		return err
	}
	if last, err := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		after = max(after, last) // a browser that was cut off goes on where it was
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.Context, cancel)()
	var output *outputbus.Listener // nil: the client wants no output
	if r.FormValue("live") == "true" {
		output = a.kernel.Output.Subscribe(ctx)
	}
	seen, err := a.guard.Records(r)
	if err != nil {
		return err
	}
	events := newEventStream(w, r)
	if events == nil {
		return nil
	}
	a.numbers.Followers.Add(1)
	defer a.numbers.Followers.Add(-1)
	records := make(chan []feed.Entry)
	go func() {
		defer close(records)
		a.feed.Follow(ctx, after, func(entries []feed.Entry) bool {
			select {
			case records <- entries:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	for {
		var there bool
		select {
		case entries, more := <-records:
			shown, err := seen.See(entries)
			there = more && err == nil && events.sendRecords(shown) // the answer has begun: its end is the only sign of an error
		case <-output.Ready():
			there = true
			for _, out := range output.Take() {
				there = there && (!seen.SeesOutput(out.Call) || events.sendOutput(out))
			}
		}
		if !there {
			return nil
		}
	}
}

func (a *journalRoutes) verify(w http.ResponseWriter, r *http.Request) error {
	report, err := chains.Own(r.Context(), a.kernel.Journal)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.VerifyReport(report))
}

func (a *journalRoutes) export(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r)
	if err != nil {
		return err
	}
	if err := a.kernel.Journal.Flush(r.Context()); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := &begunWriter{w: w}
	err = a.kernel.Journal.Export(r.Context(), out, q)
	if err != nil && out.begun {
		panic(http.ErrAbortHandler) // the client must see that the export broke off
	}
	return err
}

// begunWriter remembers whether anything was written: before that, an error can
// still be the answer.
type begunWriter struct {
	w     io.Writer
	begun bool
}

func (b *begunWriter) Write(p []byte) (int, error) {
	b.begun = true
	return b.w.Write(p)
}

func (a *journalRoutes) doubts(w http.ResponseWriter, r *http.Request) error {
	list, err := recovery.Doubts(r.Context(), a.kernel.Journal, r.FormValue("all") == "true")
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.Doubt))
}

func (a *journalRoutes) doubt(w http.ResponseWriter, r *http.Request) error {
	d, err := recovery.DoubtOf(r.Context(), a.kernel.Journal, r.PathValue("call"))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Doubt(d))
}

func (a *journalRoutes) resolve(w http.ResponseWriter, r *http.Request) error {
	var in protocol.ResolveDoubt
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who := route.Credential(r, in.By)
	if err := a.kernel.Approvals.HasHumanAuthority(who); err != nil {
		return err
	}
	resolution := doubt.Resolution{Happened: in.Happened, By: who.By}
	if err := a.kernel.Journal.Resolve(r.Context(), r.PathValue("call"), resolution); err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}

func (a *journalRoutes) acceptLoss(w http.ResponseWriter, r *http.Request) error {
	var in protocol.AcceptLoss
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who, err := route.Approver(a.kernel, r, in.By)
	if err != nil {
		return err
	}
	if err := a.kernel.AcceptLoss(r.Context(), who); err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}

func (a *journalRoutes) prune(w http.ResponseWriter, r *http.Request) error {
	var want protocol.Prune
	if err := route.Read(r, &want); err != nil {
		return err
	}
	if err := a.kernel.Approvals.HasHumanAuthority(route.Credential(r, "")); err != nil {
		return err
	}
	records, artifacts, err := a.kernel.Prune(r.Context(), want.Before)
	if err != nil {
		return err
	}
	return route.Answer(w, protocol.PruneResult{Records: records, Artifacts: artifacts.Count})
}

// retain removes what the rules of retain no longer keep.
func (a *journalRoutes) retain(w http.ResponseWriter, r *http.Request) error {
	var in operations.Retain
	if err := route.Read(r, &in); err != nil {
		return err
	}
	if err := a.kernel.Approvals.HasHumanAuthority(route.Credential(r, "")); err != nil && !in.DryRun {
		return err
	}
	removed, err := kernel.RetainNow(r.Context(), a.kernel, in.DryRun)
	if err != nil {
		return err
	}
	return route.Answer(w, removed)
}

func (a *journalRoutes) artifact(w http.ResponseWriter, r *http.Request) error {
	data, err := a.kernel.Artifacts.Get(r.Context(), r.PathValue("ref"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(data)
	return nil
}
