// Package thirdparty holds the licence texts of the libraries that the program is linked with, one file a module.
// The files are written by make licences; make lint fails when one is missing or of another version of its module.
package thirdparty

import (
	"embed"
	"io"
)

//go:embed *.txt
var texts embed.FS

// Write writes all texts to w, by name of the module.
func Write(w io.Writer) error {
	files, err := texts.ReadDir(".") // sorted by name
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := texts.ReadFile(f.Name())
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
