package keys

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/dialog"
	"callgate/internal/cli/text"
	"callgate/internal/client"
	"callgate/internal/durable"
	"callgate/internal/protocol"
	"callgate/internal/signing"
	"callgate/internal/source/executable"
	"callgate/tool"
)

// sign is sign.
type sign struct {
	*command.Env
	key, keyFile string
}

func newSign(e *command.Env) *cobra.Command {
	s := &sign{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "sign FILE ...", Short: "Sign manifests, tools and catalogs",
		Long: `Sign files: each gets a signature in a file beside it, FILE.minisig. The signature of
a manifest is one of its executable too. With a key of the kernel's, a person signs, at
a terminal: what a trusted key signed is loaded.`,
		Example: "  callgate sign prompts/triage.yaml\n  callgate sign --key acme tools/global/*.json\n" +
			"  callgate sign --key-file acme.key catalog.json",
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, s.run)
	c.Flags().StringVar(&s.key, "key", "", "sign with your own key `NAME` (default the only one)")
	c.Flags().StringVar(&s.keyFile, "key-file", "", "sign with the secret key in `FILE`, of minisign")
	c.MarkFlagsMutuallyExclusive("key", "key-file")
	return c
}

// signed is what became of a file.
type signed struct {
	File      string `json:"file"`
	Signature string `json:"signature"`
}

func (s *sign) run(ctx context.Context, args []string) error {
	if s.keyFile == "" {
		return s.WithKey(ctx, func(k *command.Kernel) error {
			question := fmt.Sprintf("Sign %s?", text.OneLine(strings.Join(args, ", ")))
			if ok, err := s.Consent(ctx, k, true, question); err != nil || !ok {
				return err
			}
			return s.each(args, func(data []byte, c signing.Comment) ([]byte, error) {
				return client.NewKeys(k.Client).Sign(ctx, protocol.Sign{
					Key: s.key, File: c.File, Data: data, Program: c.Program, By: s.UserName(),
				})
			})
		})
	}
	secretText, err := readFile(s.Path(s.keyFile), 1<<10)
	if err != nil {
		return err
	}
	password := ""
	if signing.NeedsPassword(secretText) {
		if password, err = readPassword(ctx, s.Env, "the password of "+s.keyFile); err != nil {
			return err
		}
	}
	secret, err := signing.ParseSecret(secretText, password)
	if err != nil {
		return err
	}
	return s.each(args, secret.Sign)
}

// each signs the files.
func (s *sign) each(args []string, do func([]byte, signing.Comment) ([]byte, error)) error {
	var done []signed
	for _, arg := range args {
		path := s.Path(arg)
		data, err := readFile(path, signing.MaxFile)
		if err != nil {
			return err
		}
		c := signing.Comment{File: filepath.Base(path), Time: time.Now()}
		if isManifest(data) {
			if c.Program, err = executable.ProgramOf(path); err != nil {
				return err
			}
		}
		signature, err := do(data, c)
		if err != nil {
			return err
		}
		if err := durable.Write(path+signing.Suffix, signature, 0o644); err != nil {
			return err
		}
		done = append(done, signed{arg, arg + signing.Suffix})
	}
	if s.JSON {
		return s.WriteJSON(done)
	}
	for _, d := range done {
		s.Status("signed %s", text.OneLine(d.File))
	}
	return nil
}

// isManifest reports whether a text is the manifest of an executable tool.
func isManifest(data []byte) bool {
	var m struct{ LLM, Runtime json.RawMessage }
	return json.Unmarshal(data, &m) == nil && m.LLM != nil && m.Runtime != nil
}

// verify is verify.
type verify struct {
	*command.Env
	key string
}

func newVerify(e *command.Env) *cobra.Command {
	v := &verify{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "verify FILE ...", Short: "Check the signatures of files",
		Long: `Check the signatures that stand beside files, in FILE.minisig: by the keys that you
trust, or by one public key. The exit code is not 0 where one does not count.`,
		Example: "  callgate verify prompts/*.yaml\n  callgate verify --by acme.key.pub catalog.json",
		Args:    cobra.MinimumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, v.run)
	c.Flags().StringVar(&v.key, "by", "", "check by this public `KEY`, or the file that holds it")
	return c
}

// verified is what became of a file.
type verified struct {
	File    string    `json:"file"`
	OK      bool      `json:"ok"`
	Key     string    `json:"key,omitempty"`
	Signed  time.Time `json:"signed,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	Problem string    `json:"problem,omitempty"`
}

func (v *verify) run(ctx context.Context, args []string) error {
	keys, err := v.keys(ctx)
	if err != nil {
		return err
	}
	var all []verified
	bad := 0
	for _, arg := range args {
		one := v.check(arg, keys)
		if !one.OK {
			bad++
		}
		all = append(all, one)
	}
	if v.JSON {
		if err := v.WriteJSON(all); err != nil {
			return err
		}
	}
	for _, one := range all {
		switch {
		case v.JSON:
		case one.OK:
			v.Status("%s: signed with %s on %s", text.OneLine(one.File), one.Key, one.Signed.Format(time.DateTime))
		default:
			v.Status("%s: %s", text.OneLine(one.File), one.Problem)
		}
	}
	if bad > 0 {
		return tool.Errorf("cli.verify", tool.Denied, "%d of %d files do not count as signed", bad, len(args))
	}
	return nil
}

func (v *verify) check(arg string, keys []signing.Key) verified {
	fail := func(err error) verified {
		one := verified{File: arg, Problem: err.Error()}
		var r *signing.Refusal
		if errors.As(err, &r) {
			one.Reason = string(r.Reason)
		}
		return one
	}
	path := v.Path(arg)
	data, err := readFile(path, signing.MaxFile)
	if err != nil {
		return fail(err)
	}
	signature, _ := readFile(path+signing.Suffix, signing.MaxSignature) // none, where it cannot be read
	ok, err := signing.Verify(filepath.Base(path), data, signature, keys)
	if err == nil && isManifest(data) {
		var program string
		if program, err = executable.ProgramOf(path); err == nil && program != ok.Program {
			err = signing.Refuse(signing.Other, "if the change is meant, have it signed again: callgate sign "+arg,
				"the executable of %s is not the one that was signed with it", arg)
		}
	}
	if err != nil {
		return fail(err)
	}
	return verified{File: arg, OK: true, Key: ok.Key.ID(), Signed: ok.Time}
}

// keys are those by which files are checked.
func (v *verify) keys(ctx context.Context) (keys []signing.Key, err error) {
	if v.key != "" {
		written := v.key
		if data, err := readFile(v.Path(written), 1<<10); err == nil {
			written = string(data)
		}
		key, err := signing.ParseKey(written)
		return []signing.Key{key}, err
	}
	err = v.With(ctx, func(k *command.Kernel) error {
		all, err := client.NewKeys(k.Client).List(ctx)
		for _, one := range all {
			if key, err := signing.ParseKey(one.Key); err == nil && one.Trusted {
				keys = append(keys, key)
			}
		}
		return err
	})
	return keys, err
}

// readPassword reads a password: typed by a person, who does not see it, or a line of standard
// input.
func readPassword(ctx context.Context, e *command.Env, what string) (string, error) {
	if fd, ok := command.Terminal(e.Stdin); ok {
		typed, err := dialog.ReadHidden(ctx, fd, func() {
			fmt.Fprintf(e.Stderr, "%s (it is not shown): ", text.OneLine(what))
		})
		e.Status("")
		return string(typed), err
	}
	data, err := io.ReadAll(io.LimitReader(e.Stdin, 1<<10))
	if err != nil {
		return "", &tool.Error{Op: op, Kind: tool.Failed, Message: "standard input cannot be read", Err: err}
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return string(bytes.TrimSuffix(line, []byte("\r"))), nil
}
