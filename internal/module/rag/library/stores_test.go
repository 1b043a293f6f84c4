package library

import (
	"fmt"
	"testing"

	"callgate/internal/module"
	"callgate/tool"
)

// Files that no call uses are closed where many are open, those in use are not, and what was closed
// is opened again.
func TestIdleStoresAreClosed(t *testing.T) {
	t.Parallel()
	s := New(module.Host{State: t.TempDir()})
	t.Cleanup(func() { _ = s.Close() })
	use := func(user int) (*Library, func()) {
		call := tool.Call{Principal: tool.Principal{User: fmt.Sprint(user)}}
		l, release, err := s.For(t.Context(), "rag.test", call, tool.Grant{}, Defaults("rag"), true)
		check(t, err)
		return l, release
	}
	first, release := use(0)
	for user := range 3 * maxOpen {
		l, release := use(user)
		_, err := l.BaseOrNew(t.Context(), "main")
		check(t, err)
		release()
	}
	if _, err := first.Base(t.Context(), "main"); err != nil {
		t.Errorf("a file was closed while it was used: %v", err)
	}
	release()
	if n := len(s.stores); n != maxOpen {
		t.Errorf("%d files are open", n)
	}
	again, release := use(1)
	defer release()
	if _, err := again.Base(t.Context(), "main"); err != nil {
		t.Error(err)
	}
}
