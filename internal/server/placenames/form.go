package placenames

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	contract "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/server/names"
	"grense/internal/server/page"
)

// soapField is a field of the search form.
type soapField struct {
	Name, Title, Type, Mode, Value, Hint string
	// code list of which the user types a name, if it is too long for a select; else ""
	List    string
	Options page.Choices // nil: any value
	Fault   *page.FieldFault
}

// empty returns an empty request of an operation.
func empty[T any, P interface {
	*T
	contract.Request
}]() contract.Request {
	return P(new(T))
}

// soapRequests maps operations to functions that return an empty request.
var soapRequests = map[string]func() contract.Request{
	"findNavnesaker":                             empty[contract.FindNavnesaker],
	"findSteder":                                 empty[contract.FindSteder],
	"findStederForMatrikkelenhetreferanse":       empty[contract.FindStederForMatrikkelenhetreferanse],
	"findStedsnavn":                              empty[contract.FindStedsnavn],
	"findStedsnavnForMatrikkelenhetreferanse":    empty[contract.FindStedsnavnForMatrikkelenhetreferanse],
	"findSkrivemaater":                           empty[contract.FindSkrivemaater],
	"findSkrivemaaterForMatrikkelenhetreferanse": empty[contract.FindSkrivemaaterForMatrikkelenhetreferanse],
	"findVedtak":                                 empty[contract.FindVedtak],
	"findSamlevedtak":                            empty[contract.FindSamlevedtak],
	"findBoeker":                                 empty[contract.FindBoeker],
	"findKartprodukter":                          empty[contract.FindKartprodukter],
}

// soapFields are the fields of requests that forms show, in order. text is the end of the message key, list the code
// list of its values.
var soapFields = []struct{ field, text, list string }{
	{"Stedsnavn", "name", ""}, {"Skrivemaate", "spelling", ""}, {"Soeketekst", "words", ""},
	{"KommunerIds", "municipality", "kommune"}, {"Kommunenummer", "municipality", "kommune"},
	{"Gaardsnummer", "farm", ""}, {"Bruksnummer", "holding", ""}, {"NavneobjekttyperIds", "type", "navneobjekttype"},
	{"NavneobjekttypeIds", "type", "navneobjekttype"},
	{"StedstatuserIds", "status", "stedstatus"}, {"NavnestatuserIds", "status", "navnestatus"},
	{"SkrivemaatestatuserIds", "status", "skrivemaatestatus"}, {"NavnesakstatuserIds", "casestatus", "navnesakstatus"},
	{"SpraakIds", "language", "spraak"}, {"Avsluttet", "closed", ""},
	{"VedtaksmyndighetId", "authority", "vedtaksmyndighet"},
	{"VedtaksmyndigheterIds", "authority", "vedtaksmyndighet"}, {"Aar", "year", ""}, {"Saksnummer", "case", ""},
	{"Beskrivelse", "description", ""}, {"ProduktkodeId", "product", "karttype"}, {"Kartblad", "sheet", ""},
	{"Utgivelsesaar", "published", ""},
	{"RegistrertEtter", "registered-after", ""}, {"RegistrertFoer", "registered-before", ""},
	{"OppdatertEtter", "updated-after", ""}, {"OppdatertFoer", "updated-before", ""},
	{"VedtattEtter", "decided-after", ""}, {"VedtattFoer", "decided-before", ""},
}

// searchValues returns the fields of a request that a form can set, by name.
func searchValues(r contract.Request) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			switch {
			case name == "StedsnavnContext" || name == "Flags":
			case f.Kind() == reflect.Struct:
				walk(f)
			default:
				out[name] = f
			}
		}
	}
	walk(reflect.ValueOf(r).Elem())
	return out
}

// soapForm returns the form of an operation with the typed values.
func (c *call) soapForm(operation string, typed url.Values) (fields []soapField, err error) {
	values := searchValues(soapRequests[operation]())
	for _, x := range soapFields {
		v, ok := values[x.field]
		if !ok {
			continue
		}
		f := soapField{Name: x.field, Title: c.Text(fmt.Sprintf("soap.field.%s", x.text)), Type: "text",
			Value: strings.TrimSpace(typed.Get(x.field))}
		switch v.Interface().(type) {
		case *time.Time:
			if f.Type = "date"; f.Value != "" && !page.IsDay(f.Value) {
				f.Type = "text"
			}
		case *int32, *int64:
			f.Mode = "numeric"
		case *bool:
			f.Options = page.Choices{{Value: "true", Title: c.Text("items.yes"), Selected: f.Value == "true"},
				{Value: "false", Title: c.Text("items.no"), Selected: f.Value == "false"}}
		}
		switch {
		case x.field == "Stedsnavn" || x.field == "Skrivemaate":
			f.Hint = c.Text("soap.names-hint")
		case x.list == "kommune": // a select with 357 names would be a third of the page
			f.List, f.Hint = x.list, c.Text("soap.municipality-hint")
		case x.list != "":
			if f.Options, f.Value, err = c.listChoices(x.list, f.Value); err != nil {
				return nil, err
			}
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// listChoices returns the codes of a list, ordered by name, and the code of what was typed; nil if the list is empty.
// The value of an option is its name if only one code has that name, which makes the page smaller. An unknown typed
// value becomes an option too.
func (c *call) listChoices(list, typed string) (out page.Choices, code string, err error) {
	known, err := c.CodeNames(list)
	if err != nil || len(known.Codes) == 0 {
		return nil, typed, err
	}
	bearers := map[string]int{}
	for _, code := range known.Codes {
		s := page.Value{Text: code}.Named(c.InLanguage(known.Of[code]), "")
		out = append(out, page.Choice{Value: code, Title: s.Text, Lang: s.Lang})
		if bearers[s.Text]++; s.Text != code {
			bearers[code]++
		}
	}
	code = typed
	for i := range out {
		x := &out[i]
		if unique := bearers[x.Title] == 1; x.Value == typed || unique && x.Title == typed {
			x.Selected, code = true, x.Value
		}
		x.Bare = bearers[x.Title] == 1 && strings.Join(strings.Fields(x.Title), " ") == x.Title
	}
	slices.SortStableFunc(out, func(a, b page.Choice) int {
		return strings.Compare(strings.ToLower(a.Title),
			strings.ToLower(b.Title))
	})
	if typed != "" && !slices.ContainsFunc(out, func(x page.Choice) bool { return x.Selected }) {
		out = append(out, page.Choice{Value: typed, Title: typed, Selected: true})
	}
	return out, code, nil
}

// codeOf returns the code that was typed, or the code with the typed name in any spelling. If there is none or there
// are several, fault is a message for the user.
func (c *call) codeOf(list, typed string) (code, fault string, err error) {
	known, err := c.CodeNames(list)
	if err != nil || len(known.Codes) == 0 || known.Of[typed] != nil {
		return typed, "", err
	}
	key := fold.Norm(names.WithoutTypes(typed))
	var called, all []string
	for _, code := range known.Codes {
		for _, name := range known.Of[code] {
			all = append(all, name)
			for _, part := range append(strings.Split(name, " - "), name) {
				if fold.Norm(part) == key && !slices.Contains(called, code) {
					called = append(called, code)
				}
			}
		}
	}
	switch len(called) {
	case 0:
		if near := cql2.Nearest(names.WithoutTypes(typed), all); near != "" {
			return "", c.Text("fault.name-near", near), nil
		}
		return "", c.Text("fault.name-none"), nil
	case 1:
		return called[0], "", nil
	}
	return "", c.Text("fault.name-several", strings.Join(called, ", ")), nil
}

// writeRequest builds the request from the fields. It sets Fault of invalid fields; then ok is false.
func (c *call) writeRequest(operation string, fields []soapField) (r contract.Request, ok bool, err error) {
	r, ok = soapRequests[operation](), true
	*r.Context() = contract.StedsnavnContext{SystemVersion: "1", ClientIdentification: "page",
		Locale:          map[string]string{"nb": "nb_NO", "nn": "nn_NO", "en": "en_GB"}[c.Lang],
		SnapshotVersion: time.Date(9999, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))}
	if flags := reflect.ValueOf(r).Elem().FieldByName("Flags"); flags.IsValid() {
		flags.Set(reflect.ValueOf(contract.Flags{BeregnVisningsnavn: true}))
	}
	values := searchValues(r)
	for i := range fields {
		f := &fields[i]
		if f.Value == "" {
			continue
		}
		value, said := f.Value, ""
		if f.List != "" {
			if value, said, err = c.codeOf(f.List, f.Value); err != nil {
				return nil, false, err
			}
		}
		if said == "" {
			if kind := setField(values[f.Name], f.Name, value, c.s.Oslo); kind != "" {
				said = c.Text(fmt.Sprintf("fault.%s", kind))
			}
		}
		if said != "" {
			f.Fault, ok = &page.FieldFault{Name: f.Name, Title: f.Title, Text: said, Target: "s-" + f.Name}, false
		}
	}
	return r, ok, nil
}

// setField parses text into a field of a request. It returns the end of the message key of an error; "" if there is
// none.
func setField(v reflect.Value, name, text string, oslo *time.Location) string {
	switch v.Interface().(type) {
	case string:
		v.SetString(text)
	case *string:
		v.Set(reflect.ValueOf(&text))
	case []string:
		v.Set(reflect.ValueOf([]string{text}))
	case *bool:
		is := text == "true"
		v.Set(reflect.ValueOf(&is))
	case *time.Time:
		zone := oslo
		if strings.HasPrefix(name, "Vedtatt") { // a date without a zone in the contract
			zone = time.UTC
		}
		day, err := time.ParseInLocation(time.DateOnly, text, zone)
		if err != nil {
			return "day"
		}
		v.Set(reflect.ValueOf(&day))
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		x := reflect.New(v.Type().Elem())
		if err != nil || x.Elem().OverflowInt(n) {
			return "whole"
		}
		x.Elem().SetInt(n)
		v.Set(x)
	}
	return ""
}

// envelope returns a request as a SOAP 1.1 message.
func (s *surface) envelope(r contract.Request) string {
	return string(contract.Example{Request: r}.Message(s.Config.SOAP.NamespaceBase))
}

// xmlFaults maps errors of encoding/xml to the ends of message keys.
var xmlFaults = []struct {
	name  string
	found *regexp.Regexp
}{
	{"end", regexp.MustCompile(`^unexpected EOF`)},
	{"closed", regexp.MustCompile(`^element (<.*>) closed by (</.*>)$`)},
	{"unopened", regexp.MustCompile(`^unexpected end element (</.*>)$`)},
	{"entity", regexp.MustCompile(`^invalid character entity (\S+)`)},
}

// brokenXML returns why a message is not well-formed XML, in the language of the page; "" if it is.
func (c *call) brokenXML(message string) string {
	d := xml.NewDecoder(strings.NewReader(strings.TrimSpace(message)))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return ""
		}
		if err != nil {
			line, _ := d.InputPos()
			if s, ok := errors.AsType[*xml.SyntaxError](err); ok {
				for _, x := range xmlFaults {
					if m := x.found.FindStringSubmatch(s.Msg); m != nil {
						with := []any{line}
						for _, part := range m[1:] {
							with = append(with, part)
						}
						return c.Text(fmt.Sprintf("soap.broken-%s", x.name), with...)
					}
				}
			}
			return c.Text("soap.broken", line)
		}
	}
}

// soapFailure is the SOAP fault of a search. text is nil if it succeeded.
type soapFailure struct {
	text  func(contract.Lang) string
	cause error
}

// failureKey is the key of a *soapFailure in the context of a search from the form.
type failureKey struct{}

// messageFault returns the error of a message that the user wrote as XML.
func (c *call) messageFault(said string) []page.FieldFault {
	return []page.FieldFault{{Name: "request", Title: c.Text("soap.xml"), Text: said, Target: "request"}}
}

// showFailure adds the faults of a search to the view, next to their fields.
func (v *soapView) showFailure(c *call, failed soapFailure) {
	if failed.text == nil {
		return
	}
	lang := contract.LangOf(c.Lang)
	refusal, _ := errors.AsType[*contract.Refusal](failed.cause)
	switch {
	case v.Written:
		v.Faults = c.messageFault(failed.text(lang))
	case refusal == nil:
		v.Trouble.Text = failed.text(lang)
	default:
		for _, x := range refusal.Faults {
			v.showFault(c, x, lang)
		}
	}
}

// showFault adds one fault to the view, next to its field if the form has it.
func (v *soapView) showFault(c *call, x contract.Fault, lang contract.Lang) {
	path := strings.Split(x.Path, "/")
	i := slices.IndexFunc(v.Fields, func(f soapField) bool {
		return slices.ContainsFunc(path, func(name string) bool { return strings.EqualFold(name, f.Name) })
	})
	switch {
	case x.Reason == contract.TooManyHits:
		v.Trouble.Text = c.Text("soap.too-many", page.InDigits(strconv.FormatInt(x.N, 10), c.Lang))
	case i < 0:
		v.Trouble.Text = x.Text(lang)
	case v.Fields[i].Fault == nil:
		f := &v.Fields[i]
		said := c.Text("fault.missing")
		if f.Value != "" {
			said = page.Capital(x.Cure(lang)) + "."
		}
		f.Fault = &page.FieldFault{Name: f.Name, Title: f.Title, Text: said, Target: "s-" + f.Name}
		v.Faults = append(v.Faults, *f.Fault)
	}
}
