package callgate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"callgate"
	"callgate/internal/signing"
	"callgate/toolcatalog"
	"callgate/toolcatalog/remote"
)

// A kernel runs the tools of a signed catalog on a server.
func Example_remoteCatalog() {
	secret, err := signing.NewSecret()
	if err != nil {
		panic(err)
	}
	data := []byte(`{"tools": [{"id": "acme:triage@1.0.0", "description": "Decides how urgent a ticket is.",
		"user_template": "Is this urgent?", "model_preference": {"preferred": "offline/offline"}}]}`)
	signature, err := secret.Sign(data, signing.Comment{File: "catalog.json", Time: time.Now()})
	if err != nil {
		panic(err)
	}
	files := map[string][]byte{"/catalog.json": data, "/catalog.json.minisig": signature}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(files[r.URL.Path])
	}))
	defer server.Close()
	state, _ := os.MkdirTemp("", "callgate")
	defer os.RemoveAll(state)
	folder, _ := os.MkdirTemp("", "catalogs")
	defer os.RemoveAll(folder)
	ctx, address, key := context.Background(), server.URL+"/catalog.json", secret.Key().String()

	catalog, err := remote.New(remote.Options{ // callgate/toolcatalog/remote
		URL: address, Keys: []string{key}, Cache: folder,
		Private: []string{"127.0.0.1"}, // only public addresses are reached, and these
	})
	if err != nil {
		panic(err)
	}
	kernel, err := callgate.Open(ctx, callgate.Config{
		State: state, Backends: []toolcatalog.Backend{catalog},
	})
	if err != nil {
		panic(err)
	}
	defer kernel.Close()
	session, err := kernel.OpenSession(ctx, callgate.SessionConfig{Workspace: folder})
	if err != nil {
		panic(err)
	}
	result := session.Call(ctx, "acme:triage@^1", json.RawMessage(`{}`))
	fmt.Println(result.Status, result.Attempts[0].Model, catalog.Warning())
	// Output:
	// success offline/offline <nil>
}
