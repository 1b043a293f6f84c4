package main

import (
	"context"
	"fmt"
)

func Example() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// call: success "hello Ada ×2" [times: "2" (text) taken as the number 2]
	// approve: demo.launch {"city":"Paris"} (demo.launch is of high risk and the app file has no tools.capabilities, so a human must approve this call first)
	// approved: success "fireworks over Lyon"
	// search: filesystem.read
	// agent called: demo__greet success
	// agent said: The tool answered "hello Grace ×1"
	// question: How is it served? Port (integer)
	// agent said: It is served at port 8080
}
