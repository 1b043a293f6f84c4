// Command house reports on the source tree: its size by room, its largest parts,
// and what could be simpler. `make house` runs it. A report never fails a build:
// the command fails only if it cannot read the tree.
package main

import (
	"flag"
	"fmt"
	"os"

	"callgate/internal/house"
)

func main() {
	root := flag.String("C", ".", "report on the module in this `folder`")
	most := flag.Int("n", 5, "print up to this many entries of each list; 0 prints all")
	flag.Parse()
	tree, err := house.Read(*root, "callgate")
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	if err := house.Measure(tree, *root).Print(os.Stdout, *most); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
	}
}
