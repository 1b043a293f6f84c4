package langserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// What a server says of files without being asked is kept within a bound.
func TestPublishedIsBounded(t *testing.T) {
	t.Parallel()
	s := &Server{published: map[string]published{}, news: make(chan struct{})}
	tell := func(file int, diagnostics string) {
		s.publish(json.RawMessage(fmt.Sprintf(`{"uri":"file:///%d.go","diagnostics":%s}`, file, diagnostics)))
	}
	many := "[" + strings.Repeat("{},", 100_000) + "{}]"
	tell(0, many)
	if got := s.published["file:///0.go"].items; len(got) != maxDiagnostics || cap(got) > 2*maxDiagnostics {
		t.Errorf("%d diagnostics are kept, in room for %d", len(got), cap(got))
	}
	long := `[{"message":"` + strings.Repeat("x", 1<<20) + `"}]`
	for i := range 40 {
		tell(i, long)
	}
	if s.kept > maxBytes || len(s.published) < 20 || len(s.published) > 32 {
		t.Errorf("%d bytes of %d files are kept", s.kept, len(s.published))
	}
	for i := range 40 {
		tell(i, "null")
	}
	if len(s.published) != 40 || s.kept > 1<<20 {
		t.Errorf("%d bytes of %d files are kept", s.kept, len(s.published))
	}
}
