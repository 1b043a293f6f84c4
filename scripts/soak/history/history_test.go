package history

import (
	"slices"
	"testing"
	"time"
)

func at(second int) time.Time { return time.Unix(int64(second), 0) }

// write is an acknowledged write through a server, append and read likewise; the
// modifiers below change them.
func write(id string, sent, done int) Op {
	return Op{ID: id, Verb: Write, File: "f", Sent: at(sent), Done: at(done), Told: Success}
}

func appendOp(id string, sent, done int) Op {
	return Op{ID: id, Verb: Append, Sent: at(sent), Done: at(done), Told: Success}
}

func read(saw string, sent, done int) Op {
	return Op{Verb: Read, File: "f", Sent: at(sent), Done: at(done), Told: Success, Saw: saw}
}

func told(op Op, t Told) Op { op.Told = t; return op }

func unledgered(op Op) Op { op.Unledgered = true; return op }

func wanting(op Op, id string) Op { op.Want = id; return op }

func effect(id string, t int) Effect { return Effect{ID: id, File: "f", At: at(t)} }

func line(id string, t int) Effect { return Effect{ID: id, At: at(t)} }

func ended(id string) Call {
	return Call{Call: "c" + id, Op: id, Begun: 1, Ended: true, Told: Success}
}
func doubted(id string) Call { return Call{Call: "d" + id, Op: id, Begun: 1, Doubted: true} }

func promised(id string) Op { return told(appendOp(id, 1, 2), Promised) }

func delivery(id string) Op { op := promised(id); op.Unrecorded = true; return op }

func notice(owed bool, in map[string]int) []Notice {
	return []Notice{{Op: "a", To: "mine", Owed: owed, In: in}}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		h    History
		want []Kind
	}{
		{"nothing happened", History{}, nil},
		{"a write and an append that were told and happened", History{
			Ops: []Op{write("a", 1, 3), appendOp("b", 1, 3), read("a", 4, 5)}, Calls: []Call{ended("a"), ended("b")},
			Effects: []Effect{effect("a", 2), line("b", 2)}}, nil},
		{"an append in doubt may have happened", History{Ops: []Op{told(appendOp("a", 1, 3), InDoubt)},
			Calls: []Call{doubted("a")}, Effects: []Effect{line("a", 2)}}, nil},
		{"an append in doubt may not have happened", History{Ops: []Op{told(appendOp("a", 1, 3), InDoubt)},
			Calls: []Call{doubted("a")}}, nil},
		{"a write in doubt, made again with nothing between", History{
			Ops: []Op{told(write("a", 1, 3), InDoubt), write("b", 6, 7)}, Calls: []Call{doubted("a"), ended("a"), ended("b")},
			Effects: []Effect{effect("a", 2), effect("a", 5), effect("b", 6)}}, nil},
		{"writes at the same time, in either order", History{
			Ops: []Op{write("a", 1, 9), write("b", 2, 3), read("a", 10, 11)}, Calls: []Call{ended("a"), ended("b")},
			Effects: []Effect{effect("b", 2), effect("a", 8)}}, nil},
		{"a write whose client was killed goes on until the kernel dies", History{
			Ops:   []Op{told(write("a", 1, 2), Gone), write("b", 3, 4)},
			Calls: []Call{ended("a"), ended("b")}, Deaths: []time.Time{at(9)},
			Effects: []Effect{effect("b", 3), effect("a", 8)}}, nil},
		{"a person's edit needs no record", History{
			Ops: []Op{{ID: "a", Verb: Write, File: "f", Sent: at(1), Done: at(2), Told: Success, Unledgered: true, Unrecorded: true},
				read("a", 3, 4)}}, nil},
		{"a read in one answer sees the write before it", History{
			Ops: []Op{write("a", 1, 3), wanting(read("a", 3, 4), "a")}, Calls: []Call{ended("a")},
			Effects: []Effect{effect("a", 2)}}, nil},

		{"an acknowledged append is not there", History{Ops: []Op{appendOp("a", 1, 3)}, Calls: []Call{ended("a")}}, []Kind{Lost}},
		{"an acknowledged write is not in the ledger", History{Ops: []Op{write("a", 1, 3)}, Calls: []Call{ended("a")}}, []Kind{Lost}},
		{"an acknowledged write is not in the file", History{Ops: []Op{unledgered(write("a", 1, 3)), read("", 4, 5)},
			Calls: []Call{ended("a")}}, []Kind{Lost}},
		{"an acknowledged write is hidden by an older one", History{
			Ops:   []Op{unledgered(write("a", 1, 2)), unledgered(write("b", 3, 4)), read("a", 5, 6)},
			Calls: []Call{ended("a"), ended("b")}}, []Kind{Lost}},
		{"an acknowledged call has no end on record", History{Ops: []Op{appendOp("a", 1, 3)}, Effects: []Effect{line("a", 2)},
			Calls: []Call{doubted("a")}}, []Kind{Lost}},
		{"an append happened twice", History{Ops: []Op{told(appendOp("a", 1, 3), InDoubt)}, Calls: []Call{doubted("a"), ended("a")},
			Effects: []Effect{line("a", 2), line("a", 5)}}, []Kind{Doubled}},
		{"an old write over an acknowledged one", History{
			Ops:     []Op{told(write("a", 1, 3), InDoubt), unledgered(write("b", 4, 5))},
			Calls:   []Call{doubted("a"), ended("a"), ended("b")},
			Effects: []Effect{effect("a", 2), effect("a", 6)}}, []Kind{Stale}},
		{"an old write over a person's edit, with its client killed", History{
			Ops: []Op{told(write("a", 1, 2), Gone),
				{ID: "b", Verb: Write, File: "f", Sent: at(4), Done: at(5), Told: Success, Unledgered: true, Unrecorded: true}},
			Calls: []Call{doubted("a"), ended("a")}, Deaths: []time.Time{at(3)},
			Effects: []Effect{effect("a", 6)}}, []Kind{Stale}},
		{"told unavailable, and it happened", History{Ops: []Op{told(appendOp("a", 1, 3), NotBegun)},
			Calls: []Call{{Op: "a", Begun: 1, Ended: true}}, Effects: []Effect{line("a", 2)}}, []Kind{ToldWrong}},
		{"on record as unavailable, and it happened", History{Ops: []Op{told(appendOp("a", 1, 3), Gone)},
			Calls: []Call{{Op: "a", Begun: 1, Ended: true, Told: NotBegun}}, Effects: []Effect{line("a", 2)}}, []Kind{ToldWrong}},
		{"told unavailable, and it is in the file", History{
			Ops:   []Op{told(unledgered(write("a", 1, 3)), NotBegun), read("a", 4, 5)},
			Calls: []Call{{Op: "a", Begun: 1, Ended: true}}}, []Kind{ToldWrong}},
		{"a client was told nothing", History{Ops: []Op{told(appendOp("a", 1, 3), Silent)}, Calls: []Call{doubted("a")}}, []Kind{Untold}},
		{"a call has neither end nor doubt", History{Calls: []Call{{Op: "a", Begun: 1}}}, []Kind{Unaccounted}},
		{"something happened that nobody sent", History{Effects: []Effect{line("a", 2)}}, []Kind{Unaccounted}},
		{"something happened that never began", History{Ops: []Op{told(appendOp("a", 1, 3), InDoubt)},
			Effects: []Effect{line("a", 2)}}, []Kind{Unaccounted}},
		{"a call was made again and again", History{Ops: []Op{told(write("a", 1, 3), InDoubt)},
			Calls: []Call{{Op: "a", Begun: 4, Doubted: true}}}, []Kind{Repeated}},
		{"one call is in doubt twice", History{Ops: []Op{told(write("a", 1, 3), InDoubt)},
			Calls: []Call{doubted("a"), doubted("a")}}, []Kind{Repeated}},
		{"a read in one answer misses the write before it", History{
			Ops: []Op{write("a", 1, 3), wanting(read("", 3, 4), "a")}, Calls: []Call{ended("a")},
			Effects: []Effect{effect("a", 2)}}, []Kind{Order}},
		{"what was promised happened", History{Ops: []Op{promised("a")}, Calls: []Call{ended("a")},
			Effects: []Effect{line("a", 9)}}, nil},
		{"what was promised is in doubt", History{Ops: []Op{promised("a")}, Calls: []Call{doubted("a")}}, nil},
		{"what was promised was refused", History{Ops: []Op{promised("a")},
			Calls: []Call{{Op: "a", Ended: true, Told: NotBegun}}}, nil},
		{"a message was delivered", History{Ops: []Op{delivery("a")}, Effects: []Effect{line("a", 9)}}, nil},
		{"news was told", History{Notices: notice(true, map[string]int{"mine": 1})}, nil},
		{"news that nobody was promised", History{Notices: notice(false, nil)}, nil},
		{"what was promised never began", History{Ops: []Op{promised("a")}}, []Kind{Lost}},
		{"what was promised is on record, and never happened", History{Ops: []Op{promised("a")},
			Calls: []Call{ended("a")}}, []Kind{Lost}},
		{"what was promised happened twice", History{Ops: []Op{promised("a")}, Calls: []Call{ended("a")},
			Effects: []Effect{line("a", 8), line("a", 9)}}, []Kind{Doubled}},
		{"a message was never delivered", History{Ops: []Op{delivery("a")}}, []Kind{Lost}},
		{"a message was delivered under two IDs", History{Ops: []Op{delivery("a")},
			Effects: []Effect{line("a", 8), line("a", 9)}}, []Kind{Doubled}},
		{"news was never told", History{Notices: notice(true, map[string]int{})}, []Kind{Unheard}},
		{"news was told twice", History{Notices: notice(false, map[string]int{"mine": 2})}, []Kind{HeardTwice}},
		{"news was told to another", History{Notices: notice(true, map[string]int{"mine": 1, "other": 1})}, []Kind{Misdirected}},
		{"a file holds half a write", History{Ops: []Op{read("half of", 3, 4)}}, []Kind{Torn}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []Kind
			found := Check(test.h)
			for _, v := range found {
				got = append(got, v.Kind)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("found %v, want %v", found, test.want)
			}
		})
	}
}
