// Package outside serves what an app has to do with the world outside: channels, triggers
// and background apps.
//
// The law: no gate judges what is sent past a session, so sending takes a human's authority.
package outside

import (
	"context"
	"net/http"
	"time"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel"
	"callgate/internal/kernel/channels"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol"
	"callgate/tool"
)

// outsideRoutes shows channels and triggers, and starts and stops background apps.
type outsideRoutes struct{ kernel *kernel.Kernel }

// Routes are the routes of channels, triggers and background apps.
func Routes(k *kernel.Kernel) map[string]route.Func { return (&outsideRoutes{k}).routes() }

func (a *outsideRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteChannels:        a.channels,
		protocol.RouteTestChannel:     a.test,
		protocol.RouteDeliveries:      a.deliveries,
		protocol.RouteRetryDelivery:   a.retryDelivery,
		protocol.RouteBackgroundApps:  a.apps,
		protocol.RouteStartBackground: a.start,
		protocol.RouteStopBackground:  a.stopApp,
		protocol.RouteTriggerEvents:   a.events,
		protocol.RouteRetryEvent:      a.retryEvent,
	}
}

func (a *outsideRoutes) channels(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	list, err := a.kernel.Outside.Channels.List(r.Context(), deferred.AskerOf(s, tool.Call{}))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.Channel))
}

// testTime is how long a request waits for a message that tries a channel to arrive.
const testTime = 20 * time.Second

func (a *outsideRoutes) test(w http.ResponseWriter, r *http.Request) error {
	var in protocol.TestChannel
	err := a.kernel.Approvals.HasHumanAuthority(route.Credential(r, "")) // no gate judges what is sent
	if err != nil {
		return err
	}
	s, err := route.Session(a.kernel, r)
	if err == nil {
		err = route.Read(r, &in)
	}
	if err != nil {
		return err
	}
	sent, err := a.kernel.Outside.Channels.Send(r.Context(), deferred.AskerOf(s, tool.Call{}), channels.Message{
		Channel: r.PathValue("name"), ID: session.NewID("test-"), Title: "a test", Text: in.Text,
	})
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(r.Context(), testTime)
	defer done()
	_ = a.kernel.Tasks.Wait(ctx, sent.ID) // then it is on its way
	letter, err := a.kernel.Outside.Channels.Letter(r.Context(), sent.ID)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Delivery(letter))
}

// listed are the parameters of a list: how many, and whether of those alone that were
// given up.
func listed(r *http.Request) (dead bool, limit uint64, err error) {
	err = route.Number(r, "limit", &limit)
	return r.FormValue("dead") == "true", min(limit, protocol.MaxTasks), err
}

func (a *outsideRoutes) deliveries(w http.ResponseWriter, r *http.Request) error {
	dead, limit, err := listed(r)
	if err != nil {
		return err
	}
	list, err := a.kernel.Outside.Channels.Letters(r.Context(), dead, int(limit))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.Delivery))
}

func (a *outsideRoutes) retryDelivery(w http.ResponseWriter, r *http.Request) error {
	if err := a.kernel.Approvals.HasHumanAuthority(route.Credential(r, "")); err != nil {
		return err
	}
	letter, err := a.kernel.Outside.Channels.Retry(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(r.Context(), testTime)
	defer done()
	_ = a.kernel.Tasks.Wait(ctx, letter.ID) // then it is on its way
	if letter, err = a.kernel.Outside.Channels.Letter(r.Context(), letter.ID); err != nil {
		return err
	}
	return route.Answer(w, wire.Delivery(letter))
}

func (a *outsideRoutes) apps(w http.ResponseWriter, r *http.Request) error {
	list, err := a.kernel.Outside.Triggers.List(r.Context())
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.BackgroundApp))
}

func (a *outsideRoutes) start(w http.ResponseWriter, r *http.Request) error {
	var in protocol.StartBackground
	if err := route.Read(r, &in); err != nil {
		return err
	}
	if err := route.CheckPlace(r, in.Workspace, in.AppFile); err != nil {
		return err
	}
	by := route.Credential(r, in.By).By
	app, err := a.kernel.Outside.Triggers.Start(r.Context(), in.Workspace, in.AppFile, tool.Truncate(by))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.BackgroundApp(app))
}

func (a *outsideRoutes) stopApp(w http.ResponseWriter, r *http.Request) error {
	var in protocol.StartBackground
	if err := route.Read(r, &in); err != nil {
		return err
	}
	if err := route.CheckPlace(r, in.Workspace, in.AppFile); err != nil {
		return err
	}
	app, err := a.kernel.Outside.Triggers.Stop(r.Context(), in.Workspace, in.AppFile)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.BackgroundApp(app))
}

func (a *outsideRoutes) events(w http.ResponseWriter, r *http.Request) error {
	dead, limit, err := listed(r)
	if err != nil {
		return err
	}
	list, err := a.kernel.Outside.Triggers.Events(r.Context(), dead, int(limit))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.Event))
}

func (a *outsideRoutes) retryEvent(w http.ResponseWriter, r *http.Request) error {
	if err := a.kernel.Approvals.HasHumanAuthority(route.Credential(r, "")); err != nil {
		return err
	}
	event, err := a.kernel.Outside.Triggers.Retry(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Event(event))
}
