package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
)

// archive writes the program for t and its documents into a .tar.gz, for Windows into a .zip.
func (r *release) archive(t target) error {
	stem := "grense_" + r.version + "_" + t.os + "_" + t.arch
	files := append([][2]string{{filepath.Base("grense" + filepath.Ext(r.program(t))), r.program(t)}}, r.files()...)
	if t.os == "windows" {
		return writeFile(filepath.Join(r.out, stem+".zip"), func(w io.Writer) error { return r.zip(w, stem, files) })
	}
	return writeFile(filepath.Join(r.out, stem+".tar.gz"), func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		tw := tar.NewWriter(z)
		for i, f := range files {
			if err := r.add(tw, stem+"/"+f[0], f[1], i == 0); err != nil {
				return err
			}
		}
		if err := tw.Close(); err != nil {
			return err
		}
		return z.Close()
	})
}

func (r *release) zip(w io.Writer, stem string, files [][2]string) error {
	zw := zip.NewWriter(w)
	for _, f := range files {
		entry, err := zw.CreateHeader(&zip.FileHeader{Name: stem + "/" + f[0], Method: zip.Deflate, Modified: r.time})
		if err != nil {
			return err
		}
		if err := copyFile(entry, f[1]); err != nil {
			return err
		}
	}
	return zw.Close()
}

// add writes the file at path into a tar archive, with the time of the release.
func (r *release) add(tw *tar.Writer, name, path string, program bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	mode := int64(0o644)
	if program {
		mode = 0o755
	}
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: info.Size(), ModTime: r.time,
		Format: tar.FormatPAX}); err != nil {
		return err
	}
	return copyFile(tw, path)
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// writeFile writes what fn writes into a new file.
func writeFile(path string, fn func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := fn(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
