package protocol_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
	"callgate/internal/protocol/protocoltest"
	"callgate/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestWire holds the JSON of every body against its golden file, so that a
// refactoring cannot change what kernels and clients of one version exchange.
func TestWire(t *testing.T) {
	bodies := map[string]any{
		"accept_loss":       protocol.AcceptLoss{},
		"accept_proposal":   protocol.AcceptProposal{},
		"agent":             protocol.Agent{},
		"agent_surface":     protocol.AgentSurface{},
		"answer":            protocol.Answer{},
		"approval":          protocol.Approval{},
		"call":              protocol.CallRequest{},
		"challenge":         protocol.Challenge{},
		"compaction":        protocol.Compaction{},
		"fork":              protocol.Fork{},
		"conversation":      protocol.Conversation{},
		"create_token":      protocol.CreateToken{},
		"created_token":     protocol.CreatedToken{},
		"delete_secret":     protocol.DeleteSecret{},
		"direct_call":       protocol.DirectCall{},
		"error":             tool.Error{},
		"event":             protocol.Event{},
		"grant":             protocol.Grant{},
		"grant_suggestion":  protocol.GrantSuggestion{},
		"history":           protocol.History{},
		"keep_grant":        protocol.KeepGrant{},
		"key":               protocol.Key{},
		"find_tools":        protocol.FindTools{},
		"find_models":       protocol.FindModels{},
		"tool_models":       protocol.ToolModels{},
		"trust_key":         protocol.TrustKey{},
		"sign":              protocol.Sign{},
		"signature":         protocol.Signature{},
		"learned":           operations.LearnedRequest{},
		"forget_learned":    operations.ForgetLearned{},
		"locks":             protocol.Locks{},
		"login":             protocol.Login{},
		"model_advice":      protocol.ModelAdvice{},
		"model_choice":      protocol.ModelChoice{},
		"model_use":         protocol.ModelUse{},
		"move_call":         protocol.MoveCall{},
		"news":              protocol.News{},
		"own_bench":         operations.OwnBench{},
		"own_bench_report":  operations.OwnBenchReport{},
		"node":              operations.Node{},
		"drain":             operations.Drain{},
		"verified_nodes":    operations.VerifiedNodes{},
		"shared_claim":      operations.SharedClaim{},
		"user":              operations.User{},
		"open_conversation": protocol.OpenConversation{},
		"open_session":      protocol.OpenSession{},
		"plan_request":      protocol.PlanRequest{},
		"preflight":         operations.Preflight{},
		"preflight_report":  operations.PreflightReport{},
		"stats":             operations.Stats{},
		"prompt":            protocol.Prompt{},
		"proposal":          protocol.Proposal{},
		"prune":             protocol.Prune{},
		"prune_result":      protocol.PruneResult{},
		"question":          protocol.Question{},
		"answer_question":   protocol.AnswerQuestion{},
		"queued_message":    protocol.QueuedMessage{},
		"refuse_proposal":   protocol.RefuseProposal{},
		"reload":            operations.Reload{},
		"reloaded":          operations.Reloaded{},
		"resolve":           protocol.ResolveDoubt{},
		"doubt":             protocol.Doubt{},
		"result":            tool.Result{},
		"retain":            operations.Retain{},
		"retained":          operations.Retained{},
		"revoke_grants":     protocol.RevokeGrants{},
		"rules_report":      protocol.RulesReport{},
		"search":            protocol.Search{},
		"search_result":     protocol.SearchResult{},
		"secret":            protocol.Secret{},
		"send_message":      protocol.SendMessage{},
		"server":            protocol.Server{},
		"server_item":       protocol.ServerItem{},
		"server_log_line":   protocol.ServerLogLine{},
		"server_status":     protocol.ServerStatus{},
		"session":           protocol.Session{},
		"set_model":         protocol.SetModel{},
		"set_app_mode":      protocol.SetAppMode{},
		"set_secret":        protocol.SetSecret{},
		"skill":             protocol.FoundSkill{},
		"skill_trust":       protocol.SkillTrust{},
		"status":            protocol.Status{},
		"surface":           protocol.Surface{},
		"task":              protocol.Task{},
		"task_entry":        protocol.TaskEntry{},
		"cancel_task":       protocol.CancelTask{},
		"channel":           protocol.Channel{},
		"test_channel":      protocol.TestChannel{},
		"delivery":          protocol.Delivery{},
		"background_app":    protocol.BackgroundApp{},
		"start_background":  protocol.StartBackground{},
		"trigger_event":     protocol.TriggerEvent{},
		"tool":              protocol.Tool{},
		"trust":             protocol.Trust{},
		"try_rules":         protocol.TryRules{},
		"turn_event":        protocol.TurnEvent{},
		"undo":              protocol.Undo{},
		"undo_item":         protocol.UndoItem{},
		"undo_preview":      protocol.UndoPreview{},
		"undone":            protocol.Undone{},
		"verify_report":     protocol.VerifyReport{},
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			full := reflect.New(reflect.TypeOf(body))
			protocoltest.Fill(full.Elem())
			got, err := json.MarshalIndent(full.Interface(), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			file := filepath.Join("testdata", "wire", name+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the wire form changed:\n%s\nwant:\n%s", got, want)
			}
			again := reflect.New(reflect.TypeOf(body))
			if err := json.Unmarshal(got, again.Interface()); err != nil {
				t.Fatalf("the body cannot be read back: %v", err)
			}
			if back, err := json.MarshalIndent(again.Interface(), "", "  "); err != nil || !bytes.Equal(append(back, '\n'), got) {
				t.Errorf("reading back loses something (%v):\n%s\nwant:\n%s", err, back, got)
			}
		})
	}
}
