package redaction_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/redaction"
	"callgate/internal/secret"
	"callgate/tool"
)

const password = "correct-horse-battery-staple"

// vaultWithPassword returns a vault that knows password under the name PASSWORD.
func vaultWithPassword(t *testing.T) *secret.Vault {
	t.Helper()
	vault, err := secret.Open(filepath.Join(t.TempDir(), "secrets.box"))
	if err == nil {
		err = vault.Set("PASSWORD", []byte(password))
	}
	if err != nil {
		t.Fatal(err)
	}
	return vault
}

// fill sets every text in v to text. Slices get one element, pointers a value. It fails the test for a type
// that it does not know: a new field of a result must not escape the tests that use it.
func fill(t *testing.T, v reflect.Value, path, text string) {
	t.Helper()
	switch at := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*at, _ = json.Marshal(map[string]string{"found": text})
		return
	case *[]byte:
		*at = []byte(text)
		return
	case *error:
		*at = errors.New(text)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), path+"."+v.Type().Field(i).Name, text)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), path, text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), path+"[0]", text)
	case reflect.Bool, reflect.Int, reflect.Int64:
	default:
		t.Fatalf("%s: fill knows no %v", path, v.Type())
	}
}

// texts calls visit with every text in v, as a model or a log would get it.
func texts(v reflect.Value, path string, visit func(path, text string)) {
	switch at := v.Interface().(type) {
	case json.RawMessage:
		visit(path, string(at))
		return
	case []byte:
		visit(path, string(at))
		return
	case error:
		if v.Kind() == reflect.Interface {
			visit(path, at.Error())
			return
		}
	}
	switch v.Kind() {
	case reflect.String:
		visit(path, v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			texts(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			texts(v.Elem(), path, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	}
}

// TestNoSecretInAnyField tests that Scrub leaves no secret in any text of a result, whichever field holds it,
// and that it does not change what the tool itself keeps.
func TestNoSecretInAnyField(t *testing.T) {
	t.Parallel()
	redactor := &redaction.Redactor{Secrets: vaultWithPassword(t)}
	var kept, before tool.Result
	fill(t, reflect.ValueOf(&kept).Elem(), "Result", "before "+password+" after")
	fill(t, reflect.ValueOf(&before).Elem(), "Result", "before "+password+" after")
	r := kept
	redactor.Scrub(&r)

	visited := 0
	texts(reflect.ValueOf(r), "Result", func(path, text string) {
		visited++
		switch {
		case strings.Contains(text, password):
			t.Errorf("%s holds the secret: %s", path, text)
		case path == "Result.Status" || path == "Result.Error.Kind":
			// These are words from a list: one that holds a secret is replaced as a whole.
		case strings.HasPrefix(path, "Result.Warnings[") && text == secret.TakenOut:
		case !strings.Contains(text, "before [secret PASSWORD] after"):
			t.Errorf("%s lost more than the secret: %s", path, text)
		}
	})
	if visited < 25 { // as many as there are now, about
		t.Errorf("only %d texts were looked at", visited)
	}
	if !slices.Contains(r.Warnings, secret.TakenOut) {
		t.Errorf("the result does not say that secrets were taken out: %q", r.Warnings)
	}
	if !reflect.DeepEqual(before, kept) {
		t.Errorf("the tool's own result changed from %+v to %+v", before, kept)
	}
}

// TestScrubWithoutSecrets tests that a result without secrets stays as it is.
func TestScrubWithoutSecrets(t *testing.T) {
	t.Parallel()
	redactor := &redaction.Redactor{Secrets: vaultWithPassword(t)}
	var r, want tool.Result
	for _, v := range []*tool.Result{&r, &want} {
		fill(t, reflect.ValueOf(v).Elem(), "Result", "nothing")
		v.Error.Err = nil
	}
	redactor.Scrub(&r)
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("the result changed (-want +got):\n%s", diff)
	}
}
