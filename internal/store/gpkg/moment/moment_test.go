package moment_test

import (
	"testing"

	"grense/internal/store/gpkg/moment"
)

func TestPlainMomentsAreReadAsAllOthers(t *testing.T) {
	t.Parallel()
	plain := 0
	for _, s := range []string{
		"2024-02-29", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-00", "2024-1-001", "0000-01-01", "9999-12-31",
		"2024-02-29T23:59:59Z", "2024-02-29T23:59:59.123Z", "2024-02-29T24:00:00Z", "2024-02-29T23:60:59Z",
		"2024-02-29T23:59:60Z",
		"2024-02-29 23:59:59Z", "2024-02-29T23:59:59+", "2024-02-29T23:59:59.12xZ", "2024-02-29T23:59:59,123Z",
		"2024-04-31T00:00:00.000Z",
		"2024/02/29", "+024-02-29", "2024-02-2", "", "2024-02-29T23:59:59.000", "2024-02-29T1:2:3.4567Z",
		"2024-02-29T23:59:59.000Z", "2024-02-29T23:50:00.120Z", "2024-02-29T23:59:50.100Z", "2024-02-29T00:00:00.000Z",
		"0000-01-01T00:00:00Z",
	} {
		got, layout, ok := moment.Plain([]byte(s))
		if !ok {
			continue // read by Parse
		}
		plain++
		want, valid := moment.Parse(s)
		stamp := moment.PlainStamp([]byte(s))
		if stamp != "" && stamp != moment.Timestamp(s) || stamp == "" && layout != "" {
			t.Errorf("%q is told as %q, want %q", s, stamp, moment.Timestamp(s))
		}
		if !valid || !got.Equal(want) || layout != moment.Layout(s, want) {
			t.Errorf("%q: %v in %q, want %v (%t) in %q", s, got, layout, want, valid, moment.Layout(s, want))
		}
	}
	if plain != 10 {
		t.Errorf("%d are plain", plain)
	}
}

func BenchmarkMoment(b *testing.B) {
	const text = "2024-02-29T23:59:59.123Z"
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			moment.Plain([]byte(text))
		}
	})
	b.Run("any", func(b *testing.B) {
		for b.Loop() {
			t, _ := moment.Parse(text)
			moment.Layout(text, t)
		}
	})
}
