package placename_test

import (
	"fmt"

	"grense/api/placename"
)

func ExampleNilTypes_AppendHits() {
	hits := placename.BokTreffList{
		{
			Id:            "7",
			Tittel:        "Norske Gaardnavne",
			Isbn:          "",
			Utgave:        "1",
			Forfatter:     "Rygh",
			Utgiver:       "Fabritius",
			Utgivelsesaar: 1897,
		},
	}
	fmt.Printf("%s\n", placename.PlainNil.AppendHits(nil, "findBoeker", hits))
	// Output: <t:item><t:id><d:value>7</d:value></t:id><t:tittel>Norske Gaardnavne</t:tittel><t:isbn></t:isbn><t:utgave>1</t:utgave><t:forfatter>Rygh</t:forfatter><t:utgiver>Fabritius</t:utgiver><t:utgivelsesaar>1897</t:utgivelsesaar></t:item>
}

func ExampleDecode() {
	root := &placename.Element{Space: base + "/service/soek", Name: "findBoeker", Children: []*placename.Element{
		{Space: base + "/service/soek", Name: "stedsnavnContext"},
	}}
	_, err := placename.Decode(root, []string{placename.DefaultBase}, placename.RefuseUnknown)
	fmt.Println(err)
	// Output: placename: findBoeker/soeketekst: the element is required.
}

func ExampleContract() {
	for _, o := range placename.TheContract().Operations[:2] {
		fmt.Println(o.Name, o.Params[0].Name, o.Result.Name)
	}
	// Output:
	// findNavnesaker navnesakSoek NavnesakTreffList
	// findSteder stedSoek StedTreffList
}
