package devtools

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto"

	"callgate/internal/module/browser/devtools/devtoolstest"
)

// TestConnectionEndsBeforeItsSessions delays the end of a tab's session. The connection is done
// before that session ends.
func TestConnectionEndsBeforeItsSessions(t *testing.T) {
	t.Parallel()
	c := Open(devtoolstest.New(func(*cdproto.Message) []*cdproto.Message { return nil }))
	tab := c.Session("tab")
	tab.mu.Lock() // end of the session waits for it
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c.Close()
	}()
	select {
	case <-c.Done():
	case <-time.After(10 * time.Second):
		t.Error("the connection is not done before the session of its tab ends")
	}
	tab.mu.Unlock()
	<-closed
}
