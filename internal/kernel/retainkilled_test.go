package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"callgate/internal/app/retain"
	"callgate/internal/artifact"
	"callgate/internal/conversation"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/retention"
	"callgate/internal/programtest"
)

// retainVariable has the test program remove by rule, and kill itself after a step: "STEP STATE".
const retainVariable = "CALLGATE_TEST_RETAIN_UNTIL"

// removal is what a keeper removes of a kernel, a step at a time.
type removal struct {
	retention.Epochs
	*conversation.Manager
	step func()
}

func (r removal) Open(id string) bool { _, err := r.Get(id); return err == nil }

func (r removal) Delete(ctx context.Context, id string) error {
	defer r.step()
	return r.Manager.Delete(ctx, id)
}

func (r removal) Drop(ctx context.Context, before time.Time, dry bool) (uint64, time.Time, error) {
	defer r.step()
	return r.Epochs.Drop(ctx, before, dry)
}

// newRemoval makes what removes everything that has ended, and calls step after each step of that.
func newRemoval(k *kernel.Kernel, step func()) *retention.Keeper {
	r := removal{retention.Epochs{Journal: k.Journal}, k.Conversations, step}
	ended := retain.Limit{Age: time.Nanosecond}
	return retention.New(retention.Options{
		Rules: func() (retain.Rules, error) {
			return retain.Rules{Journal: ended, Conversations: ended, Tasks: ended}, nil
		},
		Journal: r, Conversations: r,
		Tasks:        func(context.Context, time.Time) (int, error) { step(); return 0, nil },
		Artifacts:    func(context.Context, time.Time) (artifact.Usage, error) { return artifact.Usage{}, nil },
		ArtifactSize: func(context.Context) (int64, error) { return 0, nil },
		Images:       func(context.Context, time.Time) error { return nil },
		Log:          filepath.Join(os.TempDir(), "none.log"), Warn: slog.New(slog.DiscardHandler),
		Record: func(note string) error { return k.Journal.Append(journal.Record{Kind: journal.Noted, Note: note}) },
	})
}

// playRemoval is the process that is killed.
func playRemoval(value string) {
	count, state, _ := strings.Cut(value, " ")
	left, err := strconv.Atoi(count)
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("CALLGATE_KEYRING", "off")
	k, err := kernel.Open(context.Background(), kernel.Config{State: state})
	if err != nil {
		panic(err)
	}
	if err := k.Journal.Append(journal.Record{Kind: journal.Noted, Note: "another epoch"}); err != nil {
		panic(err)
	}
	_, err = newRemoval(k, func() {
		if left--; left == 0 {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			programtest.Hang() // nothing more is done while the system ends it
		}
	}).Once(context.Background(), false)
	fmt.Println("it was not killed:", err)
}

// A process that removes by rule is killed after each of its steps: the journal verifies, a conversation is there whole
// or not at all, and the next run removes the rest and says so.
func TestRemovalByRuleIsKilled(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	ok(t, err)
	made := kerneltest.StateDir(t)
	k := kerneltest.Open(t, made)
	folder := folderIn(t, "talks")
	write(t, filepath.Join(folder, "a.txt"), "hello")
	for range 3 {
		c := kerneltest.OpenConversation(t, k, folder)
		kerneltest.Send(t, c, "filesystem.read path=a.txt")
	}
	ok(t, k.Close())
	for step, wants := range []int{2, 1, 0, 0, 0} { // conversations that are left: three steps, the records, the tasks
		t.Run(fmt.Sprint("after step ", step+1), func(t *testing.T) {
			t.Parallel()
			state := kerneltest.StateDir(t)
			ok(t, os.CopyFS(filepath.Join(state, "copy"), os.DirFS(made)))
			state = filepath.Join(state, "copy")
			ok(t, filepath.WalkDir(state, func(path string, e fs.DirEntry, err error) error {
				mode := fs.FileMode(0o600)
				if err == nil && e.IsDir() {
					mode = 0o700
				}
				return errors.Join(err, os.Chmod(path, mode))
			}))
			child := exec.Command(program)
			child.Env = append(os.Environ(), retainVariable+"="+strconv.Itoa(step+1)+" "+state)
			if out, err := child.CombinedOutput(); err == nil || len(out) > 0 {
				t.Fatalf("%v: %s", err, out)
			}
			k := kerneltest.Open(t, state)
			report, err := k.Journal.Verify(t.Context())
			ok(t, err)
			if len(report.Problems) > 0 || (report.Dropped > 0) != (step >= 3) {
				t.Errorf("the journal: %+v", report)
			}
			list, err := k.Conversations.List(t.Context(), 0)
			ok(t, err)
			if len(list) != wants {
				t.Errorf("%d conversations are left of three, want %d", len(list), wants)
			}
			for _, info := range list {
				if events := kerneltest.History(t, k, info.ID); len(events) < 4 || len(kerneltest.CallsMade(t, k, info.ID)) != 1 {
					t.Errorf("of %s there are %d events", info.ID, len(events))
				}
			}
			ok(t, k.Journal.Append(journal.Record{Kind: journal.Noted, Note: "one more epoch"}))
			_, err = newRemoval(k, func() {}).Once(t.Context(), false)
			ok(t, err)
			if list, err = k.Conversations.List(t.Context(), 0); err != nil || len(list) > 0 {
				t.Errorf("after the next run %d are left, %v", len(list), err)
			}
			report, err = k.Journal.Verify(t.Context())
			ok(t, err)
			if len(report.Problems) > 0 || report.Dropped == 0 {
				t.Errorf("after the next run: %+v", report)
			}
			records, err := k.Journal.Read(t.Context(), journal.Query{Kind: journal.Noted, Newest: true, Limit: 1})
			ok(t, err)
			if len(records) != 1 || !strings.HasPrefix(records[0].Note, "removed by the rules of retain: ") {
				t.Errorf("on record: %+v", records)
			}
		})
	}
}
