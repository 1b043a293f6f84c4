package browser_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/gate/binding"
	"callgate/internal/gate/lock"
	"callgate/internal/module"
	"callgate/internal/module/browser"
	"callgate/tool"
)

// Calls of one answer on the same tab come in the model's order: to the page, then
// read it. Looking twice, and other tabs, need none.
func TestCallsOnOneTabAreInOrder(t *testing.T) {
	t.Parallel()
	opened, err := browser.Module().Open(module.Host{})
	check(t, err)
	t.Cleanup(func() { check(t, opened.Close()) })
	tools := map[string]*tool.Tool{}
	for _, one := range opened.Tools {
		tools[one.ID.Name] = one
	}
	folder := t.TempDir()
	claims := func(call string) []tool.Claim {
		name, args, _ := strings.Cut(call, " ")
		bound, err := binding.Claims(folder, tools[name].Runtime.Effects, json.RawMessage(args))
		check(t, err)
		return bound
	}
	for _, c := range []struct {
		first, second string
		want          bool
	}{
		{`navigate {"url":"http://a"}`, `read {}`, true},
		{`navigate {"url":"http://a"}`, `navigate {"url":"http://b"}`, true},
		{`click {"text":"Next"}`, `wait {"text":"done"}`, true},
		{`wait {"text":"done"}`, `read {}`, true},
		{`back {}`, `screenshot {}`, true},
		{`click {"text":"Next","tab":"t1"}`, `read {"tab":"t1"}`, true},
		{`navigate {"url":"http://a","tab":"t1"}`, `read {}`, true}, // it may be the current one
		{`tabs {"switch":true,"tab":"t1"}`, `read {}`, true},
		{`close {}`, `tabs {}`, true},
		{`read {}`, `click {"text":"Next"}`, true},
		{`read {}`, `screenshot {}`, false},
		{`navigate {"url":"http://a","tab":"t1"}`, `read {"tab":"t2"}`, false},
	} {
		if got := lock.Meets(claims(c.first), claims(c.second)); got != c.want {
			t.Errorf("%s, then %s: %v", c.first, c.second, got)
		}
	}
	upload := claims(`type {"selector":"input","files":["a.txt"]}`)
	made := []tool.Claim{{Resource: binding.FileResource(folder + "/a.txt"), Mode: tool.U}}
	if !lock.Meets(made, upload) {
		t.Errorf("a file that was just written is uploaded as it was: %v", upload)
	}
}
