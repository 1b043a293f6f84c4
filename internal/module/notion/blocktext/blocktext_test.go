package blocktext_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"callgate/internal/module/notion/blocktext"
)

// Whatever a server sends, something is written, within the limit.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte(`[{"id":"a","type":"paragraph","paragraph":{"rich_text":[{"plain_text":"x","annotations":{"bold":true}}]}}]`))
	f.Add([]byte(`[{"type":"table","table":{}},{"type":"code","code":{"rich_text":[{"plain_text":"` + "````" + `"}]}},{"type":"heading_9"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var blocks []blocktext.Block
		if json.Unmarshal(data, &blocks) != nil {
			return
		}
		w := blocktext.Writer{Limit: 100}
		w.Blocks(blocks)
		if text := w.String(); len(text) > 101 || utf8.Valid(data) && !utf8.ValidString(text) {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	})
}

func FuzzProperties(f *testing.F) {
	f.Add([]byte(`{"a":{"type":"title","title":[{"plain_text":"x"}]},"b":{"type":"rollup","rollup":{"array":[{"type":"number","number":1}]}}}`))
	f.Add([]byte(`{"a":{"type":"number"},"b":{"type":"date","date":null},"c":{"type":"type"},"d":null}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		var all map[string]json.RawMessage
		if json.Unmarshal(data, &all) == nil {
			blocktext.Properties(all)
		}
	})
}
