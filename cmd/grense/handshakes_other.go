//go:build !linux

package main

import (
	"context"
	"net"
)

// refuseHandshakes does nothing. Closing the listener resets connections that were established but not yet accepted.
func refuseHandshakes(context.Context, net.Listener) {}
