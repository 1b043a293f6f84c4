package policy

import "callgate/tool"

// LimitData returns the rules under which no tool gives data above a class, where they did not
// say a stricter one; "" changes nothing.
func (r *Rules) LimitData(most tool.DataClass) *Rules {
	if most == "" || r.data != "" && r.data.Level() <= most.Level() {
		return r
	}
	limited := *r
	limited.data = most
	return &limited
}
