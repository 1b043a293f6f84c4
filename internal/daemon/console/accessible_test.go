package console_test

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"callgate/internal/kernel/kerneltest"
)

// axeRun has axe-core look at a page, and says what it finds wrong.
const axeRun = `axe.run().then(r => r.passes.length < 10 ? "only " + r.passes.length + " rules were checked" :
	r.violations.map(v => v.id + ": " + v.nodes.map(n => n.target + " " + n.failureSummary).join(" | ")).join("\n"))`

// Labels, contrast, roles and focus are as axe-core wants them, in the light and in the dark. It
// is no part of this program: CALLGATE_AXE names its file, axe.min.js of the npm package.
func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	file := os.Getenv("CALLGATE_AXE")
	if file == "" {
		t.Skip("axe-core is not installed: scripts/npm.sh axe")
	}
	source, err := os.ReadFile(file)
	kerneltest.OK(t, err)
	b := browse(asking(t))
	asked := b.waiting("filesystem.write", `{"path":"a.txt","content":"x\ny\n"}`)
	for _, dark := range []bool{false, true} {
		b.size(1100, 700, dark)
		for _, page := range []string{
			"/", "/approvals", "/approvals/" + asked.Approval, "/tools", "/tools/filesystem.edit", "/journal",
			"/calls/" + asked.Call, "/plan", "/servers", "/work", "/nodes", "/rules", "/models", "/stats", "/conversations",
			"/docs", "/docs/concepts", "/docs/cookbook",
		} {
			b.open(page)
			b.sees("Callgate")
			_, err := chromedp.Run(b.ctx, chromedp.Evaluate[chromedp.Void](string(source)+";0"))
			kerneltest.OK(t, err)
			found, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](axeRun, chromedp.EvalAwaitPromise))
			kerneltest.OK(t, err)
			if found != "" {
				t.Errorf("%s, dark %v: %s", page, dark, found)
			}
		}
	}
}
