package gpkg

import (
	"context"

	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/survey"
)

// surveyAll creates the full side file after a start with samples, and calls Options.Surveyed.
func (s *Store) surveyAll(ctx context.Context) error {
	src, err := file.Inspect(s.path)
	if err != nil {
		return err
	}
	defer src.Close()
	path, m, err := src.Readable(s.options.DataDir, s.options.Unchanging)
	if err != nil {
		return err
	}
	c, err := survey.Open(path, m)
	if err != nil {
		return src.Explain(err)
	}
	defer c.Close()
	c.Interrupt(ctx)
	x, drafts := s.surveyor(), []*survey.Draft(nil)
	if _, err = c.FreezeSchema(); err == nil {
		drafts, _, err = x.Drafts(c)
	}
	if err == nil {
		_, err = x.Side(ctx, src, c, drafts)
	}
	if err == nil {
		s.options.Surveyed(ctx)
	}
	return err
}
