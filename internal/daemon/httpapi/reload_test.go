package httpapi_test

import (
	"context"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/client"
	"callgate/internal/daemon/httpapi"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/protocol/operations"
	"callgate/tool"
)

// A reload needs the human's key, as whatever changes the rules does; a dry run needs nothing.
func TestReloadNeedsAuthority(t *testing.T) {
	t.Setenv("CALLGATE_KEYRING", "off")
	k, err := kernel.Open(t.Context(), kernel.Config{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	api := httpapi.New(k, httpapi.Lifecycle{Context: t.Context(), Stop: func() {}, MCPClients: new(atomic.Int64)})
	server := httptest.NewServer(api)
	defer server.Close()
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	key, err := k.State().HumanKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key  string
		dry  bool
		kind tool.Kind
	}{
		{"", false, tool.Denied}, {"guessed-key-guessed-key", false, tool.Denied}, {"", true, ""}, {key, false, ""},
	} {
		one := client.New(client.Options{Dial: dial, HumanKey: c.key})
		_, err := client.Reload(t.Context(), one, operations.Reload{DryRun: c.dry, By: "ada"})
		one.Close()
		if c.kind == "" && err != nil || c.kind != "" && tool.KindOf(err) != c.kind {
			t.Errorf("with the key %q, dry %v: %v", c.key, c.dry, err)
		}
	}
	records, err := k.Journal.Read(t.Context(), journal.Query{Kind: journal.Noted})
	if err != nil || len(records) != 1 || !strings.Contains(records[0].Note, "read again by ada") {
		t.Errorf("on record: %+v, %v", records, err)
	}
}
