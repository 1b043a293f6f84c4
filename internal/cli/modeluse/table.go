package modeluse

import (
	"bytes"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"callgate/internal/cli/render"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
)

// useLine is a line of the table of models, which fits a terminal of 80 columns.
const useLine = "%-26s %5s %4s %4s %4s %4s %4s %4s %7s %4s %4s"

// write writes how models did, tool by tool.
func write(w io.Writer, s render.Style, list []protocol.ModelUse) error {
	var b bytes.Buffer
	for i, u := range list {
		if i == 0 || u.Tool != list[i-1].Tool {
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%s\n%s\n", s.Strong(text.OneLine(u.Tool)), s.Faint(fmt.Sprintf(useLine,
				"MODEL", "CALLS", "OK", "FIX", "CUT", "BAD", "REF", "LATE", "COST", "MED", "P95")))
		}
		cost := "?"
		if u.Priced {
			cost = dollars(u.Cost)
		}
		fmt.Fprintf(&b, useLine+"\n", lastRunes(text.OneLine(u.Model), 26), fmt.Sprint(u.Calls),
			percent(u.Succeeded, u.Judged), percent(u.Repaired, u.Calls),
			percent(u.Outcomes["truncated"], u.Attempts), percent(u.Outcomes["malformed"]+u.Outcomes["mismatched"], u.Attempts),
			percent(u.Outcomes["refused"], u.Attempts), percent(u.Outcomes["timeout"], u.Attempts),
			cost, seconds(u.Median), seconds(u.P95))
	}
	fmt.Fprintf(&b, "\n%s\n", s.Faint("OK: calls that went well; FIX: in which the model was shown a mistake.\n"+
		"Of the requests: CUT off, BAD JSON, REFused, too LATE."))
	_, err := w.Write(b.Bytes())
	return err
}

// percent is a share in at most four characters.
func percent(n, of int) string {
	switch {
	case of == 0:
		return "?"
	case n == 0:
		return "0"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(n)/float64(of))
}

// dollars is a cost in at most seven characters, up to a million dollars.
func dollars(millionths int64) string {
	d := float64(millionths) / 1e6
	for places := 4; places > 0; places-- {
		if out := fmt.Sprintf("$%.*f", places, d); len(out) <= 7 {
			return out
		}
	}
	return fmt.Sprintf("$%.0f", d)
}

// seconds is a time in at most four characters, up to almost three hours.
func seconds(d time.Duration) string {
	if d < 9950*time.Millisecond {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	if d < 1000*time.Second {
		return fmt.Sprintf("%.0fs", d.Seconds())
	}
	return fmt.Sprintf("%.0fm", d.Minutes())
}

// lastRunes is the end of a text, which tells models apart.
func lastRunes(words string, n int) string {
	if utf8.RuneCountInString(words) <= n {
		return words
	}
	runes := []rune(words)
	return "…" + string(runes[len(runes)-n+1:])
}
