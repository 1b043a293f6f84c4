package proposals_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"callgate/internal/protocol"
	"callgate/internal/tui/proposals"
	"callgate/internal/tui/transcript"
	"callgate/tool"
)

// scripted is a kernel with one proposal, whose plan changes when a test says so.
type scripted struct {
	proposal protocol.Proposal
	accepted []protocol.AcceptProposal
	refused  []protocol.RefuseProposal
}

func (s *scripted) List(context.Context, protocol.ProposalState) ([]protocol.Proposal, error) {
	return []protocol.Proposal{s.proposal}, nil
}

func (s *scripted) Get(_ context.Context, id string) (protocol.Proposal, error) {
	if id != s.proposal.ID {
		return protocol.Proposal{}, tool.Errorf("test", tool.NotFound, "there is no proposal %s", id)
	}
	return s.proposal, nil
}

func (s *scripted) Challenge(context.Context) (string, error) { return "K7QX", nil }

func (s *scripted) Accept(_ context.Context, _ string, a protocol.AcceptProposal) (protocol.Proposal, error) {
	s.accepted = append(s.accepted, a)
	if a.Digest != s.proposal.Digest {
		return s.proposal, tool.Errorf("test", tool.Conflict, "it would do something else now")
	}
	done := s.proposal
	done.State, done.Done = protocol.ProposalAccepted, []string{"wrote callgate.yaml"}
	return done, nil
}

func (s *scripted) Refuse(_ context.Context, _ string, r protocol.RefuseProposal) (protocol.Proposal, error) {
	s.refused = append(s.refused, r)
	done := s.proposal
	done.State = protocol.ProposalRefused
	return done, nil
}

func TestAnswering(t *testing.T) {
	t.Parallel()
	k := &scripted{proposal: protocol.Proposal{
		ID: "prop_1", Kind: "config_change", Title: "a.b", Reason: "why\x1b[2J not", Shown: "- b: 1\n+ b: 2\n", Digest: "d1",
	}}
	script := &transcript.Transcript{}
	script.Resize(100, 40)
	p := proposals.New(t.Context(), proposals.Options{Client: k, Script: script, By: "ada"})
	do := func(text string, want ...string) {
		t.Helper()
		if cmd := p.Command(text); cmd != nil && !p.Update(cmd()) {
			t.Fatalf("%q: nobody took what it brought", text)
		}
		lines, _ := script.Last(100, 200)
		screen := ansi.Strip(strings.Join(lines, "\n"))
		for _, w := range want {
			if !strings.Contains(screen, w) {
				t.Errorf("%q: %q is not shown:\n%s", text, w, screen)
			}
		}
		if strings.Contains(strings.Join(lines, "\n"), "\x1b[2J") {
			t.Errorf("%q: the reason acts on the terminal", text)
		}
		script.Clear()
	}
	do("accept", "say which one")
	do("", " 1  config_change", "a.b", "nothing changes before you accept it")
	do("none", "there is no proposal none")
	do("accept 1", "+ b: 2", "/proposals accept 1 K7QX does this") // it was not shown: it is now
	if len(k.accepted) > 0 {
		t.Fatal("accepted before it was shown")
	}
	k.proposal.Digest = "d2" // the file changed
	do("accept 1 K7QX", "something else now")
	do("1", "+ b: 2")
	do("accept 1 K7QX good idea", "accepted: config_change a.b", "wrote callgate.yaml")
	want := protocol.AcceptProposal{Digest: "d2", By: "ada", Code: "K7QX", Feedback: "good idea"}
	if last := k.accepted[1]; !reflect.DeepEqual(last, want) {
		t.Errorf("sent: %+v", last)
	}
	do("refuse 1 not here", "refused: config_change a.b")
	if !reflect.DeepEqual(k.refused[0], protocol.RefuseProposal{By: "ada", Feedback: "not here"}) {
		t.Errorf("sent: %+v", k.refused[0])
	}
	k.proposal.Hunks = []string{"5be1c07a93d2", "0123456789ab"}
	do("1", "#5be1c07a93d2 behind it")
	do("accept 1 K7QX #5be1c07a93d2 fine")
	want.Feedback, want.Hunks = "fine", k.proposal.Hunks[:1]
	if last := k.accepted[2]; !reflect.DeepEqual(last, want) {
		t.Errorf("sent: %+v", last)
	}
	do("refuse 1 #0123456789ab no")
	if last := k.refused[1]; last.Feedback != "no" || len(last.Hunks) != 1 || last.Hunks[0] != "0123456789ab" {
		t.Errorf("sent: %+v", last)
	}
	// One that is mistyped is not a part of the feedback, as what comes after that is.
	do("refuse 1 #01234 see #12")
	if last := k.refused[2]; last.Feedback != "see #12" || len(last.Hunks) != 1 || last.Hunks[0] != "01234" {
		t.Errorf("sent: %+v", last)
	}
	do("1", "#5be1c07a93d2 behind it")
	do("accept 1 K7QX #01234")
	if last := k.accepted[3]; len(last.Hunks) != 1 || last.Hunks[0] != "01234" {
		t.Errorf("sent: %+v", last)
	}
}
