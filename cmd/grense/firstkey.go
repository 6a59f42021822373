package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"grense/internal/apikey"
	"grense/internal/datadir"
	"grense/internal/state"
	"grense/internal/store"
	"grense/internal/store/postgis/statedb"
)

// firstKeyName is the name of the key that serve creates if there are none.
const firstKeyName = "first key, made by serve"

// keysNeeded is printed at startup if keys exist.
const keysNeeded = "Data need an API key: grense key create --name NAME\n"

// firstKey creates a key if there are none and data need one. It returns the text to print at startup, which contains
// the key only if a terminal shows it.
func (s *service) firstKey(ctx context.Context, terminal bool) (string, error) {
	if s.cfg.Auth != "required" {
		return "Data are open: no API key is needed.\n", nil
	}
	s.forgetFirstKey()
	if all, active := s.keys.Count(time.Now()); all > 0 {
		if active == 0 {
			s.log.Warn("no API key is valid, so no data can be read; create one with: grense key create --name NAME")
		}
		return keysNeeded, nil
	}
	key, err := s.chooseFirstKey()
	if err != nil {
		return "", err
	}
	made, err := s.storeFirstKey(ctx, key, terminal || s.cfg.FirstKeyFile != "")
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot create the first key: %w", err)
	case !made || s.cfg.FirstKeyFile != "": // another process created one, or the operator knows the key
		return keysNeeded, nil
	}
	url := s.cfg.BaseURL + "/collections"
	if public := publicCollections(s.now.Load().store.Catalog()); len(public) > 0 {
		url += "/" + public[0].ID + "/items?limit=1"
	}
	if !terminal {
		path := filepath.Join(s.dir, datadir.FirstKeyFile)
		s.forgetFirstKey()
		s.log.Info("the first API key is in a file, which is removed once the key was used", "file", path)
		return fmt.Sprintf(
			"\nData need an API key. The first one is in a file, which is removed once the key was used:\n  %s\nTry "+
				"it:\n  curl -H \"X-API-Key: $(cat '%s')\" '%s'\n",
			path,
			path,
			url,
		), nil
	}
	return fmt.Sprintf(
		"\nData need an API key. Here is the first one; it is shown only now:\n  %s\nTry it:\n  curl -H 'X-API-Key: "+
			"%s' '%s'\nOr in a browser, once within 10 minutes:\n  %s/key?code=%s\n",
		key,
		key,
		url,
		s.cfg.BaseURL,
		s.codes.Issue(key, time.Now()),
	), nil
}

// chooseFirstKey returns the key in the configured file, or a new one.
func (s *service) chooseFirstKey() (string, error) {
	if s.cfg.FirstKeyFile == "" {
		return apikey.Generate(), nil
	}
	b, err := os.ReadFile(s.cfg.FirstKeyFile)
	if err != nil {
		return "", fmt.Errorf("first_key_file: %w", err)
	}
	key := strings.TrimSpace(string(b))
	if _, err := apikey.Parse(key); err != nil {
		return "", fmt.Errorf("first_key_file: %s holds no key; fill it with: grense key generate", s.cfg.FirstKeyFile)
	}
	return key, nil
}

// storeFirstKey stores a key if there are none. Unless the key is known elsewhere, it first writes the key to disk, so
// that it cannot be lost.
func (s *service) storeFirstKey(ctx context.Context, key string, known bool) (made bool, err error) {
	rec, err := apikey.Record(key, firstKeyName, time.Time{}, time.Now())
	if err != nil {
		return false, err
	}
	if !known {
		name, err := s.writeKey(key)
		if err != nil {
			return false, err
		}
		defer os.Remove(name) // fails after the rename
		if made, err = s.putFirstKey(ctx, rec); made {
			err = errors.Join(err, os.Rename(name, filepath.Join(s.dir, datadir.FirstKeyFile)))
		}
		return made, err
	}
	return s.putFirstKey(ctx, rec)
}

// writeKey writes a key into a new file in the data directory that only its owner can read, and returns the file's
// name.
func (s *service) writeKey(key string) (name string, err error) {
	file, err := os.CreateTemp(s.dir, datadir.FirstKeyFile+"-*")
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintln(file, key)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// putFirstKey stores a key if there are none. It retries while no server of the database is writable.
func (s *service) putFirstKey(ctx context.Context, rec state.Key) (made bool, err error) {
	for {
		made, err = s.state.PutFirstKey(ctx, rec)
		if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, statedb.ErrNoPrimary) {
			break
		}
		s.log.Warn(
			"the first API key cannot be stored while no server of the database takes changes; trying again. "+
				"To serve without keys, start with --auth open; "+
				"for keys of this machine, run grense key create without --source",
			"err",
			err,
		)
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	if err == nil {
		err = s.keys.Refresh(ctx)
	}
	return made, err
}

// forgetFirstKey removes the file of the first key after the first use of the key, or at once if the key no longer
// exists.
func (s *service) forgetFirstKey() {
	path := filepath.Join(s.dir, datadir.FirstKeyFile)
	b, err := os.ReadFile(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("the file of the first key cannot be read", "file", path, "err", err)
		}
		return
	}
	id, _ := apikey.Parse(strings.TrimSpace(string(b))) // an invalid key has the id "", so the file is removed
	s.keys.OnFirstUse(id, func() {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("the file of the first key cannot be removed; remove it", "file", path, "err", err)
		}
	})
}
