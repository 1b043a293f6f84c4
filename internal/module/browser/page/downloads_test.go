package page

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto/browser"

	"callgate/internal/module/browser/devtools"
)

type progressEvent = browser.EventDownloadProgress

func progressed(guid string, state browser.DownloadProgressState, received, total float64) *progressEvent {
	return &progressEvent{GUID: guid, State: state, ReceivedBytes: received, TotalBytes: total}
}

func TestDownloadStates(t *testing.T) {
	const (
		inProgress = browser.DownloadProgressStateInProgress
		completed  = browser.DownloadProgressStateCompleted
		canceled   = browser.DownloadProgressStateCanceled
	)
	for name, c := range map[string]struct {
		limit     int64
		events    []*progressEvent
		want      string
		cancelled bool
	}{
		"begun":            {100, nil, Arriving, false},
		"in progress":      {100, []*progressEvent{progressed("g", inProgress, 10, 50)}, Arriving, false},
		"complete":         {100, []*progressEvent{progressed("g", completed, 50, 50)}, Arrived, false},
		"of the limit":     {100, []*progressEvent{progressed("g", completed, 100, 100)}, Arrived, false},
		"announced larger": {100, []*progressEvent{progressed("g", inProgress, 1, 101)}, Stopped, true},
		"received larger":  {100, []*progressEvent{progressed("g", inProgress, 101, 0)}, Stopped, true},
		"complete, larger": {100, []*progressEvent{progressed("g", completed, 101, 101)}, Stopped, true},
		"broken":           {100, []*progressEvent{progressed("g", canceled, 10, 50)}, Stopped, false},
		"another one":      {100, []*progressEvent{progressed("x", completed, 10, 10)}, Arriving, false},
		"late events": {
			100, []*progressEvent{progressed("g", canceled, 10, 50), progressed("g", completed, 50, 50)}, Stopped, false,
		},
		"downloads are off": {0, []*progressEvent{progressed("g", completed, 0, 0)}, Stopped, true},
	} {
		t.Run(name, func(t *testing.T) {
			var cancelled []string
			ds := newDownloads("folder", c.limit, nil, func(guid string) { cancelled = append(cancelled, guid) })
			ds.begin("t_1", &browser.EventDownloadWillBegin{GUID: "g", SuggestedFilename: "a.txt", URL: "http://x/a.txt"})
			for _, e := range c.events {
				ds.progress(e)
			}
			all := ds.All()
			if len(all) != 1 || all[0].State != c.want || all[0].Name != "a.txt" || all[0].Tab != "t_1" {
				t.Errorf("the downloads are %+v, want one that is %s", all, c.want)
			}
			if (all[0].Why != "") != (c.want == Stopped) {
				t.Errorf("the reason is %q", all[0].Why)
			}
			if slices.Contains(cancelled, "g") != c.cancelled {
				t.Errorf("the browser was told to cancel %v", cancelled)
			}
		})
	}
}

func TestDownloadsAreBounded(t *testing.T) {
	cancelled := 0
	ds := newDownloads("folder", 100, nil, func(string) { cancelled++ })
	for range maxDownloads + 7 {
		ds.begin("t_1", &browser.EventDownloadWillBegin{GUID: "g"})
	}
	if n := len(ds.All()); n != maxDownloads || cancelled != 7 {
		t.Errorf("%d downloads are kept and %d cancelled", n, cancelled)
	}
}

func TestTakeFinished(t *testing.T) {
	ds := newDownloads("folder", 100, nil, func(string) {})
	for _, guid := range []string{"arriving", "good", "bad"} {
		ds.begin("t_1", &browser.EventDownloadWillBegin{GUID: guid, SuggestedFilename: guid})
	}
	ds.progress(progressed("good", browser.DownloadProgressStateCompleted, 1, 1))
	ds.progress(progressed("bad", browser.DownloadProgressStateCompleted, 1, 1))
	var taken []string
	take := func(d Download, file string) (string, error) {
		taken = append(taken, file)
		if d.Name == "bad" {
			return "", errors.New("no space")
		}
		return "downloads/" + d.Name, nil
	}
	ds.TakeFinished(take)
	ds.TakeFinished(take)
	if want := []string{filepath.Join("folder", "good"), filepath.Join("folder", "bad")}; !slices.Equal(taken, want) {
		t.Errorf("the files %v were taken, want %v", taken, want)
	}
	var states []string
	for _, d := range ds.Changed() {
		states = append(states, d.State+" "+d.Path+d.Why)
	}
	if want := []string{"arriving ", "taken downloads/good", "stopped no space"}; !slices.Equal(states, want) {
		t.Errorf("the states are %q, want %q", states, want)
	}
	if again := ds.Changed(); len(again) != 0 {
		t.Errorf("nothing changed, and %+v is reported again", again)
	}
}

func TestWaitForDownloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		ds := newDownloads("folder", 100, end, func(string) {})
		if err := ds.Wait(t.Context(), "t_1"); err != nil {
			t.Errorf("no download: %v", err)
		}
		began := time.Now()
		if err := ds.waitBegin(t.Context(), "t_1", beginTimeout); err != nil || time.Since(began) != beginTimeout {
			t.Errorf("a download that does not begin: %v after %v", err, time.Since(began))
		}
		go func() {
			<-time.After(100 * time.Millisecond)
			ds.begin("t_2", &browser.EventDownloadWillBegin{GUID: "other"})
			<-time.After(100 * time.Millisecond)
			ds.begin("t_1", &browser.EventDownloadWillBegin{GUID: "g"})
			<-time.After(time.Minute)
			ds.progress(progressed("g", browser.DownloadProgressStateCompleted, 1, 1))
		}()
		began = time.Now()
		if err := ds.waitBegin(t.Context(), "t_1", beginTimeout); err != nil || time.Since(began) != 200*time.Millisecond {
			t.Errorf("a download that begins: %v after %v", err, time.Since(began))
		}
		if err := ds.Wait(t.Context(), "t_1"); err != nil || time.Since(began) < time.Minute {
			t.Errorf("a download that arrives: %v after %v", err, time.Since(began))
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := ds.Wait(short, "t_2"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a download that takes too long: %v", err)
		}
		go ds.close()
		if err := ds.Wait(t.Context(), "t_2"); !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a profile that is closed: %v", err)
		}
		close(end)
		if err := ds.Wait(t.Context(), "t_2"); !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a browser that ended: %v", err)
		}
	})
}
