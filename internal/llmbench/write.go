package llmbench

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"callgate/internal/durable"
	"callgate/internal/llmbench/cases"
	"callgate/internal/provider/catalog"
	"callgate/internal/source/prompted/builtin"
	"callgate/tool"
)

// suiteDigest is that of the cases, in a few letters.
func suiteDigest(s *cases.Suite) string {
	h := sha256.New()
	for _, c := range s.Cases {
		fmt.Fprintf(h, "%q %s %g\n", c.Name, c.Input, c.Weight)
		for _, check := range c.Checks {
			fmt.Fprintf(h, "%s %s %g\n", check, check.At, check.Weight)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// Scores are what is written into a file of models: of tools of which everything was measured.
func (r *Report) Scores(jobs []Job) (all []catalog.Score) {
	for i, t := range r.Tools {
		if !t.Complete {
			continue
		}
		for _, m := range t.Models {
			all = append(all, catalog.Score{Tool: t.id, Model: m.Model, Compat: catalog.Compat{
				Score: m.Score, TestedAt: r.At, Version: Version(t.Digest, jobs[i].Suite),
			}})
		}
	}
	return all
}

// WriteCompat writes the recommended models of the tools of which everything was measured into the file
// that tools.llm.compat names. What the file says of other tools stays, and it is replaced whole or not
// at all.
func (r *Report) WriteCompat(path string) error {
	file := map[string]json.RawMessage{}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil:
		err = json.Unmarshal(data, &file)
	}
	if file == nil { // it says null
		file = map[string]json.RawMessage{}
	}
	for _, t := range r.Tools {
		if err != nil || !t.Complete {
			continue
		}
		var before struct {
			Recommended []string `json:"recommended"`
		}
		if was := entryOf(file, t.Tool); len(was) > 0 {
			err = json.Unmarshal(was, &before)
		}
		if err == nil {
			file[t.Tool], err = json.Marshal(map[string]any{"recommended": t.with(before.Recommended)})
		}
	}
	var out []byte
	if err == nil {
		out, err = json.Marshal(file)
	}
	var indented bytes.Buffer
	if err == nil {
		err = json.Indent(&indented, append(out, '\n'), "", "  ")
	}
	if err == nil {
		err = durable.Write(path, indented.Bytes(), 0o644)
	}
	if err != nil {
		return (&tool.Error{Op: "llmbench.WriteCompat", Kind: cmp.Or(tool.KindOf(err), tool.Failed), Err: err,
			Message: "the recommended models cannot be written to " + path + ": " + err.Error()}).
			WithHint("name another file with --out")
	}
	return nil
}

// entryOf returns what a file says of a tool, under its ID or, of a built-in one, that of another program.
func entryOf(file map[string]json.RawMessage, id string) json.RawMessage {
	if was, ok := file[id]; ok {
		return was
	}
	for other, was := range file {
		if parsed, ok := tool.TryParseID(other); ok && builtin.OwnID(parsed).String() == id {
			return was
		}
	}
	return nil
}

// with returns the recommended models, and behind them those that were recommended before and were not
// measured now: nothing new is known of them.
func (t ToolReport) with(before []string) []string {
	all := append([]string{}, t.Recommended...) // an empty list is written, and not null
	for _, name := range before {
		now := slices.ContainsFunc(t.Models, func(m ModelReport) bool { return m.Model == name })
		if !now && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Table writes the report for a terminal, in 80 columns.
func (r *Report) Table(w io.Writer) error {
	var out strings.Builder
	for i, t := range r.Tools {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "%s: %d cases, each %d times, threshold %g\n", t.Tool, t.Cases, t.Repeats, t.Threshold)
		fmt.Fprintf(&out, "  %-29s %6s  %-11s %7s %7s %9s\n", "model", "score", "95 %", "median", "p95", "$/1000")
		for _, m := range t.Models {
			out.WriteString(m.row())
		}
		if len(t.Recommended) == 0 {
			out.WriteString("  no model reached the threshold\n")
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// row is a line of the table, and what went wrong below it.
func (m ModelReport) row() string {
	mark := " "
	if m.Reached {
		mark = "*"
	}
	name := m.Model
	if len(name) > 29 {
		name = name[:28] + "…"
	}
	if m.Runs == 0 {
		return fmt.Sprintf("%s %-29s not measured: %s\n", mark, name, tool.TruncateTo(m.Problem, 300))
	}
	cost := "?"
	if m.Priced {
		cost = fmt.Sprintf("%.4f", 1000*m.Cost)
	}
	line := fmt.Sprintf("%s %-29s %6.1f  %-11s %7s %7s %9s\n", mark, name, m.Score,
		fmt.Sprintf("%.1f-%.1f", m.Low, m.High), seconds(m.Median), seconds(m.P95), cost)
	if m.Unmeasured > 0 {
		line += fmt.Sprintf("    %d not measured: %s\n", m.Unmeasured, tool.TruncateTo(m.Problem, 300))
	}
	for _, check := range m.MostFailed(3) {
		line += fmt.Sprintf("    %d× not met: %s\n", m.Failed[check], tool.TruncateTo(check, 60))
	}
	return line
}

func seconds(ms float64) string {
	if ms < 1000 {
		return fmt.Sprintf("%.0fms", ms)
	}
	return fmt.Sprintf("%.1fs", ms/1000)
}
