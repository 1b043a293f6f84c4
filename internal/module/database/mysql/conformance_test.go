package mysql_test

import (
	"os"
	"testing"

	"callgate/internal/module/database/enginetest"
)

var servers enginetest.Servers

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

func TestConformance(t *testing.T) { enginetest.Run(t, enginetest.MariaDB(&servers)) }
