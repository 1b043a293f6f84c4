package filesystem_test

import (
	"fmt"
	"strings"
	"testing"

	"callgate/tool"
)

const smallNotebook = `{"cells": [
 {"cell_type": "code", "id": "c1", "metadata": {}, "execution_count": 1, "source": ["x = 1\n", "x"],
  "outputs": [{"output_type": "execute_result", "data": {"text/plain": ["1"]}},
   {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo="}}]}
], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
`

func TestNotebooks(t *testing.T) {
	t.Parallel()
	g := inConversation(t)
	g.put("a.ipynb", smallNotebook)
	r := g.call("read", args{"path": "a.ipynb"})
	want := "── cell 1: code, id c1, run 1 ──\nx = 1\nx\n── output:\n1\n── output:\n[picture 1, image/png]\n"
	if len(r.Content) != 2 || r.Content[0].Text != want || r.Content[1].MIME != "image/png" {
		t.Errorf("%+v", r.Content)
	}
	if got := text(g.call("read", args{"path": "a.ipynb", "raw": true, "line_numbers": false})); got != smallNotebook {
		t.Errorf("raw: %s", got)
	}
	g.call("notebook_edit", args{"path": "a.ipynb", "cell_id": "c1", "source": "y = 2\n"})
	g.call("notebook_edit", args{"path": "a.ipynb", "mode": "insert", "cell": 2, "cell_type": "markdown", "source": "# End"})
	if got := text(g.call("read", args{"path": "a.ipynb"})); !strings.Contains(got, "code, id c1 ──\ny = 2\n── cell 2: markdown, id ") ||
		strings.Contains(got, "output") {
		t.Errorf("%s", got)
	}
	g.call("notebook_edit", args{"path": "a.ipynb", "mode": "delete", "cell": 1})
	g.refused(tool.Invalid, "notebook_edit", args{"path": "a.ipynb", "cell": 5, "source": "x"}, "no cell 5", "has 1")
	g.changeOutside("a.ipynb", smallNotebook)
	g.refused(tool.Conflict, "notebook_edit", args{"path": "a.ipynb", "cell": 1, "source": "x"}, "was changed after it was read")
	g.put("broken.ipynb", "{\n")
	if got := text(g.call("read", args{"path": "broken.ipynb"})); got != "     1\t{\n" {
		t.Errorf("a file that is no notebook: %q", got)
	}
	g.refused(tool.Invalid, "notebook_edit", args{"path": "broken.ipynb", "cell": 1}, "as text")
	var cells []string
	for i := range 3000 {
		cells = append(cells, fmt.Sprintf(`{"cell_type":"code","metadata":{},"source":"line %d","outputs":[]}`, i))
	}
	g.put("long.ipynb", `{"cells":[`+strings.Join(cells, ",")+`],"nbformat":4}`)
	if r := g.call("read", args{"path": "long.ipynb"}); r.Cut == nil || r.Cut.Next != "offset=2001" {
		t.Errorf("a long notebook: %+v", r.Cut)
	}
}

func TestPicturesAndVectors(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	for mime, head := range map[string]string{
		"image/png": "\x89PNG\r\n\x1a\n", "image/jpeg": "\xff\xd8\xff\xe0\x00\x10JFIF", "image/gif": "GIF89a\x01\x00\x01\x00",
		"image/webp": "RIFF\x24\x00\x00\x00WEBPVP8 ",
	} {
		g.put("p", head+strings.Repeat("\x00", 100))
		r := g.call("read", args{"path": "p"})
		if len(r.Content) != 1 || r.Content[0].MIME != mime {
			t.Errorf("%s: %+v", mime, r.Content)
		}
	}
	g.put("v.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n")
	if got := text(g.call("read", args{"path": "v.svg"})); !strings.Contains(got, "<svg") {
		t.Errorf("SVG: %q", got)
	}
}
