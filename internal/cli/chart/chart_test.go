package chart_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/cli/chart"
	"callgate/internal/protocol"
)

func TestTable(t *testing.T) {
	p := sixtyTools(60_000)
	var b strings.Builder
	if err := chart.Table(&b, p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mode       " + p.Mode, "60000 tokens (app)", "12000 tokens", p.Reason, p.WouldChange[0], "not found  no.such", "OF BUDGET", "  shown", "mod59.tool", "… and 40 tools more, all smaller"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := chart.Table(&b, &protocol.Surface{}); err != nil || strings.Contains(b.String(), "TOOL ") {
		t.Errorf("the table of nothing: %v\n%s", err, b.String())
	}
}

func TestBars(t *testing.T) {
	for _, window := range []int{5, 2_000, 60_000, 1_000_000} {
		p := sixtyTools(window)
		for _, width := range []int{-1, 0, 30, 72, 120} {
			var plain, full strings.Builder
			if err := errors.Join(chart.ASCIIBars(&plain, p, width), chart.Bars(&full, p, width)); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(full.String(), "\n"), "\n")
			if len(lines) != 4 || strings.Count(full.String(), "◀") != 1 || !strings.Contains(lines[3], "budget") {
				t.Errorf("%d wide:\n%s", width, full.String())
			}
			limit := width
			if width <= 0 {
				limit = 72
			}
			for i, line := range strings.Split(plain.String(), "\n") {
				if utf8.RuneCountInString(line) != len(line) || len(line) > max(limit, 37) {
					t.Errorf("the ASCII line %d is %d wide of %d: %q", i, len(line), limit, line)
				}
				if i < 3 && strings.Count(line, "|") != 1 {
					t.Errorf("the budget is not marked: %q", line)
				}
			}
		}
	}
}

func TestSVG(t *testing.T) {
	p := sixtyTools(60_000)
	var b strings.Builder
	if err := chart.SVG(&b, p); err != nil {
		t.Fatal(err)
	}
	rects := 0
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
			rects++
		}
	}
	if rects != 4 || !strings.Contains(b.String(), "budget 12000") || strings.Contains(b.String(), "%!") ||
		strings.Contains(b.String(), "href") {
		t.Errorf("%d rectangles in\n%s", rects, b.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestPicturesReportAWriterThatFails(t *testing.T) {
	p := &protocol.Surface{}
	for name, err := range map[string]error{"table": chart.Table(broken{}, p), "bars": chart.Bars(broken{}, p, 0), "ascii": chart.ASCIIBars(broken{}, p, 0), "svg": chart.SVG(broken{}, p)} {
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// sixtyTools is the surface of sixty tools in a window.
func sixtyTools(window int) *protocol.Surface {
	p := &protocol.Surface{
		Mode: "discovery", Window: window, WindowFrom: "app", Budget: window / 5, CompactTokens: 1_800, DiscoveryTokens: 700,
		ShownTokens: 700, Reason: "they do not fit", WouldChange: []string{"a larger window"}, Unmatched: []string{"no.such"},
		Shown: []protocol.SurfaceTool{{Name: "search_tools"}},
	}
	for i := range 60 {
		p.PerTool = append(p.PerTool, protocol.ToolCost{Name: fmt.Sprintf("mod%d.tool", i), Tokens: 100 + i})
		p.ToolTokens += 100 + i
	}
	return p
}
