package otlp

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"callgate/tool"
)

// Sampling is which traces are sent, as OTEL_TRACES_SAMPLER has it. The zero value is parentbased_always_on: all, but
// for those that began elsewhere and are not recorded there.
type Sampling struct {
	Alone bool    // what a trace's beginning elsewhere decided does not count
	Some  bool    // of the traces that begin here, a part is sent
	Part  float64 // that part, with Some: between 0 and 1
}

// read reads the names of the samplers of OpenTelemetry's specification.
func (s *Sampling) read(name, arg string) error {
	const parent = "parentbased_"
	kind, isParent := strings.CutPrefix(name, parent)
	switch kind {
	case "":
		if isParent {
			return noSampler(name)
		}
		return nil
	case "always_on":
	case "always_off":
		s.Some, s.Part = true, 0
	case "traceidratio":
		s.Some, s.Part = true, 1
		if arg != "" {
			part, err := strconv.ParseFloat(arg, 64)
			if err != nil || !(part >= 0 && part <= 1) {
				return tool.Errorf("otlp.Read", tool.Invalid, "OTEL_TRACES_SAMPLER_ARG is %q", tool.Truncate(arg)).
					WithHint("write which part of the traces is sent, between 0 and 1, such as 0.1")
			}
			s.Part = part
		}
	default:
		return noSampler(name)
	}
	s.Alone = !isParent
	return nil
}

func noSampler(name string) error {
	return tool.Errorf("otlp.Read", tool.Invalid, "OTEL_TRACES_SAMPLER is %q, which is not known", tool.Truncate(name)).
		WithHint("write always_on, always_off, traceidratio, or one of these with parentbased_ before it")
}

// samples decides by the last 56 bits of a trace's ID, which are random, so that everybody who is asked for the
// same part decides alike.
func (s Sampling) samples(trace [16]byte, elsewhere *bool) bool {
	switch {
	case elsewhere != nil && !s.Alone:
		return *elsewhere
	case !s.Some:
		return true
	}
	const bits = 56
	at := binary.BigEndian.Uint64(trace[8:]) & (1<<bits - 1)
	return float64(at) < s.Part*math.Exp2(bits)
}
