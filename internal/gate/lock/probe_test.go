package lock_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

func TestPathsAreCanonical(t *testing.T) {
	t.Parallel()
	for resource, want := range map[string]string{
		"file:/a/b": "file:a/b/", "file://a///b/": "file:a/b/", "file:a": "file:a/", "file:": "file:",
		"file:///": "file:", "file:C:/a": "file:C:/a/", "a/b:c": "a/b:c/", "a:\x00\xff": "a:\x00\xff/",
	} {
		if got := lock.Path(resource); got != want {
			t.Errorf("%q is at %q, want %q", resource, got, want)
		}
	}
	for path, want := range map[string][]string{
		"file:": nil, "file:a/": {"file:"}, "file:a/b/c/": {"file:", "file:a/", "file:a/b/"}, "a/b:c/": {"a/b:"},
	} {
		if got := lock.Above(path); !slices.Equal(got, want) {
			t.Errorf("above %q are %q, want %q", path, got, want)
		}
	}
}

// finds reports whether a request's probes find another one's claim.
func finds(probes []lock.Probe, c tool.Claim) bool {
	path := lock.Path(c.Resource)
	return slices.ContainsFunc(probes, func(p lock.Probe) bool {
		at := path == p.Path
		if p.Below {
			at = path != p.Path && strings.HasPrefix(path, p.Path)
		}
		return at && p.Modes.Has(c.Mode)
	})
}

// Every pair of claims on every pair of places: the probes find what the law says, from either side.
func TestProbesFindEveryConflictOfTwoClaims(t *testing.T) {
	t.Parallel()
	for _, a := range resources {
		for _, b := range resources {
			for m := tool.IS; m <= tool.X; m++ {
				for n := tool.IS; n <= tool.X; n++ {
					one, other := tool.Claim{Resource: a, Mode: m}, tool.Claim{Resource: b, Mode: n}
					want := conflict(one, other)
					if got := finds(lock.Probes([]tool.Claim{one}), other); got != want {
						t.Errorf("%v %s finds %v %s: %v, want %v", m, a, n, b, got, want)
					}
					if _, got := lock.Conflict([]tool.Claim{one}, other); got != want {
						t.Errorf("%v %s conflicts with %v %s: %v, want %v", m, a, n, b, got, want)
					}
				}
			}
		}
	}
}

func TestProbesOfARequestAreThoseOfItsClaims(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	claim := func() tool.Claim {
		return tool.Claim{Resource: resources[random.IntN(len(resources))], Mode: tool.IS + tool.Mode(random.IntN(5))}
	}
	for range 2000 {
		request := []tool.Claim{claim(), claim(), claim()}
		probes := lock.Probes(request)
		seen := map[string]bool{}
		for _, p := range probes {
			if key := fmt.Sprint(p.Path, p.Below); seen[key] {
				t.Fatalf("%v looks twice at %s", request, key)
			} else {
				seen[key] = true
			}
		}
		other := claim()
		if got, want := finds(probes, other), conflicts(request, []tool.Claim{other}); got != want {
			t.Fatalf("%v finds %v: %v, want %v", request, other, got, want)
		}
		if mine, is := lock.Conflict(request, other); is && !conflict(mine, other) {
			t.Fatalf("%v of %v does not conflict with %v", mine, request, other)
		}
	}
}
