package element

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/page"

	"callgate/tool"
)

// screen is a page of a size whose pictures have some bytes for each pixel.
func screen(t testing.TB, width, height int, bytes map[page.CaptureScreenshotFormat]float64) *recorder {
	return newRecorder(t, func(m *cdproto.Message) string {
		if m.Method == "Page.getLayoutMetrics" {
			return fmt.Sprintf(`{"cssVisualViewport":{"pageX":0,"pageY":0,"clientWidth":1000,"clientHeight":500},
				"cssContentSize":{"width":%d,"height":%d}}`, width, height)
		}
		var p page.CaptureScreenshotParams
		if err := json.Unmarshal(m.Params, &p); err != nil {
			t.Error(err)
		}
		n := p.Clip.Width * p.Clip.Height * p.Clip.Scale * p.Clip.Scale * bytes[p.Format]
		if p.Quality != nil {
			n *= float64(*p.Quality) / 100
		}
		return `{"data":"` + base64.StdEncoding.EncodeToString(make([]byte, min(int(n), maxBytes+1))) + `"}`
	})
}

func TestScreenshotFitsTheLimits(t *testing.T) {
	const png, jpeg = page.CaptureScreenshotFormatPng, page.CaptureScreenshotFormatJpeg
	for name, c := range map[string]struct {
		full          bool
		format        string
		width, height int
		bytes         map[page.CaptureScreenshotFormat]float64
		want          string
	}{
		"the window":       {false, "", 1000, 3000, map[page.CaptureScreenshotFormat]float64{png: 1}, "image/png 1000x500"},
		"as jpeg":          {false, "jpeg", 1000, 3000, map[page.CaptureScreenshotFormat]float64{jpeg: 1}, "image/jpeg 1000x500"},
		"the page":         {true, "", 1000, 3000, map[page.CaptureScreenshotFormat]float64{png: 1}, "image/png 1000x3000"},
		"too large as png": {true, "", 1000, 4000, map[page.CaptureScreenshotFormat]float64{png: 1, jpeg: 0.5}, "image/jpeg 1000x4000"},
		"coarser":          {true, "", 1000, 4000, map[page.CaptureScreenshotFormat]float64{png: 9, jpeg: 4}, "image/jpeg 500x2000"},
		"never fits":       {true, "", 1000, 4000, map[page.CaptureScreenshotFormat]float64{png: 99, jpeg: 99}, "too large"},
		"cut":              {true, "", 1000, 9000, map[page.CaptureScreenshotFormat]float64{png: 0.1}, "image/png 1000x8000 cut"},
		"scaled":           {true, "", 6000, 8000, map[page.CaptureScreenshotFormat]float64{png: 0.1}, "image/png 3000x4000"},
		"empty":            {true, "", 0, 0, nil, "no size"},
	} {
		t.Run(name, func(t *testing.T) {
			r := screen(t, c.width, c.height, c.bytes)
			shot, err := Screenshot(t.Context(), r.Session, c.full, nil, c.format)
			got := fmt.Sprintf("%s %dx%d", shot.MIME, shot.Width, shot.Height)
			if shot.Cut {
				got += " cut"
			}
			if err != nil {
				got = err.Error()
				if tool.KindOf(err) != tool.Failed {
					t.Errorf("the error is of kind %s", tool.KindOf(err))
				}
			}
			if !strings.Contains(got, c.want) || len(shot.Data) > maxBytes {
				t.Errorf("the picture is %s of %d bytes, want %s", got, len(shot.Data), c.want)
			}
		})
	}
}
