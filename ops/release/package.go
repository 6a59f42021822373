package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers itself
)

// packages writes a deb and an rpm for t.
func (r *release) packages(t target) error {
	for _, format := range []string{"deb", "rpm"} {
		info := nfpm.WithDefaults(r.info(t, format))
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		path := filepath.Join(r.out, packager.ConventionalFileName(info))
		if err := writeFile(path, func(w io.Writer) error { return packager.Package(info, w) }); err != nil {
			return err
		}
	}
	return nil
}

// info describes a package: the program, its unit, a configuration that upgrades keep, and documents.
func (r *release) info(t target, format string) *nfpm.Info {
	pkg := func(name string) string { return filepath.Join(r.root, "ops", "package", name) }
	contents := files.Contents{
		r.content(r.program(t), "/usr/bin/grense", "", 0o755),
		r.content(pkg("grense.service"), "/usr/lib/systemd/system/grense.service", "", 0o644),
		r.content(pkg("grense.socket"), "/usr/lib/systemd/system/grense.socket", "", 0o644),
		r.content(pkg("grense.yaml"), "/etc/grense/grense.yaml", files.TypeConfigNoReplace, 0o644),
	}
	for _, name := range []string{"README.md", "CHANGELOG.md", "NOTICE"} {
		contents = append(contents, r.content(filepath.Join(r.root, name), "/usr/share/doc/grense/"+name, "", 0o644))
	}
	licence := "not chosen yet"
	if _, err := os.Stat(filepath.Join(r.root, "LICENSE")); err == nil {
		licence = "see LICENSE"
		contents = append(contents,
			r.content(filepath.Join(r.root, "LICENSE"), "/usr/share/doc/grense/copyright", "", 0o644))
	}
	for path := range generated {
		contents = append(contents, r.content(r.generatedFile(path), path, "", 0o644))
	}
	info := &nfpm.Info{Name: "grense", Arch: t.arch, Platform: t.os, Version: r.version, Section: "net",
		Priority: "optional", MTime: r.time, License: licence,
		Maintainer: "The Grense developers <grense@localhost>", DisableGlobbing: true,
		Description: "Server for administrative divisions and place names\nServes a GeoPackage or PostGIS as an OGC " +
			"API, and place names over SOAP."}
	useradd := map[string]string{"deb": "passwd", "rpm": "shadow-utils"}[format]
	info.Overridables = nfpm.Overridables{Contents: contents, Depends: []string{"ca-certificates", useradd},
		Scripts: nfpm.Scripts{PostInstall: pkg("postinstall.sh"), PreRemove: pkg("preremove.sh"),
			PostRemove: pkg("postremove.sh")}}
	info.RPM.BuildHost = "localhost"
	return info
}

func (r *release) content(from, to, kind string, mode os.FileMode) *files.Content {
	return &files.Content{Source: from, Destination: to, Type: kind,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.time}}
}
