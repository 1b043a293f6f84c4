// Manual writes the manual pages of all commands into a folder, from the commands as the
// code has them, and the completions for shells into another.
//
//	manual FOLDER [COMPLETIONS]
//
// The same code gives the same bytes: the date of the pages is SOURCE_DATE_EPOCH's.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"callgate/internal/cli"
	"callgate/internal/version"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: manual FOLDER [COMPLETIONS]")
		os.Exit(2)
	}
	err := write(os.Args[1], os.Getenv("SOURCE_DATE_EPOCH"))
	if err == nil && len(os.Args) == 3 {
		err = complete(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// write writes the pages. epoch is their date in seconds; "": the year begins with the
// first one there was.
func write(folder, epoch string) error {
	seconds := int64(0)
	if epoch != "" {
		var err error
		if seconds, err = strconv.ParseInt(epoch, 10, 64); err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	date := time.Unix(seconds, 0).UTC()
	root := cli.Root(os.Getenv)
	plain(root)
	return doc.GenManTree(root, &doc.GenManHeader{
		Section: "1", Date: &date, Source: "callgate " + version.Version, Manual: "Callgate",
	}, folder)
}

// complete writes the completions under the names that shells look for.
func complete(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root := cli.Root(os.Getenv)
	return errors.Join(
		root.GenBashCompletionFileV2(filepath.Join(folder, "callgate"), true),
		root.GenZshCompletionFile(filepath.Join(folder, "_callgate")),
		root.GenFishCompletionFile(filepath.Join(folder, "callgate.fish"), true),
	)
}

// plain has the pages say nothing of when and by what they were made.
func plain(c *cobra.Command) {
	c.DisableAutoGenTag = true
	for _, child := range c.Commands() {
		plain(child)
	}
}
