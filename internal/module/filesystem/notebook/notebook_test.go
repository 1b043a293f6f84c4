package notebook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/module/filesystem/notebook"
)

const file = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "a1",
   "metadata": {},
   "source": [
    "# Title\n",
    "words"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "b2",
   "metadata": {
    "tags": [
     "x<y"
    ]
   },
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "one\n",
      "two\n"
     ]
    },
    {
     "data": {
      "image/png": "iVBORw0KGgo=\n",
      "text/plain": "<Figure>"
     },
     "metadata": {},
     "output_type": "display_data"
    },
    {
     "ename": "ValueError",
     "evalue": "no",
     "output_type": "error",
     "traceback": [
      "\u001b[0;31mValueError\u001b[0m: no"
     ]
    }
   ],
   "source": "print('one')\n"
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func parse(t *testing.T, text string) *notebook.Notebook {
	t.Helper()
	n, err := notebook.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRender(t *testing.T) {
	t.Parallel()
	got, pictures := parse(t, file).Render()
	want := `── cell 1: markdown, id a1 ──
# Title
words
── cell 2: code, id b2, run 3 ──
print('one')
── output:
one
two
── output:
[picture 1, image/png]
── output:
ValueError: no
ValueError: no
`
	if got != want || len(pictures) != 1 || string(pictures[0].Data) != "\x89PNG\r\n\x1a\n" {
		t.Errorf("%s\n%d pictures", got, len(pictures))
	}
	long := strings.Replace(file, `"one\n",`, `"`+strings.Repeat(`word\n`, 10_000)+`",`, 1)
	if got, _ := parse(t, long).Render(); len(got) > 10<<10 || !strings.Contains(got, "bytes of output …]") {
		t.Errorf("a long output is given with %d bytes", len(got))
	}
}

// TestBytes: a file that is not changed is written as it was, and a changed one
// differs in its cell alone.
func TestBytes(t *testing.T) {
	t.Parallel()
	n := parse(t, file)
	same, err := n.Bytes(1 << 20)
	if err != nil || string(same) != file {
		t.Errorf("%v\n%s", err, same)
	}
	n.Replace(1, "a\nb", "")
	n.Insert(1, "## Two", "markdown", "new1")
	n.Delete(0)
	changed, err := n.Bytes(1 << 20)
	if err != nil || !json.Valid(changed) {
		t.Fatal(err)
	}
	again := parse(t, string(changed))
	if len(again.Cells) != 2 || again.Cells[0].Source != "## Two" || again.Cells[0].ID != "new1" ||
		again.Cells[1].Source != "a\nb" || again.Cells[1].Count != 0 || strings.Contains(string(changed), "stdout") {
		t.Errorf("%+v\n%s", again.Cells, changed)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(file))
	f.Add([]byte(`{"cells":[{"source":1,"outputs":[{}]},null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := notebook.Parse(data)
		if err != nil {
			return
		}
		n.Render()
		n.Insert(len(n.Cells), "x", "code", "id")
		n.Replace(len(n.Cells)/2, "z", "")
		n.Replace(0, "y", "markdown")
		out, err := n.Bytes(1 << 20)
		if err != nil || !json.Valid(out) {
			t.Fatalf("%v: %q", err, out)
		}
	})
}
