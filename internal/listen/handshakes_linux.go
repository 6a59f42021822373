package listen

import (
	"context"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// handshakeTime is how long RefuseHandshakes waits for TCP handshakes that have already begun.
const handshakeTime = 300 * time.Millisecond

// RefuseHandshakes makes the kernel drop the first packets (SYN) of new connections to l, and waits until all
// established connections have been accepted. Otherwise closing l would reset them. Clients whose SYN was dropped retry
// after a second. It returns when ctx ends, and at once if the system has no such filter.
func RefuseHandshakes(ctx context.Context, l net.Listener) {
	c, ok := l.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		filter := unix.SockFprog{Len: uint16(len(withoutSYN)), Filter: &withoutSYN[0]}
		if unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &filter) != nil {
			return
		}
		time.Sleep(handshakeTime)
		poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
		if err != nil {
			return
		}
		defer syscall.Close(poll)
		if syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, int(fd), &syscall.EpollEvent{Events: syscall.EPOLLIN}) != nil {
			return
		}
		for ctx.Err() == nil {
			n, err := syscall.EpollWait(poll, make([]syscall.EpollEvent, 1), 0)
			if n == 0 && err == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// withoutSYN is a socket filter that drops TCP segments with SYN and without ACK (RFC 9293, 3.1).
var withoutSYN = [...]unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 13}, // load the flags
	{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0x12},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: 0x02},
	{Code: unix.BPF_RET | unix.BPF_K},
	{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18}, // accept: keep all bytes
}
