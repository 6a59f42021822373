package placename_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"grense/api/placename"
)

// listing writes the contract as text: one line for each schema, type, field and operation.
func listing() []string {
	var out []string
	c := placename.TheContract()
	for _, s := range c.Schemas {
		out = append(out, "schema "+s.Path+" "+s.File)
	}
	for _, s := range c.Schemas {
		for _, t := range s.Types {
			if s.Path == "/service/soek" {
				continue // the wrappers are the operations
			}
			line := "type " + s.Path + " " + t.Name
			if t.Abstract {
				line += " abstract"
			}
			if t.Base != nil {
				line += " extends " + t.Base.Name
			}
			out = append(out, line)
			for _, f := range t.Fields {
				out = append(out, "field "+t.Name+" "+field(f))
			}
		}
	}
	for _, o := range c.Operations {
		line := "operation " + o.Name
		for _, p := range o.Params {
			line += " " + field(p)
		}
		out = append(out, line+" return:"+o.Result.Name)
	}
	return out
}

func field(f placename.Field) string {
	s := f.Name
	if f.Optional {
		s += "?"
	}
	if f.List {
		s += "*"
	}
	if f.Nillable {
		s += "(nil)"
	}
	return s + ":" + f.Type
}

func TestContractIsTheCommittedOne(t *testing.T) {
	t.Parallel()
	golden(
		t,
		"contract.txt",
		[]byte(
			"# Decided by the contract of Kartverket's service; README.md says more.\n"+
				strings.Join(listing(), "\n")+"\n",
		),
	)
}

func TestContractHasTheStatedNumbers(t *testing.T) {
	t.Parallel()
	c := placename.TheContract()
	tableTypes, tableFields, all, lists := 0, 0, 0, 0
	nested := []string{"BokSoek", "KartforekomstSoek", "OpplysningSoek", "LokaleInnsamlingerSoek",
		"DokumentertVedtakSoek",
		"DokumentertSamlevedtakSoek", "DokumentertKlageSoek", "DokumentSoek"}
	for _, s := range c.Schemas {
		for _, x := range s.Types {
			all++
			if s.Path == "/service/servicetyper" && !slices.Contains(nested, x.Name) &&
				(strings.HasSuffix(x.Name, "Soek") || strings.HasSuffix(x.Name, "Treff")) {
				tableTypes++
				tableFields += len(x.Fields)
			}
			if strings.HasSuffix(x.Name, "List") {
				lists++
				if f := x.Fields; len(f) != 1 || f[0].Name != "item" || !f[0].List || !f[0].Nillable {
					t.Errorf("%s is not a list of nillable items", x.Name)
				}
			}
		}
	}
	for _, n := range []struct {
		what      string
		got, want int
	}{
		{"schemas", len(c.Schemas), 18}, {"operations", len(c.Operations), 11}, {"types", all, 142},
		{"search and hit types", tableTypes, 20}, {"fields of these", tableFields, 263}, {"list types", lists, 29},
	} {
		if n.got != n.want {
			t.Errorf("%d %s, want %d", n.got, n.what, n.want)
		}
	}
}

var (
	noteSchema = regexp.MustCompile(`(?m)^\*\*\x60(/[a-z/]+)\x60\*\* \(\x60(\w+\.xsd)\x60\)$`)
	noteFile   = regexp.MustCompile(`\| \x60(/[a-z/]+)\x60 \| \x60(\w+\.xsd)\x60 `)
	noteType   = regexp.MustCompile(`^- \*\*(\w+)\*\*( \[[GP]\])?( abstract)?( extends (\w+))?`)
	noteEmpty  = regexp.MustCompile(`^- Empty extensions of (\S+)`)
	noteCode   = regexp.MustCompile(`\x60([^\x60]+)\x60`)
	noteField  = regexp.MustCompile(`^\w+\??\*?(\(nil\))?:\w+$`)
	noteRow    = regexp.MustCompile(`(?m)^\| (find\w+) \| (.*) \| (\w+List) \|$`)
)

// fromNotes reads the description of the contract into the lines of listing.
func fromNotes(text string) []string {
	var out []string
	for _, m := range noteFile.FindAllStringSubmatch(strings.ReplaceAll(text, " | `/", " |\n| `/"), -1) {
		out = append(out, "schema "+m[1]+" "+m[2])
	}
	heads := noteSchema.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		path := text[h[2]:h[3]]
		body, _, _ := strings.Cut(text[h[1]:end], "\n## ")
		for _, bullet := range strings.Split("\n"+body, "\n- ")[1:] {
			bullet, _, _ = strings.Cut(bullet, "\n\n")
			out = append(out, fromBullet(path, "- "+bullet)...)
		}
	}
	flags := "beregnVisningsnavn:boolean inkluderGeometri:boolean"
	for _, m := range noteRow.FindAllStringSubmatch(text, -1) {
		params := strings.ReplaceAll(strings.ReplaceAll(m[2], "bv, ig", flags), ",", "")
		out = append(out, "operation "+m[1]+" "+strings.ReplaceAll(params, "`", "")+" return:"+m[3])
	}
	return out
}

func fromBullet(path, bullet string) []string {
	var out, words []string
	for _, m := range noteCode.FindAllStringSubmatch(bullet, -1) {
		words = append(words, m[1])
	}
	if m := noteType.FindStringSubmatch(bullet); m != nil {
		line := "type " + path + " " + m[1] + m[3]
		if m[5] != "" {
			line += " extends " + m[5]
		}
		out = append(out, line)
		for _, w := range words {
			if noteField.MatchString(w) {
				out = append(out, "field "+m[1]+" "+w)
			}
		}
		return out
	}
	if m := noteEmpty.FindStringSubmatch(bullet); m != nil {
		base := strings.Replace(m[1], "…WithHistoryId", "StedsnavnBubbleObjectWithHistoryId", 1)
		for _, w := range words {
			out = append(out, "type "+path+" "+w+" extends "+base)
		}
		return out
	}
	for _, w := range words[1:] { // after `item*(nil)`
		item := strings.Replace(strings.TrimSuffix(w, "List"), "String", "string", 1)
		out = append(out, "type "+path+" "+w, "field "+w+" item*(nil):"+item)
	}
	return out
}

func TestContractIsTheDescribedOne(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(shared(t, "notes/soap.md"))
	if err != nil {
		t.Fatal(err)
	}
	got, want := listing(), fromNotes(string(text))
	slices.Sort(got) // the order of fields is compared below, that of types and schemas is free
	slices.Sort(want)
	for _, line := range want {
		if _, ok := slices.BinarySearch(got, line); !ok {
			t.Errorf("missing: %s", line)
		}
	}
	for _, line := range got {
		if _, ok := slices.BinarySearch(want, line); !ok {
			t.Errorf("not described: %s", line)
		}
	}
	ordered := func(lines []string) string {
		byType := map[string][]string{}
		for _, l := range lines {
			if w := strings.Fields(l); w[0] == "field" {
				byType[w[1]] = append(byType[w[1]], w[2])
			}
		}
		return fmt.Sprint(byType) // maps print in key order
	}
	if ordered(listing()) != ordered(fromNotes(string(text))) {
		t.Error("fields stand in another order than described")
	}
}

// TestGoStructsAndTableHaveTheSameFields walks from the requests and hits; the other direction, that each field of
// the table has one of Go, is checked when the plans are made, which the call of AppendRequest does.
func TestGoStructsAndTableHaveTheSameFields(t *testing.T) {
	t.Parallel()
	c := placename.TheContract()
	seen := map[reflect.Type]bool{}
	var walk func(name string, in reflect.Type)
	walk = func(name string, in reflect.Type) {
		for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice {
			in = in.Elem()
		}
		x := c.Type(name)
		if x == nil || in.Kind() != reflect.Struct || in.PkgPath() == "time" {
			return
		}
		if strings.HasSuffix(name, "List") {
			walk(x.Fields[0].Type, in)
			return
		}
		if seen[in] {
			return
		}
		seen[in] = true
		fields := x.Fields
		if name == "UtoevendeMyndighet" { // the struct joins the two types that extend it
			fields = append(slices.Clone(c.Type(name+"Kommune").Fields), c.Type(name+"Fylke").Fields...)
		}
		want := map[string]string{}
		for _, f := range fields {
			want[strings.ToUpper(f.Name[:1])+f.Name[1:]] = f.Type
		}
		for _, f := range reflect.VisibleFields(in) {
			if f.Name == "Flags" || len(f.Index) > 1 && want[f.Name] == "" {
				continue // embedded structs, and what they promote
			}
			typ, ok := want[f.Name]
			if !ok {
				t.Errorf("%s.%s is not in the contract", in, f.Name)
			}
			delete(want, f.Name)
			walk(typ, f.Type)
		}
		for name := range want {
			t.Errorf("%s has no field %s", in, name)
		}
	}
	for _, r := range requests() {
		walk(r.Operation(), reflect.TypeOf(r))
		placename.AppendRequest(nil, r, base)
	}
	for op, hits := range lists(nil, 0) {
		o, _ := c.Operation(op)
		walk(o.Result.Name, reflect.TypeOf(hits))
	}
	walk("ServiceFaultInfo", reflect.TypeFor[placename.ServiceFaultInfo]())
}
