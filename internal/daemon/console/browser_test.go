package console_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

var update = flag.Bool("update", false, "write the pictures of docs/captures")

// browser is a real browser that looks at a site. What its console complains of fails the test.
type browser struct {
	*site
	ctx context.Context
}

// browse opens a browser at a site.
func browse(s *site) *browser {
	s.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		s.Skip("there is no chromium here")
	}
	ctx, stop := chromedp.NewContext(s.Context(), chromedp.WithAllocatorOptions(
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("hide-scrollbars", true)))
	b := &browser{s, ctx}
	b.do(chromedp.Navigate("about:blank"))
	var listening sync.WaitGroup
	s.Cleanup(func() { stop(); listening.Wait() })
	listening.Go(func() {
		for m, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == "error" {
				s.Errorf("the browser says: %s", m)
			}
		}
	})
	return b
}

// do has the browser do something.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if chromedp.FromContext(b.ctx).Browser == nil {
		ctx = b.ctx // the browser lives as long as the context of the first step
	}
	if err := chromedp.Do(ctx, steps...); err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		b.Fatalf("%v\n%s", err, text)
	}
}

func (b *browser) open(page string) {
	b.Helper()
	b.do(chromedp.Navigate(b.server.URL + page))
}

// sees waits until the page shows a text.
func (b *browser) sees(text string) {
	b.Helper()
	shown, found := "", false
	defer func() {
		if !found {
			b.Logf("the page shows no %q but:\n%s", text, shown)
		}
	}()
	kerneltest.Eventually(b, func() bool {
		shown, _ = chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		found = strings.Contains(shown, text)
		return found
	})
}

func click(sel string) chromedp.Action[chromedp.Void] { return chromedp.Click(chromedp.CSS(sel)) }
func keys(text string) chromedp.Action[chromedp.Void] { return chromedp.KeyEvent(text) }
func seeing(sel string) chromedp.Action[chromedp.Void] {
	return chromedp.WaitVisible(chromedp.CSS(sel))
}

func typed(sel, text string) chromedp.Action[chromedp.Void] {
	return chromedp.SendKeys(chromedp.CSS(sel), text)
}

// size has the browser show pages in a size, in the light or in the dark.
func (b *browser) size(width, height int64, dark bool) {
	b.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do(chromedp.EmulateViewport(width, height))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	kerneltest.OK(b, err)
}

// capture writes a picture of the page into docs/captures, with -update: wide and light, and on
// a phone in the dark.
func (b *browser) capture(name string) {
	b.Helper()
	if !*update {
		return
	}
	for _, look := range []struct {
		name          string
		width, height int64
		dark          bool
	}{{"", 1100, 700, false}, {"-phone", 390, 780, true}} {
		b.size(look.width, look.height, look.dark)
		picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		kerneltest.OK(b, err)
		if len(picture) > 150_000 {
			b.Errorf("the picture of %s%s has %d bytes", name, look.name, len(picture))
		}
		file := filepath.Join("..", "..", "..", "docs", "captures", "console-"+name+look.name+".png")
		kerneltest.OK(b, os.WriteFile(file, picture, 0o644))
	}
	b.size(1100, 700, false)
}

// A person finds a tool in their own language, calls it, is asked, edits, approves, and sees its
// record appear; then denies with a key, and answers two at once.
func TestAPersonAtABrowser(t *testing.T) {
	t.Parallel()
	b := browse(asking(t))
	b.size(1100, 700, false)
	b.open("/tools")
	b.do(typed("#q", "écrire un fichier"))
	b.sees("found")
	b.capture("tools")
	b.do(click(`a[href="/tools/filesystem.write"]`), seeing(`[name="arg.path"]`))
	b.do(typed(`[name="arg.path"]`, "notes.md"), typed(`[name="arg.content"]`, "first\nsecond\n"))
	b.capture("tool")
	b.do(click("form[action^='/tools/'] button.good"))
	b.sees("A human is asked first")
	b.do(click("a[href^='/approvals/']"), seeing("[data-approve]"))
	b.sees("+first")
	b.capture("approval")
	b.do(keys("e"), chromedp.SetValue(chromedp.CSS(`#edit [name="arg.content"]`), "edited\n"), click("#edit button.good"))
	b.sees("approved by ada")
	b.sees("ended: success")
	b.has("notes.md", "edited\n")
	b.capture("call")
	b.open("/approvals")
	b.sees("No call waits")
	asked := b.waiting("filesystem.write", `{"path":"a.txt","content":"live\n"}`)
	b.sees("filesystem.write") // it appears by itself
	b.waiting("filesystem.edit", `{"path":"a.txt","old":"two","new":"zwei"}`)
	b.sees("filesystem.edit")
	b.capture("approvals")
	b.do(keys("j"), keys("d"))
	b.sees("denied")
	b.has("a.txt", "one\ntwo\n")
	if a, err := b.Approval(t.Context(), asked.Approval); err != nil || a.State != "denied" {
		t.Errorf("it is %s, %v", a.State, err)
	}
	b.open("/")
	b.sees("filesystem.edit")
	b.capture("now")
	b.open("/journal")
	b.sees("filesystem.write")
	if got := b.call("filesystem.read", `{"path":"a.txt"}`); got.Status != tool.Success {
		t.Error(got.Summary)
	}
	b.sees("filesystem.read")
	b.capture("journal")
	b.open("/plan")
	b.capture("plan")
	b.open("/stats")
	b.sees("Put right")
	b.capture("stats")
	b.do(click(`nav a[href="/docs"]`), seeing(".manual"))
	b.do(click(`a[href="/docs/concepts"]`))
	b.sees("Four laws")
	b.capture("docs")
}

// The theme is that of the system until the person changes it, and no page is wider than a phone.
func TestLightDarkAndAPhone(t *testing.T) {
	t.Parallel()
	b := browse(asking(t))
	b.waiting("filesystem.write", `{"path":"a.txt","content":"`+strings.Repeat("long", 200)+`"}`)
	ground := func() string {
		color, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("getComputedStyle(document.body).backgroundColor"))
		kerneltest.OK(t, err)
		return color
	}
	b.size(390, 800, true)
	b.open("/")
	dark := ground()
	b.do(click("[data-theme-switch]"))
	if light := ground(); light == dark {
		t.Errorf("it stays %s", dark)
	}
	for _, page := range []string{"/", "/approvals", "/tools", "/tools/filesystem.edit", "/journal", "/plan", "/servers", "/work", "/nodes", "/rules", "/models", "/stats",
		"/docs", "/docs/cookbook", "/docs/MCP", "/docs/PERFORMANCE"} {
		b.open(page)
		over, err := chromedp.Run(b.ctx, chromedp.Evaluate[int]("document.documentElement.scrollWidth - innerWidth"))
		kerneltest.OK(t, err)
		if over > 0 {
			t.Errorf("%s is %d pixels wider than the phone", page, over)
		}
	}
}
