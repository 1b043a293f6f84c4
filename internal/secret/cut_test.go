package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// TestScrubTextThatWasCut cuts every form of a secret at every place.
func TestScrubTextThatWasCut(t *testing.T) {
	const value = "kW8#q/Zr?5+tB2 m&Yx7=Lp9vD4sGh6J"
	v := known(t, map[string]string{"TOKEN": value, "OTHER": "another-value-that-is-long"})
	for how, form := range map[string]string{
		"plain": value, "hex": hex.EncodeToString([]byte(value)), "upper hex": fmt.Sprintf("%X", value),
		"URL": url.QueryEscape(value), "base64": base64.RawStdEncoding.EncodeToString([]byte(value))[:42],
		"wrapped": wrapped(hex.EncodeToString([]byte(value)), 20, "\n"), "JSON": strings.Trim(inJSON(value), `"`),
	} {
		for cut := 1; cut < len(form); cut++ {
			head, tail := form[:cut], form[cut:]
			for _, text := range []string{
				"is " + head + "…", "is " + head, `is "` + head + `"`, "is " + head + "...", `{"x":"` + head + `\u2026"}`,
				"… " + tail + " end", "…" + tail, head + "\n… 9 bytes left out …\n" + tail,
			} {
				got := strings.ReplaceAll(v.ScrubText(text).String(), "\n", "")
				for i, line := 0, strings.ReplaceAll(form, "\n", ""); i+8 <= len(line); i++ {
					if strings.Contains(got, line[i:i+8]) {
						t.Fatalf("%s, cut at %d: %q becomes %q", how, cut, text, got)
					}
				}
			}
		}
	}
	for _, text := range []string{
		"", "…", "done", "it is so…", "… and so on …", "Tom &amp…", `a \u00e…`, "100%…", "see kW8#…", "a...b...c", "x … another day",
	} {
		if got := v.ScrubText(text).String(); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
		if got := string(v.ScrubPayload([]byte(text))); got != text || v.ScrubPayloadString(text) != text {
			t.Errorf("as a payload, %q becomes %q", text, got)
		}
	}
	if got := v.ScrubText("a long " + value + " text").Truncate(20); got != "a long [secret TOKEN…" {
		t.Errorf("cut: %q", got)
	}
}

func FuzzScrubText(f *testing.F) {
	f.Add("… kW8…")
	f.Add(`%41%4…\u2026..."`)
	v := known(f, map[string]string{"TOKEN": "kW8#q/Zr?5+tB2 m&Yx7=Lp9vD4sGh6J"})
	f.Fuzz(func(t *testing.T, text string) {
		once := v.ScrubText(text).String()
		if again := v.ScrubText(once).String(); again != once && !strings.Contains(again, "[part of a secret]") {
			t.Errorf("%q becomes %q", once, again)
		}
	})
}
