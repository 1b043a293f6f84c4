package provider_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"callgate/internal/provider"
	"callgate/internal/provider/budget"
	"callgate/llm"
)

// charged has a model's requests take a hundred tokens each from an account with room for one.
func charged(m llm.Model) *budget.Model {
	return &budget.Model{
		Model: m, Ledger: &budget.Ledger{}, Provider: "openai", Name: "gpt-4o",
		Accounts: []budget.Account{{Name: "a", Label: "a", Budget: budget.Budget{Total: budget.Limit{Tokens: 150}}}},
		Estimate: func(llm.Request) llm.Usage { return llm.Usage{Input: 60, Output: 40} },
	}
}

// twice asks twice, and says whether the second request had room.
func twice(ctx context.Context, t *testing.T, m llm.Model, want llm.Kind) {
	t.Helper()
	for range 2 {
		_, err := m.Generate(ctx, ask, nil)
		if errors.As(err, new(*budget.Refusal)) {
			t.Fatalf("a request that was not sent is charged: %v", err)
		}
		if e := asError(t, err); e.Kind != want {
			t.Fatalf("error %+v, want one of the kind %s", e, want)
		}
	}
}

// TestUnsentCostsNothing charges nothing for a request that nobody was sent: there was no connection, or
// its caller went away while it waited for its turn.
func TestUnsentCostsNothing(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, url string) llm.Model {
		m, _, err := provider.New(provider.Config{
			Provider: "openai", Model: "gpt-4o", Key: "k", BaseURL: url, Env: env(),
			Retry: provider.Retry{Attempts: 1}, MaxConcurrent: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	t.Run("no connection", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		_ = listener.Close()
		twice(t.Context(), t, charged(open(t, "http://"+address+"/v1")), llm.Unavailable)
	})
	t.Run("cancelled while it waits", func(t *testing.T) {
		arrived, release := make(chan struct{}), make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(arrived)
			<-release
			http.Error(w, "{}", http.StatusBadRequest)
		}))
		defer s.Close()
		defer close(release) // before the server waits for its requests
		m := open(t, s.URL+"/v1")
		go func() { _, _ = m.Generate(context.Background(), ask, nil) }()
		<-arrived // the one slot is taken
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		twice(gone, t, charged(m), llm.Cancelled)
	})
}
