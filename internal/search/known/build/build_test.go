package build_test

import (
	"strings"
	"testing"

	"callgate/internal/search/known/build"
	"callgate/tool"
)

func TestReadOwn(t *testing.T) {
	t.Parallel()
	const good = "git\tlog\tShow the log\ten\twho changed it\ngit\tlog\tShow the log\tde\twer war das\nfs\tread\tRead it\ten\topen it\n"
	tools, err := build.ReadOwn(strings.NewReader(good))
	if err != nil || len(tools) != 2 || len(tools[0].Requests) != 2 || tools[1].Name != "read" {
		t.Errorf("%+v, %v", tools, err)
	}
	for _, bad := range []string{"git\tlog\n", "git\tlog\t\ten\tx\n", "a\tb\tc\td\te\tf\n", "\n", strings.Repeat("x", 1<<17)} {
		if _, err := build.ReadOwn(strings.NewReader(bad)); err == nil {
			t.Errorf("%.20q is read", bad)
		} else if kind := tool.KindOf(err); kind != tool.Invalid && kind != tool.Failed {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}
