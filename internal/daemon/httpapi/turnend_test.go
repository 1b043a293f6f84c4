package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
)

// TestTurnWritesNothingAfterItsRequest asks for an approval after the request of a turn has ended, as a
// background call of the turn may. A write to the response then is a panic of the HTTP server.
func TestTurnWritesNothingAfterItsRequest(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: {provider: offline}}]\n")
	c := kerneltest.OpenConversation(t, k, folder)
	defer c.Close()
	routes := &conversationRoutes{&api{kernel: k, Lifecycle: Lifecycle{Context: t.Context()}}}
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	var asked func(approval.Request)
	err := routes.turn(w, r, c, func(_ context.Context, watch conversation.Watch) (history.End, error) {
		asked = watch.Asked
		asked(approval.Request{ID: "early", State: approval.Pending})
		return history.End{Reason: history.Done}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	written := w.Body.Len()
	if written == 0 {
		t.Fatal("the turn wrote nothing")
	}
	asked(approval.Request{ID: "late", State: approval.Pending})
	if late := w.Body.String()[written:]; late != "" {
		t.Errorf("after the end of the request: %s", late)
	}
}
