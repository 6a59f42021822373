//go:build unix

package datadir

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// ownerOf returns the name of the user whose a file is, or "".
func ownerOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return nameOf(int(s.Uid))
}

// userName returns the name of the user who runs the program.
func userName() string { return nameOf(os.Geteuid()) }

// nameOf returns the name of a user, or the number if there is no name.
func nameOf(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
