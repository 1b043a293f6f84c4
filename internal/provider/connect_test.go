package provider_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"callgate/internal/provider"
	"callgate/llm"
)

// TestConnectTimeout gives up on a server that takes a connection and says nothing, and does not try again.
func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan net.Conn, 8)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				close(came)
				return
			}
			came <- conn
		}
	}()
	m, _, err := provider.New(provider.Config{
		Provider: "openai", Model: "gpt-4o", Key: "k", BaseURL: "https://" + listener.Addr().String() + "/v1", Env: env(),
		ConnectTimeout: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Generate(t.Context(), ask, nil)
	if e := asError(t, err); e.Kind != llm.Timeout || !strings.Contains(e.Message, "no connection in time: 100ms were over") {
		t.Errorf("error %+v", e)
	}
	first := <-came // the connection may still wait to be taken, and closing the listener would drop it
	_ = listener.Close()
	_ = first.Close()
	tries := 1
	for conn := range came {
		tries++
		_ = conn.Close()
	}
	if tries != 1 {
		t.Errorf("it tried %d times", tries)
	}
}
