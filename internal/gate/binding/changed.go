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
