package placename_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"grense/api/placename"
)

func TestTimestamps(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{ // in UTC; empty: refused
		"2024-01-31T12:00:00Z":                                 "2024-01-31T12:00:00Z",
		" 2024-01-31T12:00:00Z\n":                              "2024-01-31T12:00:00Z",
		"2024-01-31T12:00:00.5+01:00":                          "2024-01-31T11:00:00.5Z",
		"2024-01-31T12:00:00":                                  "2024-01-31T11:00:00Z", // Oslo, winter
		"2024-07-31T12:00:00":                                  "2024-07-31T10:00:00Z", // Oslo, summer
		"9999-01-01T00:00:00+01:00":                            "9998-12-31T23:00:00Z",
		"2024-01-31T24:00:00Z":                                 "2024-02-01T00:00:00Z",
		"2024-02-29T00:00:00-14:00":                            "2024-02-29T14:00:00Z",
		"2024-01-31T12:00:00.123456789Z":                       "2024-01-31T12:00:00.123456789Z",
		"2024-01-31T12:00:00." + strings.Repeat("1", 40) + "Z": "2024-01-31T12:00:00.111111111Z",
		"0001-01-01T00:00:00Z":                                 "0001-01-01T00:00:00Z",
		"0000-01-01T00:00:00Z":                                 "",
		"10000-01-01T00:00:00Z":                                "",
		"-2024-01-01T00:00:00Z":                                "",
		"2024-01-31T24:00:01Z":                                 "",
		"2024-01-31T24:00:00.1Z":                               "",
		"2024-01-31T25:00:00Z":                                 "",
		"2024-01-31T12:60:00Z":                                 "",
		"2024-01-31T12:00:60Z":                                 "",
		"2023-02-29T12:00:00Z":                                 "",
		"2024-13-01T12:00:00Z":                                 "",
		"2024-00-01T12:00:00Z":                                 "",
		"2024-01-00T12:00:00Z":                                 "",
		"2024-01-31T12:00:00.Z":                                "",
		"2024-01-31T12:00:00,5Z":                               "",
		"2024-01-31 12:00:00Z":                                 "",
		"2024-01-31t12:00:00Z":                                 "",
		"2024-01-31T12:00:00z":                                 "",
		"2024-01-31T12:00:00+14:01":                            "",
		"2024-01-31T12:00:00+1:00":                             "",
		"2024-01-31T12:00:00+01:60":                            "",
		"2024-01-31T12:00Z":                                    "",
		"2024-01-31T":                                          "",
		"2024-01-31":                                           "",
		"":                                                     "",
		"２０２４-01-31T12:00:00Z":                                 "",
	} {
		got, ok := placename.ParseTimestamp(in)
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %s, %t; want %s", in, got, ok, want)
		}
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2024-02-29": "2024-02-29", " 2024-02-29 ": "2024-02-29", "2024-02-29Z": "2024-02-29",
		"2024-02-29+14:00": "2024-02-29",
		"2024-02-29-05:00": "2024-02-29", "9999-12-31": "9999-12-31",
		"2023-02-29": "", "0000-01-01": "", "10000-01-01": "", "2024-2-9": "", "2024-02-29T00:00:00": "",
		"": "", "x": "",
	} {
		got, ok := placename.ParseDate(in)
		if ok != (want != "") || ok && got.Format(time.RFC3339) != want+"T00:00:00Z" {
			t.Errorf("%q: %s, %t; want %s", in, got, ok, want)
		}
	}
}

// FuzzParseTimestamp compares with package time, which knows no 24:00 and takes some forms that XML Schema does not.
func FuzzParseTimestamp(f *testing.F) {
	f.Add("2024-01-31T12:00:00Z")
	f.Add("2024-01-31T12:00:00.25+01:00")
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := placename.ParseTimestamp(s)
		if !ok || strings.Contains(s, "T24") || !strings.ContainsAny(s, "Z+") {
			return
		}
		want, err := time.Parse(time.RFC3339Nano, strings.Trim(s, " \t\r\n"))
		if err != nil || !want.Equal(got) {
			t.Errorf("%q: %s, want %s, %v", s, got, want, err)
		}
	})
}

// FuzzAppendText reads back what was written: text that XML can hold comes back as it was, all else with U+FFFD in
// its places.
func FuzzAppendText(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Add("\x00\x0b\ufffe\uffff\xff\xed\xa0\x80]]>")
	f.Fuzz(func(t *testing.T, s string) {
		b := placename.AppendText([]byte(`<a b="`), s)
		b = append(b, `">`...)
		b = append(placename.AppendText(b, s), "</a>"...)
		var v struct {
			B    string `xml:"b,attr"`
			Text string `xml:",chardata"`
		}
		if err := xml.Unmarshal(b, &v); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		var want bytes.Buffer
		for _, r := range s { // invalid bytes come as U+FFFD
			if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
				r = utf8.RuneError
			}
			want.WriteRune(r)
		}
		if v.Text != want.String() || v.B != want.String() {
			t.Errorf("%q: text %q, attribute %q", s, v.Text, v.B)
		}
	})
}

func TestEveryReasonIsToldInEveryLanguage(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range placename.Reasons() {
		for _, l := range []placename.Lang{placename.Bokmaal, placename.Nynorsk, placename.English} {
			f := placename.Fault{Path: "a/b", Value: "v", Reason: r, N: 7}
			got := f.Text(l)
			if !strings.HasPrefix(got, `a/b = "v": `) || len(got) < 20 || strings.Contains(got, "%") ||
				!strings.HasSuffix(got, ".") {
				t.Errorf("reason %d in %s: %s", r, l.Tag(), got)
			}
			if l == placename.English && seen[got] {
				t.Errorf("two reasons say %s", got)
			}
			seen[got] = true
		}
	}
}

func TestLanguageOfLocale(t *testing.T) {
	t.Parallel()
	for locale, want := range map[string]string{
		"no": "nb", "nb": "nb", "nn": "nn", "en": "en", "no_NO": "nb", "no_NO_B": "nb", "nn-NO": "nn", " EN_GB ": "en",
		"": "nb", "se": "nb", "nnx": "nb",
	} {
		if got := placename.LangOf(locale).Tag(); got != want {
			t.Errorf("%q: %s, want %s", locale, got, want)
		}
	}
}

func TestValuesInRefusalsAreShortAndVisible(t *testing.T) {
	t.Parallel()
	f := &placename.Refusal{
		Faults: []placename.Fault{
			{Path: "findBoeker/soeketekst", Value: strings.Repeat("æ", 1000) + "\n", Reason: placename.Blank},
		},
	}
	want := fmt.Sprintf("findBoeker/soeketekst = %q: must not be blank.", strings.Repeat("æ", 64)+"…")
	if got := f.Text(placename.English); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if f.Limit() ||
		!(&placename.Refusal{
			Faults: []placename.Fault{{Path: "findBoeker", Reason: placename.TooManyHits, N: 5000}}}).Limit() {
		t.Error("Limit")
	}
}

func TestEveryCategoryHasItsClass(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range placename.Categories {
		if n := c.ClassName(); seen[n] || !strings.HasSuffix(n, "Exception") {
			t.Errorf("%s: %s", c, n)
		} else {
			seen[n] = true
		}
	}
}
