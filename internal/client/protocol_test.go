package client_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// A kernel of an earlier version is named, before anything is asked of it that it would
// not understand: since version 3 a call has an id, which an earlier kernel refuses as
// an unknown field.
func TestKernelOfAnEarlierProtocol(t *testing.T) {
	t.Parallel()
	if protocol.Version < 3 {
		t.Errorf("version %d is that of kernels which know no ids of calls", protocol.Version)
	}
	kernel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"protocol":1,"version":"0.1.0","pid":7}`)
	}))
	t.Cleanup(kernel.Close)
	c := client.New(client.Options{Dial: func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", kernel.Listener.Addr().String())
	}})
	defer c.Close()
	_, err := c.Status(t.Context())
	for _, want := range []string{
		"process 7, version 0.1.0", fmt.Sprintf("speaks protocol 1, this program %d", protocol.Version), "callgate down",
	} {
		if tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %s", err, want)
		}
	}
}
