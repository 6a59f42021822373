//go:build !linux

package listen

import (
	"context"
	"net"
)

// RefuseHandshakes does nothing. Closing the listener resets connections that were established but not yet accepted.
func RefuseHandshakes(context.Context, net.Listener) {}
