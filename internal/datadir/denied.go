package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Denied adds to an error of permissions whose the path is, who runs the program, and the cure. Other errors come back
// as they are.
func Denied(err error, path string) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	at := path
	for !exists(at) && filepath.Dir(at) != at { // the folder that refuses
		at = filepath.Dir(at)
	}
	owner, me := ownerOf(at), userName()
	switch {
	case owner == "" || me == "":
		return err
	case owner == me:
		return fmt.Errorf("%w. %s belongs to %s; let the owner write there: chmod u+rwx %s", err, at, owner, at)
	}
	cure := fmt.Sprintf("chown -R %s %s", me, at)
	if owner != "root" {
		cure += ", or run it as " + owner
	}
	return fmt.Errorf("%w. %s belongs to %s, and this program runs as %s: %s", err, at, owner, me, cure)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
