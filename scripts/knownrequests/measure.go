package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"callgate/internal/search"
	"callgate/internal/search/embed"
	"callgate/internal/search/known"
	"callgate/internal/search/known/build"
	"callgate/tool"
)

// unseen is the share of servers that no training has seen: see model/requests.py.
const shares, unseen = 20, 1

func share(server string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(server))
	return h.Sum32() % shares
}

// compare asks requests of the kinds B and D for tools of servers that the model does not know,
// with those of A and C carried and without.
// With strangers all requests are carried instead, but none for the tools that are asked for.
func compare(tools []catalogTool, asked []request, most int, strangers bool) error {
	ids, servers := map[*tool.Tool]string{}, map[string]string{}
	for _, t := range tools {
		servers[t.ID] = t.Server
	}
	list, kinds := asked, "AC"
	if strangers {
		kinds = "ABCD"
		list = slices.DeleteFunc(slices.Clone(asked), func(r request) bool { return share(servers[r.id]) == unseen })
	}
	data, err := build.Encode(carried(tools, list, kinds))
	if err != nil {
		return err
	}
	table, err := known.Open(data)
	if err != nil {
		return err
	}
	model, err := embed.Builtin()
	if err != nil {
		return err
	}
	all := make([]*tool.Tool, len(tools))
	for i, t := range tools {
		all[i] = &tool.Tool{
			ID:   tool.ID{Namespace: "mcp_" + t.Server[strings.LastIndexByte(t.Server, '/')+1:], Name: t.Name},
			Spec: tool.Spec{Description: t.Description, Input: t.Parameters},
		}
		ids[all[i]] = t.ID
	}
	of := func(t *tool.Tool) []string { return table.Requests(t.ID.Name, t.Spec.Description) }
	fmt.Printf("%d bytes; ", len(data))
	recognise(all, of)
	queries := map[string][]request{}
	for _, r := range asked {
		if share(servers[r.id]) == unseen && len(queries[r.kind]) < most && strings.Contains("BD", r.kind) {
			queries[r.kind] = append(queries[r.kind], r)
		}
	}
	cache, err := os.MkdirTemp("", "knownrequests")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	for _, o := range []struct {
		name  string
		known func(*tool.Tool) []string
	}{{"without", nil}, {"with", of}} {
		for _, start := range []string{"anew", "from the cache"} {
			options := search.Options{
				Embedder: search.Static{Model: model}, Known: o.known, MaxKnown: len(all), Cache: cache + "/" + o.name,
			}
			if err := one(o.name+", indexed "+start, options, all, ids, queries); err != nil {
				return err
			}
		}
	}
	return nil
}

// recognise says how many tools are known.
func recognise(all []*tool.Tool, of func(*tool.Tool) []string) {
	recognised, from := 0, time.Now()
	for _, t := range all {
		if len(of(t)) > 0 {
			recognised++
		}
	}
	fmt.Printf("%d of %d tools are recognised, %v a tool\n",
		recognised, len(all), time.Since(from)/time.Duration(len(all)))
}

// one measures one way to search.
func one(
	name string, o search.Options, list []*tool.Tool, ids map[*tool.Tool]string, queries map[string][]request,
) error {
	before, from := heap(), time.Now()
	index := search.New(o)
	c, err := index.Catalog(context.Background(), list)
	if err != nil {
		return err
	}
	took := time.Since(from)
	fmt.Printf("%s: %v, %d MB\n", name, took.Round(time.Millisecond), (heap()-before)>>20)
	for _, kind := range []string{"B", "D"} {
		var times []time.Duration
		hits := 0
		for _, r := range queries[kind] {
			from := time.Now()
			found, err := c.Search(context.Background(), search.Request{Queries: []string{r.text}})
			if err != nil {
				return err
			}
			times = append(times, time.Since(from))
			if slices.ContainsFunc(found.Answers[0].Hits, func(h search.Hit) bool { return ids[h.Tool] == r.id }) {
				hits++
			}
		}
		slices.Sort(times)
		n := float64(len(times))
		share := float64(hits) / n
		fmt.Printf("  %s: recall@5 %.3f ± %.3f, n %d, median %v\n",
			kind, share, 1.96*math.Sqrt(share*(1-share)/n), len(times), times[len(times)/2])
	}
	return index.Close()
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
