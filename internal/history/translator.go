package history

import (
	"errors"
	"math/big"
	"strings"
)

// Choice selects what a Translator returns if a code corresponds to several.
type Choice string

// Values of Choice.
const (
	ChooseList Choice = "list" // all of them, separated by spaces
	ChooseNull Choice = "null" // none
	// the one that has most of the people, if all shares are known and one is largest
	ChooseLargest Choice = "largest"
	ChooseError   Choice = "error" // the error ErrAmbiguous
)

// ErrAmbiguous is returned, if the Choice is ChooseError, for a code that corresponds to several divisions.
var ErrAmbiguous = errors.New("history: the code stands for several divisions")

// Translated is the result of translating one code.
type Translated struct {
	Code, Name string     // "" for none; if ChooseList finds several, codes are separated by spaces, names by ";"
	Versions   []*Version // the divisions that Code and Name list, in that order
	Fault      string     // reason why there is no code, for the user; "" if ChooseNull left out an ambiguous one
	Ambiguous  bool       // the code corresponds to several
	Restored   bool       // the code matched after its leading zeros were restored
}

// Translator translates codes as tables contain them. It caches the results of codes of the scheme only, so that its
// memory is bounded. It is not safe for concurrent use.
type Translator struct {
	scheme   *Scheme
	from, to Date
	choice   Choice
	widest   int // length of the longest code in use
	met      map[string]Translated
}

// NewTranslator returns a Translator of codes from day from to day to, which may be earlier.
func (s *Scheme) NewTranslator(from, to Date, choice Choice) *Translator {
	t := &Translator{scheme: s, from: from, to: to, choice: choice, met: map[string]Translated{}}
	for _, v := range s.On(from) {
		t.widest = max(t.widest, len(v.Code))
	}
	return t
}

// Translate translates a code. A number that the scheme never had as a code is matched with leading zeros if exactly
// one code in use on that day fits. The error is ErrAmbiguous, returned together with all codes, or nil.
func (t *Translator) Translate(code string) (Translated, error) {
	if r, ok := t.met[code]; ok {
		return r, nil
	}
	whole := code
	_, err := t.scheme.At(code, t.from)
	if errors.Is(err, ErrUnknown) {
		v := t.restore(code)
		if v == nil {
			return Translated{Fault: "the code was never in use"}, nil
		}
		whole, err = v.Code, nil
	}
	if errors.Is(err, ErrNotKnown) {
		r := Translated{Fault: "nothing is known before " + t.scheme.begin.String()}
		t.met[code] = r
		return r, nil
	}
	if errors.Is(err, ErrNotThen) {
		r := Translated{Fault: "the code was not in use on " + t.from.String() + t.when(code)}
		t.met[code] = r
		return r, nil
	}
	found, err := t.scheme.Matches(whole, t.from, t.to)
	if err != nil {
		return Translated{}, err
	}
	r, err := t.choose(found)
	if err != nil {
		return r, err
	}
	r.Restored = whole != code
	t.met[code] = r
	return r, nil
}

// restore returns the version in use whose code equals code with leading zeros; nil if there is none, or several.
func (t *Translator) restore(code string) (only *Version) {
	if code == "" || len(code) >= t.widest || strings.Trim(code, "0123456789") != "" {
		return nil
	}
	for n := 1; n <= t.widest-len(code); n++ {
		v, err := t.scheme.At(strings.Repeat("0", n)+code, t.from)
		if err == nil && only != nil {
			return nil
		} else if err == nil {
			only = v
		}
	}
	return only
}

// when returns the end of a message that states when a code was in use.
func (t *Translator) when(code string) string { return ", but " + Spans(t.scheme.Meanings(code)) }

// Spans returns, as text, the periods in which versions of one code were valid, each with its last name. Periods
// without a gap are joined. A period whose start is not known has no start.
func Spans(all []*Version) string {
	var out []string
	for i := 0; i < len(all); i++ {
		from := all[i].From
		for i+1 < len(all) && all[i].To == all[i+1].From {
			i++
		}
		s := ""
		if from != 0 {
			s = "from " + from.String()
		}
		if to := all[i].To; to != 0 {
			s += " until " + to.String()
		}
		if s = strings.TrimSpace(s); all[i].Name != "" {
			s += " (" + all[i].Name + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func (t *Translator) choose(found []Match) (Translated, error) {
	switch {
	case len(found) == 0 && t.to < t.scheme.begin:
		return Translated{Fault: "nothing is known before " + t.scheme.begin.String()}, nil
	case len(found) == 0 && t.to < t.from:
		return Translated{Fault: "nothing is known of it on " + t.to.String() + ": it began later"}, nil
	case len(found) == 0:
		return Translated{Fault: "nothing of it was left on " + t.to.String()}, nil
	case len(found) == 1:
		return translatedTo(found[0].Version), nil
	}
	var codes, names []string
	var versions []*Version
	for _, m := range found {
		codes, names, versions = append(codes, m.Code), append(names, m.Name), append(versions, m.Version)
	}
	list := strings.Join(codes, " ")
	switch t.choice {
	case ChooseNull:
		return Translated{Ambiguous: true}, nil
	case ChooseError:
		return Translated{Code: list, Ambiguous: true}, ErrAmbiguous
	case ChooseList:
		return Translated{Code: list, Name: strings.Join(names, "; "), Versions: versions, Ambiguous: true}, nil
	case ChooseLargest:
		m, fault := largest(found)
		if m == nil {
			return Translated{Fault: "it is several on " + t.to.String() + " (" + list + "), and " + fault,
				Ambiguous: true}, nil
		}
		r := translatedTo(m.Version)
		r.Ambiguous = true
		return r, nil
	}
	panic("history: no choice " + string(t.choice))
}

func translatedTo(v *Version) Translated {
	return Translated{Code: v.Code, Name: v.Name, Versions: []*Version{v}}
}

// largest returns the match with the largest share. If shares are unknown or equal, it returns nil and the reason.
func largest(found []Match) (best *Match, fault string) {
	var most *big.Rat
	for i := range found {
		m := &found[i]
		if m.Share == nil {
			return nil, "their shares are not known"
		}
		switch {
		case most == nil || m.Share.Cmp(most) > 0:
			best, most = m, m.Share
		case m.Share.Cmp(most) == 0:
			best = nil
		}
	}
	if best == nil {
		return nil, "none is the largest"
	}
	return best, ""
}
