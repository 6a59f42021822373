package xlsx

import (
	"errors"
	"grense/internal/format/input"
	"os"
	"path/filepath"
)

// Sheet is a sheet of a workbook: the texts and numbers of its rows that have cells.
type Sheet struct {
	Name  string
	Rows  [][]string
	Lines []int
}

// Sheets reads the visible sheets of a workbook into memory, with dates as in ISO 8601.
// An error that is ErrRefused describes what is wrong with the file.
func Sheets(name string, l input.Limits) (out []Sheet, err error) {
	l = l.WithDefaults()
	open := func() (*input.Opened, error) {
		in, err := os.Open(filepath.Clean(name))
		if err != nil {
			return nil, err
		}
		info, err := in.Stat()
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		return &input.Opened{ReaderAt: in, Size: info.Size(), Close: in.Close}, nil
	}
	sheets, err := sheets(open, l)
	if err != nil {
		return nil, err
	}
	in, err := open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	most := input.Memory(l.Feature).Bytes()
	b, err := openBook(in, l, most)
	if err != nil {
		return nil, err
	}
	left := most
	for _, s := range sheets {
		sheet := Sheet{Name: s.name}
		err := b.rows(s, func(n int, row []cell) error {
			texts := make([]string, 0, len(row))
			for i := range row {
				texts = append(texts, row[i].Text)
				left -= int64(len(row[i].Text)) + 16
			}
			if left < 0 {
				return input.Refuse("the sheet %q is too large to be read at once; save it as CSV", s.name)
			}
			sheet.Rows, sheet.Lines = append(sheet.Rows, texts), append(sheet.Lines, n)
			return nil
		})
		if err != nil {
			return nil, err
		}
		out = append(out, sheet)
	}
	return out, nil
}
