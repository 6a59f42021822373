package main

import (
	"context"
	"net"
	"syscall"
	"time"
)

// handshakeTime is how long the last packet of a handshake may take that began before refuseHandshakes.
const handshakeTime = 300 * time.Millisecond

// refuseHandshakes lets the kernel drop the first packets (SYN) of new connections to l, and waits until those that clients have already
// opened are accepted: the kernel resets what is not when l is closed. A client whose packet was dropped tries again after a second. It waits
// until ctx ends at most, and not at all if the system has no such filter.
func refuseHandshakes(ctx context.Context, l net.Listener) {
	c, ok := l.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		if syscall.AttachLsf(int(fd), withoutSYN[:]) != nil {
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

// withoutSYN drops TCP segments (RFC 9293, 3.1) that have SYN and not ACK.
var withoutSYN = [...]syscall.SockFilter{
	*syscall.LsfStmt(syscall.BPF_LD|syscall.BPF_B|syscall.BPF_ABS, 13), // the flags
	*syscall.LsfStmt(syscall.BPF_ALU|syscall.BPF_AND|syscall.BPF_K, 0x12),
	*syscall.LsfJump(syscall.BPF_JMP|syscall.BPF_JEQ|syscall.BPF_K, 0x02, 0, 1),
	*syscall.LsfStmt(syscall.BPF_RET|syscall.BPF_K, 0),
	*syscall.LsfStmt(syscall.BPF_RET|syscall.BPF_K, 1<<18), // longer than any segment
}
