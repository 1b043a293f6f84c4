package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"callgate/internal/module/database/enginetest"
)

// startPostgres starts the PostgreSQL server that all tests of the run share. Without
// PostgreSQL the tests that need it are skipped and say so. The folder depends only on
// the checkout: the go command reuses a test's result only if its environment is the same.
func (r *run) startPostgres() error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("callgate-postgres-%x", sha256.Sum256([]byte(here)))[:30])
	stop, err := enginetest.StartShared(dir)
	if enginetest.NotInstalled(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("starting PostgreSQL for the tests: %w", err)
	}
	r.close = stop
	r.env = append(r.env, enginetest.SharedVariable+"="+dir)
	return nil
}
