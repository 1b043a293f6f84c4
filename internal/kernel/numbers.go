package kernel

import "callgate/internal/kernel/modelset"

// Numbers are what parts count that only the kernel has.
type Numbers struct {
	Models  []modelset.Asked // what models were asked
	Schemas int              // compiled schemas that the gate keeps
}

// NumbersOf returns the numbers of a kernel.
func NumbersOf(k *Kernel) Numbers {
	return Numbers{Models: k.models.Asked(), Schemas: k.gate.Schemas.Len()}
}
