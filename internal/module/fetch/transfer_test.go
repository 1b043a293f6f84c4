package fetch_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/module/fetch"
	"callgate/tool"
)

// advance moves the clock of a bubble, and waits until all that was due then has
// happened.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// A transfer ends when nothing moves for the limit, however long it takes.
func TestTransferEndsWhenNothingMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, transfer, stop := fetch.NewTransfer(t.Context(), tool.Grant{}, "sent", time.Minute)
		defer stop()
		r := transfer.TouchReader(strings.NewReader(strings.Repeat("x", 100)))
		for range 100 {
			advance(50 * time.Second)
			if _, err := r.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		transfer.SetPosition(0, -1)
		advance(59 * time.Second)
		if ctx.Err() != nil {
			t.Fatalf("it ended before its limit: %v", context.Cause(ctx))
		}
		<-ctx.Done()
		got := fetch.Call{Op: "demo.get"}.Failure(ctx, "host", ctx.Err(), time.Minute)
		if got.Kind != tool.Timeout || !strings.Contains(got.Message, "nothing came from or went to host for 60 seconds") {
			t.Errorf("it ended with %v", got)
		}
	})
}

// Progress is reported at once, and then twice a second.
func TestTransferReportsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var output bytes.Buffer
		grant := tool.Grant{Emit: func(_ string, chunk []byte) { output.Write(chunk) }}
		_, transfer, stop := fetch.NewTransfer(t.Context(), grant, "sent", time.Minute)
		defer stop()
		r := transfer.Reader(strings.NewReader(strings.Repeat("x", 10<<10)))
		read := func() {
			if _, err := io.CopyN(io.Discard, r, 1<<10); err != nil {
				t.Fatal(err)
			}
		}
		read()
		transfer.SetPosition(1<<10, 10<<10)
		for range 9 {
			advance(200 * time.Millisecond)
			read()
		}
		want := "sent 1.0 KiB\nsent 4.0 KiB of 10.0 KiB (40 %)\nsent 7.0 KiB of 10.0 KiB (70 %)\nsent 10.0 KiB of 10.0 KiB (100 %)\n"
		if output.String() != want {
			t.Errorf("the reports are %q", output.String())
		}
	})
}
