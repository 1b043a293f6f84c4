package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
	"callgate/tool"
)

// Record writes one record in one line.
func (s Style) Record(w io.Writer, r protocol.Record) error {
	outcome, color := verdict(r)
	head := fmt.Sprintf("%s %6d  %-8s  %-24s  %-16s  ",
		stamp(r.Time), r.Seq, text.OneLine(string(r.Kind)), text.OneLine(toolOf(r)), who(r))
	status := fmt.Sprintf("%-8s", text.OneLine(outcome))
	rest := s.fit(text.OneLine(recordSummary(r)), s.Width-len([]rune(head))-len([]rune(status))-2)
	line := head + s.paint(color, status) + "  " + rest
	_, err := fmt.Fprintln(w, strings.TrimRight(line, " "))
	return err
}

// toolOf is the tool of a record as people call it: dotted, or as it was asked
// for.
func toolOf(r protocol.Record) string {
	if id, ok := tool.TryParseID(r.Tool); ok {
		return id.Dotted()
	}
	if r.Name != "" {
		return r.Name
	}
	return "-"
}

// who is the principal without its session.
func who(r protocol.Record) string {
	if r.Principal == nil {
		return "-"
	}
	p := *r.Principal
	p.Session = ""
	if name := text.OneLine(p.String()); name != "" {
		return name
	}
	return "-"
}

// verdict is what was decided or what came of it, and its colour.
func verdict(r protocol.Record) (word, color string) {
	switch {
	case r.Kind == protocol.RecordKindDoubted:
		return "in doubt", bad
	case r.End != nil:
		switch r.End.Status {
		case tool.Success:
			return string(r.End.Status), good
		case tool.Waiting:
			return string(r.End.Status), warn
		}
		return string(r.End.Status), bad
	case r.Answer != nil:
		if r.Answer.Verdict == "approved" {
			return r.Answer.Verdict, good
		}
		return r.Answer.Verdict, bad
	case r.Ask != nil:
		colors := map[protocol.Verdict]string{
			protocol.VerdictAllow: good, protocol.VerdictWait: warn, protocol.VerdictRefuse: bad,
		}
		return string(r.Ask.Verdict), colors[r.Ask.Verdict]
	default:
		return "", ""
	}
}

// recordSummary is what a record says, in a line.
func recordSummary(r protocol.Record) string {
	switch {
	case r.Kind == protocol.RecordKindDoubted:
		return r.Note
	case r.End != nil:
		return fmt.Sprintf("%s (%s)", r.End.Summary, text.Duration(r.End.Took))
	case r.Answer != nil:
		return answer(r.Answer)
	case r.Ask != nil && r.Ask.Verdict == protocol.VerdictAllow:
		return text.Compact(r.Ask.Args, 200)
	case r.Ask != nil:
		return r.Ask.Reason
	case r.Opening != nil:
		return opening(r.Opening)
	case r.Resolution != nil:
		return resolution(r.Resolution)
	case r.Summary != nil:
		return fmt.Sprintf("records %d to %d were removed", r.Summary.FirstSeq, r.Summary.LastSeq)
	default:
		return r.Note
	}
}

func answer(a *protocol.RecordAnswer) string {
	words := "by " + a.By
	if a.Always {
		words += ", for the rest of the session"
	}
	if a.Grant != "" {
		words += ", kept as grant " + a.Grant
	}
	if len(a.Args) > 0 || a.ArgsRef != "" {
		words += ", with edited arguments"
	}
	if a.Feedback != "" {
		words += ": " + a.Feedback
	}
	return words
}

func resolution(r *protocol.RecordResolution) string {
	switch {
	case r.Retry != "":
		return "retried as call " + r.Retry
	case r.Closed != "":
		return r.Closed
	case r.Happened:
		return "it happened, according to " + r.By
	default:
		return "it did not happen, according to " + r.By
	}
}

func opening(o *protocol.RecordOpening) string {
	words := "a new epoch: the one before was old"
	if o.Start {
		words = "kernel " + o.Kernel + " started"
	}
	if o.Cut != nil {
		words += fmt.Sprintf("; records were lost: the anchor had seen %d, the store ended at %d", o.Cut.Anchor, o.Cut.Head)
	}
	return words
}

// Call writes what happened to one call, from its records.
func (s Style) Call(w io.Writer, records []protocol.Record) error {
	if len(records) == 0 {
		return nil
	}
	p := &page{Style: s}
	first := records[0]
	p.printf("%s  %s\n", s.Strong(text.OneLine(toolOf(first))), s.Faint(text.OneLine(first.Call)))
	asked := ""
	if first.Name != "" && first.Name != toolOf(first) {
		asked = text.OneLine(first.Name)
	}
	by := ""
	if first.Principal != nil {
		by = text.OneLine(first.Principal.String())
	}
	p.fields(field{"asked by", by}, field{"asked for as", asked},
		field{"part of call", text.OneLine(first.Parent)}, field{"tool", text.OneLine(first.Tool)})
	for _, r := range records {
		p.record(r)
	}
	return p.writeTo(w)
}

// record writes one record of a call.
func (p *page) record(r protocol.Record) {
	word, color := verdict(r)
	head := fmt.Sprintf("%s  %s %s %s", stamp(r.Time), p.Faint(fmt.Sprintf("#%d", r.Seq)),
		p.Strong(text.OneLine(string(r.Kind))), p.paint(color, text.OneLine(word)))
	p.printf("\n%s\n", strings.TrimRight(head, " "))
	if ask := r.Ask; ask != nil {
		p.fields(
			field{"why", text.OneLine(ask.Reason)}, field{"touches", claims(ask.Claims)},
			field{"approval", text.OneLine(ask.Approval)}, field{"coerced", text.OneLine(strings.Join(ask.Coercions, "; "))},
			field{"arguments in", text.OneLine(ask.ArgsRef)})
		p.block("arguments", ask.Args)
	}
	if a := r.Answer; a != nil {
		p.fields(field{"answer", text.OneLine(recordSummary(r))}, field{"approval", text.OneLine(a.Approval)},
			field{"arguments in", text.OneLine(a.ArgsRef)})
		p.block("arguments as edited", a.Args)
	}
	if e := r.End; e != nil && r.Kind != protocol.RecordKindDoubted {
		p.fields(
			field{"result", text.OneLine(e.Summary)}, field{"kind", text.OneLine(string(e.Error))},
			field{"took", text.Duration(e.Took)}, field{"warnings", text.OneLine(strings.Join(e.Warnings, "; "))},
			field{"result in", text.OneLine(e.ResultRef)}, field{"artifact", text.OneLine(e.ArtifactRef)})
		for _, a := range e.Attempts {
			p.fields(field{"asked", text.OneLine(attempt(a))})
		}
		p.result(e.Result)
	}
	if r.Kind == protocol.RecordKindDoubted || r.Ask == nil && r.Answer == nil && r.End == nil {
		p.fields(field{"note", text.OneLine(recordSummary(r))})
	}
}

// attempt is one request of a tool to a model, in a line.
func attempt(a tool.Attempt) string {
	line := fmt.Sprintf("%s: %s, %d tokens in, %d out", a.Model, a.Outcome, a.Input, a.Output)
	if a.Priced && a.Cost > 0 {
		line += fmt.Sprintf(", $%.6f", float64(a.Cost)/1e6)
	}
	line += ", " + text.Duration(a.Took)
	if a.Error != "" {
		line += ": " + a.Error
	}
	return line
}

// result writes the content of a result, as far as its record has it.
func (p *page) result(raw json.RawMessage) {
	var r tool.Result
	if len(raw) == 0 || json.Unmarshal(raw, &r) != nil {
		return
	}
	if len(r.Content) == 0 {
		p.block("data", r.Data)
		return
	}
	p.printf("  %s\n", p.Faint("text"))
	for _, c := range r.Content {
		p.indent("    ", c.Text)
	}
}

// Report writes the result of verifying a journal.
func (s Style) Report(w io.Writer, r protocol.VerifyReport) error {
	p := &page{Style: s}
	size := amount.Of(r.Records, "record") + " in " + amount.As(r.Epochs, "epoch", "epochs")
	if r.OK() {
		p.printf("%s  %s", s.paint(good, "intact"), size)
	} else {
		p.printf("%s  %s, %s", s.Bad("damaged"), size, amount.Of(len(r.Problems)+r.More, "problem"))
	}
	if r.Records > 0 {
		p.printf(", %d to %d", r.First, r.Last)
	}
	p.WriteByte('\n')
	more, pruned, gaps := "", "", ""
	if r.More > 0 {
		more = fmt.Sprintf("%d more", r.More)
	}
	if r.Dropped > 0 {
		pruned = amount.Of(r.Dropped, "record") + ", with a signed summary"
	}
	if r.Gaps > 0 {
		gaps = amount.Of(r.Gaps, "place") + " where records were left out"
	}
	for _, problem := range r.Problems {
		p.printf("  %s\n", s.Bad(text.OneLine(problem.What)))
	}
	p.fields(field{"problems", more}, field{"warning", text.OneLine(r.Warning)}, field{"pruned", pruned},
		field{"gaps", gaps}, field{"head", text.OneLine(r.Head)})
	return p.writeTo(w)
}

// Reports writes the result of verifying the journals of several nodes.
func Reports(w io.Writer, s Style, all operations.VerifiedNodes) error {
	if err := s.Report(w, all.VerifyReport); err != nil {
		return err
	}
	for _, n := range all.Nodes {
		p := &page{Style: s}
		seen := ""
		if n.Seen > 0 {
			seen = fmt.Sprintf("here up to record %d, at %s", n.Seen, n.SeenAt.Local().Format(time.DateTime))
		}
		p.printf("\n%s\n", s.Strong("node "+text.OneLine(n.Name)+" ("+n.State+")"))
		if err := p.writeTo(w); err != nil {
			return err
		}
		if err := s.Report(w, n.Report); err != nil {
			return err
		}
		p = &page{Style: s}
		p.fields(field{"seen", seen}, field{"warning", text.OneLine(n.Missing)})
		if err := p.writeTo(w); err != nil {
			return err
		}
	}
	return nil
}
