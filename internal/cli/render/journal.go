package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Record writes one record in one line.
func (s Style) Record(w io.Writer, r protocol.Record) error {
	outcome, color := verdict(r)
	head := fmt.Sprintf("%s %6d  %-8s  %-24s  %-16s  ", stamp(r.Time), r.Seq, oneLine(string(r.Kind)), oneLine(name(r)), who(r))
	status := fmt.Sprintf("%-8s", oneLine(outcome))
	rest := s.fit(oneLine(recordSummary(r)), s.Width-len([]rune(head))-len([]rune(status))-2)
	line := head + s.paint(color, status) + "  " + rest
	_, err := fmt.Fprintln(w, strings.TrimRight(line, " "))
	return err
}

// name is the tool as people call it: dotted, or as it was asked for.
func name(r protocol.Record) string {
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
	if text := oneLine(p.String()); text != "" {
		return text
	}
	return "-"
}

// verdict is what a record says was decided or became of it, and its colour.
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
		color := map[protocol.Verdict]string{protocol.VerdictAllow: good, protocol.VerdictWait: warn, protocol.VerdictRefuse: bad}[r.Ask.Verdict]
		return string(r.Ask.Verdict), color
	default:
		return "", ""
	}
}

// recordSummary is what a record tells, in a line.
func recordSummary(r protocol.Record) string {
	switch {
	case r.Kind == protocol.RecordKindDoubted:
		return r.Note
	case r.End != nil:
		return fmt.Sprintf("%s (%s)", r.End.Summary, Duration(r.End.Took))
	case r.Answer != nil:
		text := "by " + r.Answer.By
		if r.Answer.Always {
			text += ", for the rest of the session"
		}
		if len(r.Answer.Args) > 0 || r.Answer.ArgsRef != "" {
			text += ", with edited arguments"
		}
		if r.Answer.Feedback != "" {
			text += ": " + r.Answer.Feedback
		}
		return text
	case r.Ask != nil && r.Ask.Verdict == protocol.VerdictAllow:
		return compact(r.Ask.Args, 200)
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

func resolution(r *protocol.RecordResolution) string {
	switch {
	case r.Retry != "":
		return "made again as call " + r.Retry
	case r.Happened:
		return "it happened, says " + r.By
	default:
		return "it did not happen, says " + r.By
	}
}

func opening(o *protocol.RecordOpening) string {
	text := "the epoch before had grown old"
	if o.Start {
		text = "kernel " + o.Kernel + " started"
	}
	if o.Cut != nil {
		text += fmt.Sprintf("; records were lost: the anchor had seen %d, the store ended at %d", o.Cut.Anchor, o.Cut.Head)
	}
	return text
}

// Call writes what happened to one call, from its records.
func (s Style) Call(w io.Writer, records []protocol.Record) error {
	if len(records) == 0 {
		return nil
	}
	var b bytes.Buffer
	first := records[0]
	fmt.Fprintf(&b, "%s  %s\n", s.Strong(oneLine(name(first))), s.Faint(oneLine(first.Call)))
	asked := ""
	if first.Name != "" && first.Name != name(first) {
		asked = oneLine(first.Name)
	}
	by := ""
	if first.Principal != nil {
		by = oneLine(first.Principal.String())
	}
	s.fields(&b, []field{{"asked by", by}, {"asked for as", asked}, {"part of call", oneLine(first.Parent)}, {"tool", oneLine(first.Tool)}})
	for _, r := range records {
		s.recordDetails(&b, r)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// recordDetails writes one record of a story.
func (s Style) recordDetails(b *bytes.Buffer, r protocol.Record) {
	word, color := verdict(r)
	head := fmt.Sprintf("%s  %s %s %s", stamp(r.Time), s.Faint(fmt.Sprintf("#%d", r.Seq)), s.Strong(oneLine(string(r.Kind))), s.paint(color, oneLine(word)))
	fmt.Fprintf(b, "\n%s\n", strings.TrimRight(head, " "))
	if ask := r.Ask; ask != nil {
		s.fields(b, []field{
			{"why", oneLine(ask.Reason)}, {"touches", claims(ask.Claims)}, {"approval", oneLine(ask.Approval)},
			{"mended", oneLine(strings.Join(ask.Coercions, "; "))}, {"arguments in", oneLine(ask.ArgsRef)},
		})
		s.block(b, "arguments", ask.Args)
	}
	if a := r.Answer; a != nil {
		s.fields(b, []field{{"answer", oneLine(recordSummary(r))}, {"approval", oneLine(a.Approval)}, {"arguments in", oneLine(a.ArgsRef)}})
		s.block(b, "arguments as edited", a.Args)
	}
	if e := r.End; e != nil && r.Kind != protocol.RecordKindDoubted {
		s.fields(b, []field{
			{"result", oneLine(e.Summary)}, {"kind", oneLine(string(e.Error))}, {"took", Duration(e.Took)},
			{"warnings", oneLine(strings.Join(e.Warnings, "; "))}, {"kept in", oneLine(e.ResultRef)}, {"whole in", oneLine(e.ArtifactRef)},
		})
		s.resultDetails(b, e.Result)
	}
	if r.Kind == protocol.RecordKindDoubted || r.Ask == nil && r.Answer == nil && r.End == nil {
		s.fields(b, []field{{"note", oneLine(recordSummary(r))}})
	}
}

// resultDetails writes what a result held, as far as its record keeps it.
func (s Style) resultDetails(b *bytes.Buffer, result json.RawMessage) {
	var r tool.Result
	if len(result) == 0 || json.Unmarshal(result, &r) != nil {
		return
	}
	if len(r.Content) == 0 {
		s.block(b, "data", r.Data)
		return
	}
	fmt.Fprintf(b, "  %s\n", s.Faint("text"))
	for _, c := range r.Content {
		indent(b, "    ", c.Text)
	}
}

// Report writes what verifying found.
func (s Style) Report(w io.Writer, r protocol.VerifyReport) error {
	var b bytes.Buffer
	if r.OK() {
		fmt.Fprintf(&b, "%s  %d records in %d epochs", s.paint(good, "whole"), r.Records, r.Epochs)
	} else {
		fmt.Fprintf(&b, "%s  %d records in %d epochs, %d problems", s.Bad("damaged"), r.Records, r.Epochs, len(r.Problems)+r.More)
	}
	if r.Records > 0 {
		fmt.Fprintf(&b, ", %d to %d", r.First, r.Last)
	}
	b.WriteByte('\n')
	more := ""
	if r.More > 0 {
		more = fmt.Sprintf("%d more", r.More)
	}
	dropped, gaps := "", ""
	if r.Dropped > 0 {
		dropped = fmt.Sprintf("%d records, signed for", r.Dropped)
	}
	if r.Gaps > 0 {
		gaps = fmt.Sprintf("%d places where records were left out", r.Gaps)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "  %s\n", s.Bad(oneLine(p.What)))
	}
	s.fields(&b, []field{{"problems", more}, {"dropped", dropped}, {"gaps", gaps}, {"head", oneLine(r.Head)}})
	_, err := w.Write(b.Bytes())
	return err
}
