package ingesttest

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// ParquetOf returns the path of a file with one column and one row.
func ParquetOf(t *testing.T, column parquet.Node, value []byte, fixed bool, metadata ...parquet.WriterOption) string {
	t.Helper()
	var b bytes.Buffer
	schema := parquet.NewSchema("x", parquet.Group{"k": column})
	w := parquet.NewWriter(&b, append([]parquet.WriterOption{schema}, metadata...)...)
	v := parquet.ByteArrayValue(value)
	if fixed {
		v = parquet.FixedLenByteArrayValue(value)
	}
	if _, err := w.WriteRows([]parquet.Row{{v.Level(0, 0, 0)}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
