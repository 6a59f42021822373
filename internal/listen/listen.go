// Package listen opens the listeners of a server and limits the connections that they accept. Its errors say what to
// change.
package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// Unix opens a Unix socket at path with the permissions mode. It removes a socket on which no program listens any
// more. Its errors say what to change.
func Unix(ctx context.Context, path string, mode fs.FileMode) (net.Listener, error) {
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	var how net.ListenConfig
	l, err := how.Listen(ctx, "unix", path)
	if err == nil {
		if err = os.Chmod(path, mode); err != nil {
			l.Close()
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("cannot listen on %s: its folder does not exist; create it, or choose another one "+
			"with --addr", path)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("no permission to listen on %s; choose a folder that you can write to with --addr", path)
	case err != nil:
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err // does not repeat the path
		}
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another path with --addr", path, err)
	}
	return l, nil
}

// removeStale removes the socket at path, if there is one, unless a program listens on it.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil // the listener reports what is wrong, if anything
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is not a socket; remove it, or choose another path with --addr", path)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		conn.Close()
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no permission for the socket %s; remove it, or choose another path with --addr", path)
	}
	return fmt.Errorf("%s is in use by another program; stop that one, or choose another path with --addr", path)
}

// local is the address of the clients of a Unix socket: they are on this machine.
var local = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}

// remoteOf returns the address of the client of c.
func remoteOf(c net.Conn) net.Addr {
	if a := c.RemoteAddr(); a.Network() != "unix" {
		return a
	}
	return local
}

// TCP opens addr. Its errors say what to change; flag is the name of the flag for addr.
func TCP(ctx context.Context, addr, flag string) (net.Listener, error) {
	var how net.ListenConfig
	how.SetMultipathTCP(false) // sockets of MPTCP ignore filters; see RefuseHandshakes
	l, err := how.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf(
			"%s is in use by another program; stop that one, or choose another port with %s (port 0 takes a free one)",
			addr,
			flag,
		)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("no permission to listen on %s; choose a port above 1023 with %s", addr, flag)
	case err != nil:
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err // does not repeat the address
		}
		return nil, fmt.Errorf("cannot listen on %s: %w; choose an address of this machine with %s", addr, err, flag)
	}
	return l, nil
}
