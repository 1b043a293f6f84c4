package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

func model(nodes int) Model {
	return Model{
		Nodes: nodes, Cores: 4, CallsPerNode: 10, Call: time.Millisecond, Heartbeat: 200 * time.Microsecond,
		List: 100 * time.Microsecond, ListRow: 10 * time.Microsecond, HeartbeatEvery: 3 * time.Second,
		ListEvery: time.Second, Connections: 12,
	}
}

// Below its limit the database does what is asked, and is as busy as arithmetic says.
func TestArithmetic(t *testing.T) {
	t.Parallel()
	m := model(100)
	r := Simulate(m, 30*time.Second, 1)
	own := (100.0/3*0.0002 + 100*0.0011) / 4
	if want := 1000*0.001/4 + own; math.Abs(r.Use-want) > 0.02 || math.Abs(r.Nodes-own) > 0.002 {
		t.Errorf("it is busy %.3f, with nodes %.4f; want %.3f, %.4f", r.Use, r.Nodes, want, own)
	}
	if r.Connections != 1200 || r.Missed != 0 || r.Wait > 10*time.Millisecond || math.Abs(r.Done-1000) > 50 {
		t.Errorf("%+v", r)
	}
	if again := Simulate(m, 30*time.Second, 1); again != r {
		t.Errorf("once more it gives %+v, and before %+v", again, r)
	}
}

// Beyond its limit it does no more, and heartbeats come too late: nodes stop.
func TestOverload(t *testing.T) {
	t.Parallel()
	r := Simulate(model(1000), 30*time.Second, 1)
	if r.Use < 0.99 || r.Done > 4000 || r.Missed == 0 || r.Wait < lease/3 {
		t.Errorf("%+v", r)
	}
	alone := model(1000)
	alone.CallsPerNode, alone.ListEvery = 0, 0
	if r := Simulate(alone, 30*time.Second, 1); r.Use > 0.03 || r.Missed != 0 {
		t.Errorf("heartbeats alone: %+v", r)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(&out, []string{"--nodes", "1,10", "--seconds", "5"}); err != nil || strings.Count(out.String(), "\n") != 3 {
		t.Errorf("%v\n%s", err, out.String())
	}
	if run(&out, []string{"--nodes", "0"}) == nil {
		t.Error("no node is a cluster")
	}
}
