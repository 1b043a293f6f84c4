package element

import (
	"context"
	"math"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	cdpage "github.com/chromedp/cdproto/page"

	"callgate/internal/module/browser/devtools"
	"callgate/tool"
)

// Shot is a picture of a page.
type Shot struct {
	MIME          string
	Data          []byte
	Width, Height int
	Cut           bool // the page is larger
}

const (
	// The limits of the strictest model API.
	maxBytes  = 3_500_000
	maxSide   = 8_000 // pixels
	maxPixels = 12_000_000
)

// Screenshot takes a picture of what the window shows, of the whole page, or of an
// element.
func Screenshot(ctx context.Context, s *devtools.Session, full bool, el *Element, format string) (Shot, error) {
	m, err := devtools.Call(ctx, s, cdpage.GetLayoutMetrics, cdp.Empty{})
	if err != nil {
		return Shot{}, err
	}
	view := m.CSSVisualViewport
	clip := cdpage.Viewport{X: view.PageX, Y: view.PageY, Width: view.ClientWidth, Height: view.ClientHeight, Scale: 1}
	if full {
		clip = cdpage.Viewport{Width: m.CSSContentSize.Width, Height: m.CSSContentSize.Height, Scale: 1}
	}
	if el != nil {
		if clip, err = el.box(ctx, view.PageX, view.PageY); err != nil {
			return Shot{}, err
		}
	}
	shot := Shot{Cut: clip.Height > maxSide || clip.Width > maxSide}
	clip.Width, clip.Height = math.Ceil(min(clip.Width, maxSide)), math.Ceil(min(clip.Height, maxSide))
	if clip.Width < 1 || clip.Height < 1 {
		return Shot{}, tool.Errorf(op, tool.Failed, "there is nothing to see: it has no size")
	}
	if n := clip.Width * clip.Height; n > maxPixels {
		clip.Scale = math.Sqrt(maxPixels / n)
	}
	shot.Width, shot.Height = int(clip.Width*clip.Scale), int(clip.Height*clip.Scale)
	return shot, shot.capture(ctx, s, clip, format)
}

// capture takes the picture, and again with less quality while it is too large.
func (shot *Shot) capture(ctx context.Context, s *devtools.Session, clip cdpage.Viewport, format string) error {
	type attempt struct {
		format  cdpage.CaptureScreenshotFormat
		quality int64
		scale   float64
	}
	const jpeg, png = cdpage.CaptureScreenshotFormatJpeg, cdpage.CaptureScreenshotFormatPng
	attempts := []attempt{{jpeg, 80, 1}, {jpeg, 60, 1}, {jpeg, 60, 0.5}, {jpeg, 40, 0.25}}
	if format != "jpeg" {
		attempts = append([]attempt{{png, 0, 1}}, attempts...)
	}
	for _, a := range attempts {
		at := clip
		at.Scale *= a.scale
		p := cdpage.CaptureScreenshotParams{Format: a.format, Clip: &at, CaptureBeyondViewport: new(true)}
		if a.quality > 0 {
			p.Quality = new(a.quality)
		}
		got, err := devtools.Call(ctx, s, cdpage.CaptureScreenshot, p)
		if err != nil {
			return err
		}
		if len(got.Data) <= maxBytes {
			shot.MIME, shot.Data = "image/"+string(a.format), got.Data
			shot.Width, shot.Height = int(clip.Width*at.Scale), int(clip.Height*at.Scale)
			return nil
		}
	}
	return tool.Errorf(op, tool.Failed, "the picture is too large").
		WithHint("take one of an element, or without full_page")
}

// box scrolls the element into view and returns its place on the page.
func (e *Element) box(ctx context.Context, scrollX, scrollY float64) (cdpage.Viewport, error) {
	var state string
	if err := e.run(ctx, "ready", &state, true); err != nil {
		return cdpage.Viewport{}, err
	}
	switch state {
	case "stale":
		return cdpage.Viewport{}, Stale(e.What)
	case "hidden":
		return cdpage.Viewport{}, e.obstructed(state)
	}
	// The page may have scrolled.
	m, err := devtools.Call(ctx, e.page, cdpage.GetLayoutMetrics, cdp.Empty{})
	if err == nil {
		scrollX, scrollY = m.CSSVisualViewport.PageX, m.CSSVisualViewport.PageY
	}
	box, err := devtools.Call(ctx, e.frame.Session, dom.GetBoxModel, dom.GetBoxModelParams{ObjectID: e.object})
	if err != nil {
		return cdpage.Viewport{}, err
	}
	x, y, err := e.all.Offset(ctx, e.frame)
	q := box.Model.Border
	left, right := min(q[0], q[2], q[4], q[6]), max(q[0], q[2], q[4], q[6])
	top, bottom := min(q[1], q[3], q[5], q[7]), max(q[1], q[3], q[5], q[7])
	return cdpage.Viewport{
		X: left + x + scrollX, Y: top + y + scrollY, Width: right - left, Height: bottom - top, Scale: 1,
	}, err
}
