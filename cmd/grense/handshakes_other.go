//go:build !linux

package main

import (
	"context"
	"net"
)

// refuseHandshakes does nothing: connections that the kernel has opened and Grense has not accepted are reset when
// the listener is closed.
func refuseHandshakes(context.Context, net.Listener) {}
