package main

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nobody is the user and group that the program has in the image.
const nobody = 65532

// image writes an OCI image layout for linux, with one image an architecture, as an archive: grense_VERSION_oci.tar.
func (r *release) image() error {
	dir := filepath.Join(r.work, "image")
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, t := range targets {
		if t.os != "linux" {
			continue
		}
		img, err := r.imageFor(t)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			Platform:    &v1.Platform{OS: t.os, Architecture: t.arch},
			Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version}}})
	}
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	return writeFile(filepath.Join(r.out, "grense_"+r.version+"_oci.tar"), func(w io.Writer) error {
		tw := tar.NewWriter(w)
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // in the order of names
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			return r.add(tw, filepath.ToSlash(name), path, false)
		})
		if err != nil {
			return err
		}
		return tw.Close()
	})
}

// imageFor returns an image that holds the program, certificates of authorities if this machine has them,
// and folders to write into.
func (r *release) imageFor(t target) (v1.Image, error) {
	files, err := r.layer(t)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	},
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img,
		mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "make release"}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = t.os, t.arch, v1.Time{Time: r.time}
	config.Config = v1.Config{User: "65532:65532", Entrypoint: []string{"/grense"}, Cmd: []string{"serve"},
		WorkingDir:   "/data",
		Env:          []string{"GRENSE_ADDR=:8080", "GRENSE_DATA_DIR=/data", "TMPDIR=/tmp", "HOME=/data"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}}, Volumes: map[string]struct{}{"/data": {}, "/tmp": {}},
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/grense", "health"}, Interval: 30 * time.Second,
			Timeout: 6 * time.Second, StartPeriod: time.Minute},
		Labels: map[string]string{"org.opencontainers.image.title": "Grense",
			"org.opencontainers.image.version": r.version}}
	return mutate.ConfigFile(img, config)
}

// layer returns the files of the image as a tar archive.
func (r *release) layer(t target) ([]byte, error) {
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, dir := range []struct {
		name string
		mode int64
	}{{"data/", 0o700}, {"tmp/", 0o1777}} {
		if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir.name, Mode: dir.mode, Uid: nobody,
			Gid: nobody, ModTime: r.time}); err != nil {
			return nil, err
		}
	}
	if err := r.add(tw, "grense", r.program(t), true); err != nil {
		return nil, err
	}
	const authorities = "etc/ssl/certs/ca-certificates.crt"
	if _, err := os.Stat("/" + authorities); err == nil {
		if err := r.add(tw, authorities, "/"+authorities, false); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"NOTICE", "README.md", "LICENSE"} {
		if _, err := os.Stat(filepath.Join(r.root, name)); err != nil && name == "LICENSE" {
			continue // not chosen yet
		}
		if err := r.add(tw, "usr/share/doc/grense/"+name, filepath.Join(r.root, name), false); err != nil {
			return nil, err
		}
	}
	if err := r.add(tw, "usr/share/doc/grense/THIRD_PARTY", r.generatedFile("/usr/share/doc/grense/THIRD_PARTY"),
		false); err != nil {
		return nil, err
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
