package document_test

import (
	"strings"
	"testing"

	"callgate/internal/document"
	"callgate/tool"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		changes []document.Change
		want    tool.Kind // "": it may be written
	}{
		"nothing":              {nil, ""},
		"one":                  {[]document.Change{{Collection: "a", Key: "b", Data: []byte("x")}}, ""},
		"the same key twice":   {[]document.Change{{Collection: "a", Key: "b"}, {Collection: "a", Key: "b"}}, tool.Invalid},
		"two collections":      {[]document.Change{{Collection: "a", Key: "b"}, {Collection: "b", Key: "b"}}, ""},
		"names that only meet": {[]document.Change{{Collection: "a/b", Key: "c"}, {Collection: "a", Key: "b/c"}}, ""},
		"no collection":        {[]document.Change{{Key: "b"}}, tool.Invalid},
		"no key":               {[]document.Change{{Collection: "a"}}, tool.Invalid},
		"a NUL":                {[]document.Change{{Collection: "a", Key: "b\x00"}}, tool.Invalid},
		"not UTF-8":            {[]document.Change{{Collection: "a", Key: "\xff"}}, tool.Invalid},
		"a long key":           {[]document.Change{{Collection: "a", Key: strings.Repeat("x", document.MaxName)}}, ""},
		"too long a key":       {[]document.Change{{Collection: "a", Key: strings.Repeat("x", document.MaxName+1)}}, tool.Invalid},
		"a version below none": {[]document.Change{{Collection: "a", Key: "b", If: -1}}, tool.Invalid},
		"too much data":        {[]document.Change{{Collection: "a", Key: "b", Data: make([]byte, document.MaxData+1)}}, tool.Invalid},
		"too many":             {make([]document.Change, document.MaxChanges+1), tool.Invalid},
	} {
		if err := document.Check(c.changes); tool.KindOf(err) != c.want {
			t.Errorf("%s: %v, want kind %q", name, err, c.want)
		}
	}
}
