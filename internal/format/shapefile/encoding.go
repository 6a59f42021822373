package shapefile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	utext "golang.org/x/text/encoding/unicode"
)

// utf16Text is the encoding that a .cpg calls UTF-16: little-endian unless a mark states otherwise.
var utf16Text = utext.UTF16(utext.LittleEndian, utext.UseBOM)

// codePages are the encodings of a .cpg file by name, in lower case, letters and digits only.
var codePages = map[string]encoding.Encoding{
	"utf8": encoding.Nop, "65001": encoding.Nop, "usascii": encoding.Nop, "ascii": encoding.Nop, "utf16": utf16Text,
	"utf16le": utf16Text,
	"utf16be": utext.UTF16(utext.BigEndian, utext.UseBOM), "1200": utf16Text,
	"iso88591": charmap.ISO8859_1, "latin1": charmap.ISO8859_1, "88591": charmap.ISO8859_1,
	"iso88592": charmap.ISO8859_2, "latin2": charmap.ISO8859_2,
	"88592": charmap.ISO8859_2, "iso88593": charmap.ISO8859_3, "88593": charmap.ISO8859_3,
	"iso88594": charmap.ISO8859_4, "88594": charmap.ISO8859_4,
	"iso88595": charmap.ISO8859_5, "88595": charmap.ISO8859_5, "iso88596": charmap.ISO8859_6,
	"88596":    charmap.ISO8859_6,
	"iso88597": charmap.ISO8859_7, "88597": charmap.ISO8859_7, "iso88598": charmap.ISO8859_8,
	"88598":    charmap.ISO8859_8,
	"iso88599": charmap.ISO8859_9, "88599": charmap.ISO8859_9, "iso885910": charmap.ISO8859_10,
	"885910":    charmap.ISO8859_10,
	"iso885913": charmap.ISO8859_13, "885913": charmap.ISO8859_13, "iso885914": charmap.ISO8859_14,
	"885914":    charmap.ISO8859_14,
	"iso885915": charmap.ISO8859_15, "885915": charmap.ISO8859_15, "latin9": charmap.ISO8859_15,
	"437": charmap.CodePage437, "850": charmap.CodePage850, "852": charmap.CodePage852, "855": charmap.CodePage855,
	"860": charmap.CodePage860,
	"862": charmap.CodePage862, "863": charmap.CodePage863, "865": charmap.CodePage865, "866": charmap.CodePage866,
	"858": charmap.CodePage858,
	"874": charmap.Windows874, "1250": charmap.Windows1250, "1251": charmap.Windows1251, "1252": charmap.Windows1252,
	"1253": charmap.Windows1253,
	"1254": charmap.Windows1254, "1255": charmap.Windows1255, "1256": charmap.Windows1256, "1257": charmap.Windows1257,
	"1258":  charmap.Windows1258,
	"koi8r": charmap.KOI8R, "koi8u": charmap.KOI8U, "macintosh": charmap.Macintosh, "10000": charmap.Macintosh,
	"shiftjis": japanese.ShiftJIS, "sjis": japanese.ShiftJIS, "932": japanese.ShiftJIS, "eucjp": japanese.EUCJP,
	"euckr": korean.EUCKR, "949": korean.EUCKR, "big5": traditionalchinese.Big5, "950": traditionalchinese.Big5,
	"gbk": simplifiedchinese.GBK, "936": simplifiedchinese.GBK, "gb2312": simplifiedchinese.GBK,
	"gb18030": simplifiedchinese.GB18030,
	"54936":   simplifiedchinese.GB18030,
}

// drivers are the code pages of the language driver in a dBASE header, byte 29.
var drivers = map[byte]string{
	0x01: "437", 0x02: "850", 0x03: "1252", 0x04: "10000", 0x08: "865", 0x0b: "437", 0x0d: "437", 0x0e: "850",
	0x13: "932", 0x17: "865", 0x1b: "437",
	0x1c: "863", 0x1f: "852", 0x22: "852", 0x23: "852", 0x24: "860", 0x25: "850", 0x26: "866", 0x37: "850", 0x40: "852",
	0x4d: "936", 0x4e: "949",
	0x4f: "950", 0x50: "874", 0x57: "1252", 0x58: "1252", 0x59: "1252", 0x64: "852", 0x65: "866", 0x66: "865",
	0x6c: "863", 0x78: "950",
	0x79: "949", 0x7a: "936", 0x7b: "932", 0x7c: "874", 0x7d: "1255", 0x7e: "1256", 0xc8: "1250", 0xc9: "1251",
	0xca: "1254", 0xcb: "1253", 0xcc: "1257",
}

// codePage returns an encoding by its name in a .cpg: "UTF-8", "ISO-8859-1", "ANSI 1252", "Big-5".
func codePage(name string) (encoding.Encoding, bool) {
	key := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
	for _, prefix := range [...]string{"", "ansi", "oem", "cp", "windows", "ibm", "ms", "msansi"} {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			if e, ok := codePages[rest]; ok {
				return e, true
			}
		}
	}
	return nil, false
}

// decode decodes stored bytes without padding; false if they are not in that encoding.
func decode(e encoding.Encoding, b []byte) (string, bool) {
	if e == nil || e == encoding.Nop {
		s := strings.TrimRight(string(b), " \x00")
		return s, utf8.ValidString(s)
	}
	out, err := e.NewDecoder().Bytes(b)
	s := strings.TrimRight(string(out), " \x00")
	return s, err == nil && !strings.ContainsRune(s, utf8.RuneError)
}
