package main

import (
	"context"
	"errors"
	"strings"

	"grense/internal/config"
)

const reloadFailed = "reload failed; the settings and the data from before are still served"

// reload loads the configuration and opens data, certificate and keys again. What fails stays as it was: with an
// invalid configuration the data, too, since they belong together.
func (s *service) reload(ctx context.Context) {
	s.reloadData(ctx)
	if ctx.Err() != nil { // the server ends
		return
	}
	if s.cert != nil {
		if err := s.cert.Reload(); err != nil {
			s.log.Error("reload failed; the certificate from before is still used", "err", err)
		}
	}
	if err := s.keys.Refresh(ctx); err != nil && ctx.Err() == nil {
		s.log.Error("reload failed; the keys from before are still valid", "err", err)
	}
}

// reloadData loads the configuration. If it has changed, the data are served with it by another assembly; else they
// are opened again.
func (s *service) reloadData(ctx context.Context) {
	a := s.now.Load()
	next, change, err := config.Reload(s.sources, s.loaded)
	if err != nil {
		a.server.ReloadFailed(err)
		s.logFaults(err)
		return
	}
	if len(change.Kept) > 0 {
		s.log.Warn("these settings have changed, but need a restart", "settings", strings.Join(change.Kept, ", "))
	}
	if len(change.Taken) > 0 {
		s.reconfigure(ctx, next, change.Taken)
		return
	}
	err = a.server.Reload(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.log.Error("reload failed; the data from before are still served", "err", diskFull(err))
	default:
		s.log.Info("reloaded", "version", a.store.Catalog().Version)
	}
}

// logFaults logs what is wrong with the configuration, a line for each fault.
func (s *service) logFaults(err error) {
	faults, ok := errors.AsType[config.Faults](err)
	if !ok {
		s.log.Error(reloadFailed, "err", err)
	}
	for _, f := range faults {
		s.log.Error(reloadFailed, "err", f.String())
	}
}

// reconfigure serves the data with the settings of next, of which the named ones have changed.
func (s *service) reconfigure(ctx context.Context, next config.Config, changed []string) {
	loaded := s.loaded
	s.configure(next)
	a, err := s.assemble(ctx, s.cfg)
	if err != nil {
		s.configure(loaded)
		if ctx.Err() == nil {
			s.now.Load().server.ReloadFailed(err)
			s.log.Error(reloadFailed, "err", diskFull(err))
		}
		return
	}
	for _, w := range s.loaded.Warnings() {
		s.log.Warn(w)
	}
	boundHeap(int64(s.cfg.Limits.Memory))
	s.limited.SetLimits(s.cfg)
	s.level.Set(s.cfg.Level())
	s.replace(ctx, a)
	a.server.ReloadSucceeded()
	s.log.Info("reloaded", "version", a.store.Catalog().Version, "settings", strings.Join(changed, ", "))
}
