// Command house prints the tail of the source tree: its largest packages, files,
// functions, types and lines. `make house` runs it.
package main

import (
	"flag"
	"fmt"
	"os"

	"callgate/internal/house"
)

func main() {
	root := flag.String("C", ".", "the module's root")
	most := flag.Int("n", 8, "how many of each kind to print")
	flag.Parse()
	tree, err := house.Read(*root, "callgate")
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	house.Measure(tree).Print(os.Stdout, *most)
}
