package judge_test

import (
	"strings"
	"testing"
	"time"

	"callgate/scripts/cluster/effects"
	"callgate/scripts/cluster/judge"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	at := time.Now()
	call := func(key string, v judge.Verdict, value, from, to int) judge.Outcome {
		return judge.Outcome{
			Key: key, Account: "a", Verdict: v, Value: value,
			Sent: at.Add(time.Duration(from) * time.Second), Answered: at.Add(time.Duration(to) * time.Second),
		}
	}
	wrote := func(key string, value int) effects.Write {
		return effects.Write{Account: "a", Key: key, Call: "c" + key, Value: value}
	}
	for name, c := range map[string]struct {
		outcomes []judge.Outcome
		writes   []effects.Write
		wants    string
	}{
		"all is well": {
			[]judge.Outcome{call("1", judge.Done, 1, 0, 1), call("2", judge.Done, 2, 0, 1), call("3", judge.NotDone, 0, 0, 1)},
			[]effects.Write{wrote("1", 1), wrote("2", 2)}, "",
		},
		"in doubt, and done": {
			[]judge.Outcome{call("1", judge.InDoubt, 0, 0, 1), call("2", judge.Done, 2, 0, 1)},
			[]effects.Write{wrote("1", 1), wrote("2", 2)}, "",
		},
		"a lost effect":   {[]judge.Outcome{call("1", judge.Done, 1, 0, 1)}, nil, "has no effect"},
		"a double effect": {[]judge.Outcome{call("1", judge.Done, 1, 0, 1)}, []effects.Write{wrote("1", 1), {Account: "a", Key: "1", Call: "d", Value: 2}}, "took effect 2 times"},
		"refused, and done": {
			[]judge.Outcome{call("1", judge.NotDone, 0, 0, 1)}, []effects.Write{wrote("1", 1)}, "a refusal",
		},
		"a lost update": {
			[]judge.Outcome{call("1", judge.Done, 1, 0, 1), call("2", judge.Done, 1, 0, 1)},
			[]effects.Write{wrote("1", 1), wrote("2", 1)}, "two calls were at it at once",
		},
		"another order than time's": {
			[]judge.Outcome{call("1", judge.Done, 2, 0, 1), call("2", judge.Done, 1, 2, 3)},
			[]effects.Write{wrote("2", 1), wrote("1", 2)}, "cannot be put in an order",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(judge.Judge(c.outcomes, c.writes).Violations, "\n")
			if c.wants == "" && got != "" || !strings.Contains(got, c.wants) {
				t.Errorf("%q has not %q", got, c.wants)
			}
		})
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	at := time.Now()
	outcomes := []judge.Outcome{{
		Key: "1", Account: "a", Verdict: judge.Done, Value: 1, Sent: at, Answered: at.Add(time.Second),
	}}
	writes := []effects.Write{{Account: "a", Key: "1", Call: "c1", Value: 1}}
	begun := map[string]bool{"c1": true}
	for name, c := range map[string]struct {
		records judge.Records
		wants   string
	}{
		"all is well":     {judge.Records{Begun: begun, Ended: map[string][]judge.Ended{"c1": {judge.EndedWell}}}, ""},
		"never begun":     {judge.Records{Ended: map[string][]judge.Ended{"c1": {judge.EndedWell}}}, "not on record as begun"},
		"its end is lost": {judge.Records{Begun: begun}, "the journal says of call c1: []"},
		"another end": {
			judge.Records{Begun: begun, Ended: map[string][]judge.Ended{"c1": {"error"}}}, `the journal says of call c1: ["error"]`,
		},
		"two ends": {
			judge.Records{Begun: begun, Ended: map[string][]judge.Ended{"c1": {judge.EndedWell, judge.EndedWell}}}, "2 ends",
		},
		"a broken chain": {
			judge.Records{
				Begun: begun, Ended: map[string][]judge.Ended{"c1": {judge.EndedWell}}, Problems: []string{"record 4: changed"},
			}, "record 4: changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := judge.Judge(outcomes, writes)
			r.AddRecords(&c.records, outcomes, writes)
			got := strings.Join(r.Violations, "\n")
			if c.wants == "" && got != "" || !strings.Contains(got, c.wants) {
				t.Errorf("%q has not %q", got, c.wants)
			}
		})
	}
}
