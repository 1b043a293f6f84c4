package binding

import (
	"fmt"
	"slices"
	"strings"

	"callgate/tool"
)

// Changed names the resources that claims change, for a person who is to look at them.
func Changed(claims []tool.Claim) string {
	const most = 3
	var names []string
	for _, claim := range claims {
		if claim.Mode.Writes() && claim.Mode != tool.IX { // an intention names no one thing
			names = append(names, claim.Resource)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// Difference says in which resources two bindings of one call differ.
func Difference(before, now []tool.Claim) string {
	return "what it touches changed from " + listMissing(before, now) + " to " + listMissing(now, before)
}

// listMissing names the claims of a list that another list lacks.
func listMissing(list, other []tool.Claim) string {
	var names []string
	for _, claim := range list {
		if !slices.Contains(other, claim) {
			names = append(names, strings.TrimPrefix(claim.Resource, "file:"))
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return tool.TruncateTo(strings.Join(names, ", "), 200)
}
