package match

import (
	"fmt"

	"callgate/internal/gate/shellcmd"
)

// Why says why a call does not fit, for the human who wrote the pattern; "" if it
// does.
func (p *Pattern) Why(c *Call) string {
	if p.Fits(c) {
		return ""
	}
	if p.exact != nil {
		if p.exact.fits(c) {
			return "a file that it names is not what it was"
		}
		return "the arguments are not the same"
	}
	if !p.coversInput(c) {
		if c.isInput() {
			return "it is input for a program that runs, not a command of its own"
		}
		return "it gives its command input (stdin_text), of which the pattern says nothing"
	}
	for i := range p.conditions {
		k := &p.conditions[i]
		value, ok := c.value(k.param)
		if !ok {
			return "it has no argument " + k.param
		}
		text, isText := value.(string)
		if k.param == paramCommand && isText && p.commands {
			if doubt := c.line(text).Doubt; doubt != "" {
				return doubt
			}
			if cmd := c.line(text).FirstRefused(func(cmd *shellcmd.Command) bool { return p.covers(c, cmd) || c.staysInside(cmd) || cmd.Filters() }); cmd != "" {
				return fmt.Sprintf("its command %s does not fit", quote(cmd))
			}
		}
		if !k.fits(c) {
			return fmt.Sprintf("%s is %s", k.param, describe(value))
		}
	}
	return ""
}
