package page

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	cdpnetwork "github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/devtools"
)

// setUpPage prepares a paused page and lets it run. It sends all commands at once:
// the browser runs them in order, and replies to some only when the page runs.
func setUpPage(ctx context.Context, s *devtools.Session, o Options, agent string) error {
	replies := append(setUpFrame(s),
		devtools.Start(s, inspector.Enable, cdp.Empty{}),
		devtools.Start(s, cdpage.SetInterceptFileChooserDialog, cdpage.SetInterceptFileChooserDialogParams{Enabled: true}),
		devtools.Start(s, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}),
	)
	if o.Width > 0 {
		width, height := int64(o.Width), int64(o.Height)
		replies = append(replies, devtools.Start(s, emulation.SetDeviceMetricsOverride,
			emulation.SetDeviceMetricsOverrideParams{
				Width: width, Height: height, DeviceScaleFactor: 1, ScreenWidth: width, ScreenHeight: height,
			}))
	}
	if o.UserAgent != "" || o.Locale != "" {
		if o.UserAgent != "" {
			agent = o.UserAgent
		}
		replies = append(replies, devtools.Start(s, emulation.SetUserAgentOverride,
			emulation.SetUserAgentOverrideParams{UserAgent: agent, AcceptLanguage: o.Locale}))
	}
	if o.Locale != "" {
		replies = append(replies, devtools.Start(s, emulation.SetLocaleOverride,
			emulation.SetLocaleOverrideParams{Locale: o.Locale}))
	}
	replies = append(replies, devtools.Start(s, runtime.RunIfWaitingForDebugger, cdp.Empty{}))
	for _, r := range replies {
		if err := r.Wait(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// setUpFrame sends what a page and a frame with a process of its own need alike. The
// browser pauses each document that they request until the guard has checked its
// address. It also asks us for the proxy's password there, and remembers the answer for
// everything else that the page loads.
func setUpFrame(s *devtools.Session) []*devtools.PendingReply {
	return []*devtools.PendingReply{
		devtools.Start(s, cdpage.Enable, cdpage.EnableParams{}),
		devtools.Start(s, cdpage.SetLifecycleEventsEnabled, cdpage.SetLifecycleEventsEnabledParams{Enabled: true}),
		devtools.Start(s, fetch.Enable, fetch.EnableParams{
			Patterns:           []*fetch.RequestPattern{{URLPattern: "*", ResourceType: cdpnetwork.ResourceTypeDocument}},
			HandleAuthRequests: new(true),
		}),
		// The browser pauses a page's workers too, whether they are listed or not.
		devtools.Start(s, target.SetAutoAttach, autoAttach("iframe", "worker")),
	}
}
