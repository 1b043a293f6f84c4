package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"

	"callgate/internal/search/eval"
	"callgate/tool"
)

// Measures of the picture, in pixels. Bars are horizontal, one set below the
// other, so that there is room for long names and many sets.
const (
	picWidth   = 860
	picMargin  = 24
	picLabels  = 250 // where the bars begin
	picPlot    = 530 // how long a bar of 1 is
	barHeight  = 15
	barStep    = 18 // from a bar to the next of its set
	setGap     = 18 // between sets
	legendStep = 20
	legendFrom = 64 // the first line of the legend
)

// palette is a set of colours that people with a colour vision deficiency can
// tell apart.
func palette() []string {
	return []string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#666666", "#b8a800"}
}

// writeSVG draws nDCG@10 of each set and engine as one self-contained picture.
// Reports without scored queries are left out. It fails when no report is left,
// when there are more engines than colours, or when a value is not a mean.
func writeSVG(w io.Writer, reports []eval.Named) error {
	var scored []eval.Named
	var engines []string
	for _, r := range eval.Grouped(reports) {
		if r.N == 0 {
			continue
		}
		if math.IsNaN(r.NDCG10) || r.NDCG10 < 0 || r.NDCG10 > 1+1e-9 {
			return tool.Errorf(op, tool.Invalid, "nDCG@10 of %s on %s is %g, and must lie between 0 and 1",
				r.Engine, r.Set, r.NDCG10).WithHint("draw reports that callgate bench search wrote")
		}
		scored = append(scored, r)
		if !slices.Contains(engines, r.Engine) {
			engines = append(engines, r.Engine)
		}
	}
	if len(scored) == 0 {
		return tool.Errorf(op, tool.Invalid, "there is nothing to draw").WithHint("give a set that has queries and labels")
	}
	if len(engines) > len(palette()) {
		return tool.Errorf(op, tool.Invalid, "%d engines are more than the %d colours", len(engines), len(palette())).
			WithHint("draw fewer engines in one picture")
	}
	var p picture
	p.draw(scored, engines)
	_, err := p.WriteTo(w)
	return err
}

// picture is the text of the SVG.
type picture struct{ bytes.Buffer }

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(&p.Buffer, format+"\n", args...) }

func (p *picture) draw(reports []eval.Named, engines []string) {
	places, lines := legend(engines)
	top := legendFrom + lines*legendStep + 26
	bottom := top
	for i, r := range reports {
		if i == 0 || reports[i-1].Set != r.Set {
			bottom += setGap
		}
		bottom += barStep
	}
	height := bottom + 18 + picMargin
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" `+
		`font-family="system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif">`,
		picWidth, height, picWidth, height)
	p.printf(`<title>Tool search: nDCG@10 by set and engine</title>`)
	p.printf(`<rect width="%d" height="%d" fill="#ffffff"/>`, picWidth, height)
	p.text(picMargin, 34, `font-size="18" font-weight="600" fill="#1a1a1a"`, "Is the right tool on top?")
	p.text(picMargin, 54, `font-size="12" fill="#666666"`, "nDCG@10 of each set; 1 is a perfect order")
	for i, e := range engines {
		x, y := places[i].x, legendFrom+places[i].line*legendStep
		p.printf(`<rect x="%d" y="%d" width="12" height="12" rx="2" fill="%s"/>`, x, y+4, palette()[i])
		p.text(x+18, y+14, `font-size="12" fill="#1a1a1a"`, clip(e, 12, 300))
	}
	p.axis(top, bottom)
	p.bars(top, reports, engines)
	p.printf(`</svg>`)
}

// axis draws the grid, and its numbers above and below it.
func (p *picture) axis(top, bottom int) {
	for i := range 6 {
		x := picLabels + picPlot*i/5
		colour := "#e6e6e6"
		if i == 0 {
			colour = "#999999"
		}
		p.printf(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s"/>`, x, top, x, bottom+8, colour)
		for _, y := range []int{top - 6, bottom + 22} {
			p.text(x, y, `font-size="11" fill="#666666" text-anchor="middle"`, fmt.Sprintf("%.1f", float64(i)/5))
		}
	}
}

// bars draws the sets one below the other, the best of each in bold.
func (p *picture) bars(top int, reports []eval.Named, engines []string) {
	y := top
	for from := 0; from < len(reports); {
		to, best := from, 0.0
		for to < len(reports) && reports[to].Set == reports[from].Set {
			best = max(best, reports[to].NDCG10)
			to++
		}
		y += setGap
		of := reports[from:to]
		middle := y + (len(of)*barStep-(barStep-barHeight))/2
		p.setLabel(middle, of[0])
		for _, r := range of {
			value := fmt.Sprintf("%.3f", r.NDCG10)
			weight := "400"
			if len(of) > 1 && value == fmt.Sprintf("%.3f", best) {
				weight = "700"
			}
			long := r.NDCG10 * picPlot
			colour := palette()[slices.Index(engines, r.Engine)]
			p.printf(`<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`, picLabels, y, long, barHeight, colour)
			p.text(picLabels+int(long)+6, y+12, `font-size="11" fill="#1a1a1a" stroke="#ffffff" stroke-width="3" `+
				`paint-order="stroke" font-weight="`+weight+`"`, value)
			y += barStep
		}
		from = to
	}
}

// setLabel names a set beside the middle of its bars.
func (p *picture) setLabel(middle int, r eval.Named) {
	const room = picLabels - picMargin - 10
	p.text(picLabels-10, middle-1, `font-size="13" fill="#1a1a1a" text-anchor="end"`, clip(r.Set, 13, room))
	noun := "queries"
	if r.N == 1 {
		noun = "query"
	}
	count := fmt.Sprintf("%s %s", thousands(r.N), noun)
	p.text(picLabels-10, middle+12, `font-size="10" fill="#808080" text-anchor="end"`, count)
}

// text writes words, escaped.
func (p *picture) text(x, y int, attrs, words string) {
	fmt.Fprintf(&p.Buffer, `<text x="%d" y="%d" %s>`, x, y, attrs)
	xml.EscapeText(&p.Buffer, []byte(eval.OneLine(words))) // a Buffer does not fail
	p.printf(`</text>`)
}

// spot is the position of an engine in the legend.
type spot struct{ x, line int }

// legend places the engines from left to right, in as many lines as they need.
func legend(engines []string) ([]spot, int) {
	places := make([]spot, len(engines))
	x, line := picMargin, 0
	for i, e := range engines {
		wide := 18 + int(textWidth(clip(e, 12, 300), 12)) + 22
		if x > picMargin && x+wide > picWidth-picMargin {
			x, line = picMargin, line+1
		}
		places[i] = spot{x, line}
		x += wide
	}
	return places, line + 1
}

// textWidth estimates the width of drawn text, rather too wide than too narrow:
// the font is not known.
func textWidth(words string, size float64) float64 {
	wide := 0.0
	for _, r := range words {
		switch {
		case r >= 0x1100:
			wide += size
		case r == 'm' || r == 'w' || r >= 'A' && r <= 'Z' || r == '@' || r == '%':
			wide += size * 0.85
		case r == 'i' || r == 'l' || r == 'j' || r == '.' || r == '\'' || r == '|':
			wide += size * 0.35
		default:
			wide += size * 0.6
		}
	}
	return wide
}

// clip shortens text to a width, with an ellipsis.
func clip(words string, size, room float64) string {
	if textWidth(words, size) <= room {
		return words
	}
	runes := []rune(words)
	for len(runes) > 0 && textWidth(string(runes)+"…", size) > room {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// thousands writes n with commas.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
