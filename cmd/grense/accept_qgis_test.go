package main_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestAcceptQGIS reads WMS, WMTS and vector tiles of the demo with their style in QGIS, with the key of Basic.
func TestAcceptQGIS(t *testing.T) {
	wantsClients(t)
	t.Parallel()
	s := serve(t, []string{"GRENSE_COMPAT_WMS=true", "GRENSE_COMPAT_WMTS=true"})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/python3", filepath.Join("testdata", "readmaps.py"), s.base, s.key)
	cmd.Env = append(os.Environ(), "QGIS_CUSTOM_CONFIG_PATH="+t.TempDir(), "QT_QPA_PLATFORM=offscreen",
		"no_proxy=localhost,127.0.0.1", "NO_PROXY=localhost,127.0.0.1")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() == 2 {
		t.Skipf("NOT CHECKED: make qgis did not install QGIS: %s", out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
