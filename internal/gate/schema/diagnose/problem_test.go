package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/schema/diagnose"
	"callgate/internal/gate/schema/schematest"
)

func TestProblemsAreSortedByPath(t *testing.T) {
	t.Parallel()
	s := schematest.Library(t,
		`{"required":["q"],"properties":{"l":{"items":{"type":"integer"}},`+
			`"o":{"required":["p"],"minProperties":2,"properties":{"n":{"type":"integer"}}}}}`)
	problems := diagnose.Validate(s, schematest.Value(t, `{"l":["a",1,2,3,4,5,6,7,8,9,"b"],"o":{"n":"x"}}`))
	var paths []string
	for _, p := range problems {
		paths = append(paths, strings.Join(p.At, "/"))
	}
	if diff := cmp.Diff([]string{"", "l/0", "l/10", "o", "o", "o/n"}, paths); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for path, want := range map[string]struct {
		here   int
		within bool
	}{
		"": {1, true}, "l": {0, true}, "l/0": {1, true}, "l/1": {0, false},
		"o": {2, true}, "o/n": {1, true}, "o/n/z": {0, false}, "zz": {0, false},
	} {
		at := slices.DeleteFunc(strings.Split(path, "/"), func(token string) bool { return token == "" })
		if here := len(diagnose.At(problems, at)); here != want.here {
			t.Errorf("%d problems at %q, want %d", here, path, want.here)
		}
		if within := diagnose.Within(problems, at); within != want.within {
			t.Errorf("within %q: %v", path, within)
		}
	}
	if missing := problems[0].Missing(); !slices.Equal(missing, []string{"q"}) {
		t.Errorf("missing %q", missing)
	}
	if diagnose.Validate(s, schematest.Value(t, `{"q":1}`)) != nil {
		t.Error("a valid value has problems")
	}
}

func TestAlternativesOfOtherTypesAreMerged(t *testing.T) {
	t.Parallel()
	s := schematest.Library(t,
		`{"anyOf":[{"type":"integer"},{"type":["integer","boolean"]},{"enum":["a"]},{"oneOf":[{"const":"b"},false]}]}`)
	problems := diagnose.Validate(s, "c")
	if len(problems) != 1 {
		t.Fatalf("%d problems", len(problems))
	}
	want := &diagnose.Alternatives{Types: []string{"integer", "boolean"}, Values: []any{"a", "b"}}
	got, _ := problems[0].Kind.(*diagnose.Alternatives)
	if got != nil {
		slices.SortFunc(got.Types, func(a, b string) int { return strings.Compare(b, a) })
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
