package httpapi_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/client"
	"callgate/internal/daemon/httpapi"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
	"callgate/tool"
)

// The secret store over the protocol: with the human's key, and with nothing
// less; and no answer ever holds a value.
func TestSecrets(t *testing.T) {
	t.Setenv("CALLGATE_KEYRING", "off")
	const value = "never-in-an-answer\x00\xff"
	k, err := kernel.Open(t.Context(), kernel.Config{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	api := httpapi.New(k, httpapi.Lifecycle{Context: t.Context(), Stop: func() {}, MCPClients: new(atomic.Int64)})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := httptest.NewRecorder()
		api.ServeHTTP(said, r)
		if strings.Contains(said.Body.String(), value[:10]) {
			t.Errorf("%s %s answers %s", r.Method, r.URL, said.Body)
		}
		w.WriteHeader(said.Code)
		_, _ = io.Copy(w, said.Body)
	}))
	defer server.Close()
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	key, err := k.State().HumanKey()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, key := range []string{"", "guessed-key-guessed-key"} {
		c := client.New(client.Options{Dial: dial, HumanKey: key})
		_, listed := c.Secrets().List(ctx)
		for what, err := range map[string]error{
			"list":   listed,
			"set":    c.Secrets().Set(ctx, "A", protocol.SetSecret{Value: []byte(value)}),
			"delete": c.Secrets().Delete(ctx, "A", protocol.DeleteSecret{}),
		} {
			if tool.KindOf(err) != tool.Denied {
				t.Errorf("%s with the key %q: %v", what, key, err)
			}
		}
		c.Close()
	}
	c := client.New(client.Options{Dial: dial, HumanKey: key})
	defer c.Close()
	if err := c.Secrets().Set(ctx, "A", protocol.SetSecret{Value: []byte(value), By: "ada"}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"no name", "a/b", "..", "%2e"} {
		if err := c.Secrets().Set(ctx, bad, protocol.SetSecret{Value: []byte(value)}); err == nil {
			t.Errorf("%q was set", bad)
		}
	}
	list, err := c.Secrets().List(ctx)
	if err != nil || !strings.Contains(names(list), " A ") {
		t.Errorf("listed %v, %v", list, err)
	}
	if err := c.Secrets().Delete(ctx, "A", protocol.DeleteSecret{By: "ada"}); err != nil {
		t.Error(err)
	}
	if err := c.Secrets().Delete(ctx, "A", protocol.DeleteSecret{}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

func names(list []protocol.Secret) string {
	text := " "
	for _, s := range list {
		text += s.Name + " "
	}
	return text
}
