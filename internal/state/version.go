package state

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// FileVersion is the version of the files that this program writes. It refuses newer ones.
const FileVersion = fileVersion

// VersionOf returns the version of the SQLite file at path without opening it as a database. Programs before the
// first version wrote 0.
func VersionOf(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("state: %w", err)
	}
	defer f.Close()
	const userVersion = 60 // where the header has it (SQLite file format, 1.3)
	var b [4]byte
	if _, err := f.ReadAt(b[:], userVersion); err != nil {
		if err == io.EOF {
			err = fmt.Errorf("it is no SQLite file")
		}
		return 0, fmt.Errorf("state: %s: %w", path, err)
	}
	return int(binary.BigEndian.Uint32(b[:])), nil
}
