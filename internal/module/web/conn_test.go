package web_test

import (
	"net"
	"net/http"
	"sync"
)

// connStates counts the connections of a server that are open.
func connStates(mu *sync.Mutex, counts map[string]int) func(net.Conn, http.ConnState) {
	return func(_ net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		switch s {
		case http.StateNew:
			counts["open"]++
		case http.StateClosed, http.StateHijacked:
			counts["open"]--
		}
	}
}
