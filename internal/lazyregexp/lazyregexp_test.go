package lazyregexp_test

import (
	"regexp"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/lazyregexp"
)

// Each method gives what the one of the same name in regexp gives.
func TestMethods(t *testing.T) {
	const expression, text = `(a)(b*)`, "xabbyab"
	lazy, plain := lazyregexp.New(expression), regexp.MustCompile(expression)
	upper := func(string) string { return "U" }
	for name, got := range map[string][2]any{
		"MatchString":                {lazy.MatchString(text), plain.MatchString(text)},
		"FindString":                 {lazy.FindString(text), plain.FindString(text)},
		"FindStringIndex":            {lazy.FindStringIndex(text), plain.FindStringIndex(text)},
		"FindStringSubmatch":         {lazy.FindStringSubmatch(text), plain.FindStringSubmatch(text)},
		"FindStringSubmatchIndex":    {lazy.FindStringSubmatchIndex(text), plain.FindStringSubmatchIndex(text)},
		"FindAllString":              {lazy.FindAllString(text, 1), plain.FindAllString(text, 1)},
		"FindAllStringIndex":         {lazy.FindAllStringIndex(text, -1), plain.FindAllStringIndex(text, -1)},
		"FindAllStringSubmatch":      {lazy.FindAllStringSubmatch(text, -1), plain.FindAllStringSubmatch(text, -1)},
		"FindAllStringSubmatchIndex": {lazy.FindAllStringSubmatchIndex(text, -1), plain.FindAllStringSubmatchIndex(text, -1)},
		"ReplaceAllString":           {lazy.ReplaceAllString(text, "$2"), plain.ReplaceAllString(text, "$2")},
		"ReplaceAllStringFunc":       {lazy.ReplaceAllStringFunc(text, upper), plain.ReplaceAllStringFunc(text, upper)},
		"Split":                      {lazy.Split(text, -1), plain.Split(text, -1)},
	} {
		if diff := cmp.Diff(got[1], got[0]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	r := lazyregexp.New("^a+$")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if !r.MatchString("aaa") {
				t.Error("no match")
			}
		})
	}
	all.Wait()
}

func TestInvalid(t *testing.T) {
	r := lazyregexp.New("(") // which costs nothing until it is used
	defer func() {
		if recover() == nil {
			t.Error("an invalid expression was used")
		}
	}()
	r.MatchString("x")
}
