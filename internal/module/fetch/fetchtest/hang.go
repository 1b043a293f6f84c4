package fetchtest

import (
	"io"
	"net/http"
	"testing"
)

// Hang is a server that takes requests and never ends an answer; begin, if it is not empty, is what it says of the
// kind first. The test ends only when every client has given up.
func Hang(t testing.TB, kind, begin string) (url string) {
	t.Helper()
	return Serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if begin != "" {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, begin)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}).URL
}
