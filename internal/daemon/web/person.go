package web

import (
	"net/http"
	"sync"

	"callgate/internal/client"
	"callgate/internal/daemon/console"
	"callgate/internal/daemon/httpapi/route"
)

// people are those who are logged in at pages, by their tokens: each has one client, so that what it has
// open is found again by the next page.
type people struct {
	server *Server

	mu      sync.Mutex
	clients map[string]*client.Client
}

// client is that of the person who sent a request: its requests come through the same roles.
func (p *people) client(r *http.Request) *client.Client {
	login, _ := route.LoginOf(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.clients[login.ID]
	if c == nil {
		c = client.New(client.Options{Carry: roundTripper{p.server, login}})
		p.clients[login.ID] = c
	}
	return c
}

// person is who sent a request.
func (p *people) person(r *http.Request) console.Person {
	login, _ := route.LoginOf(r)
	value, _ := p.server.valueOf(r)
	return console.Person{Name: login.Name, Role: string(login.Role), CSRF: csrfFor(value)}
}

// forget forgets whose token has ended.
func (p *people) forget(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.clients, token)
}
