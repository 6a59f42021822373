package openapi

import (
	"regexp"
	"strings"
)

// licences are the URLs of open-data licences, without scheme and www, and their identifiers in the SPDX License List.
var licences = []struct{ address, id string }{
	{"creativecommons.org/licenses/by/4.0", "CC-BY-4.0"}, {"creativecommons.org/licenses/by/3.0", "CC-BY-3.0"},
	{"creativecommons.org/licenses/by-sa/4.0", "CC-BY-SA-4.0"},
	{"creativecommons.org/licenses/by-sa/3.0", "CC-BY-SA-3.0"},
	{"creativecommons.org/publicdomain/zero/1.0", "CC0-1.0"},
	{"creativecommons.org/licenses/by-nc/4.0", "CC-BY-NC-4.0"},
	{
		"data.norge.no/nlod/no/2.0",
		"NLOD-2.0",
	}, {"data.norge.no/nlod/en/2.0", "NLOD-2.0"}, {"data.norge.no/nlod/no/1.0", "NLOD-1.0"},
	{"data.norge.no/nlod/en/1.0", "NLOD-1.0"},
	{
		"opendatacommons.org/licenses/odbl/1-0",
		"ODbL-1.0",
	}, {"opendatacommons.org/licenses/odbl", "ODbL-1.0"}, {"opendatacommons.org/licenses/by/1-0", "ODC-By-1.0"},
	{"opendatacommons.org/licenses/pddl/1-0", "PDDL-1.0"},
	{"etalab.gouv.fr/licence-ouverte-open-licence", "etalab-2.0"},
	{"govdata.de/dl-de/by-2-0", "DL-DE-BY-2.0"}, {"govdata.de/dl-de/zero-2-0", "DL-DE-ZERO-2.0"},
	{"nationalarchives.gov.uk/doc/open-government-licence/version/3", "OGL-UK-3.0"},
}

// spacedLicence matches the identifier of a licence written with spaces.
var spacedLicence = regexp.MustCompile(`(?i)^(?:CC[ -]?0|CC[ -]BY(?:[ -](?:SA|NC|ND|NC-SA|NC-ND))?|NLOD)[ -]\d\.\d$`)

// spdx returns the SPDX identifier of a licence if it is known, else its configured name.
func spdx(l Licence) string {
	address := strings.ToLower(l.URL)
	for _, start := range [...]string{"https://", "http://", "www."} {
		address = strings.TrimPrefix(address, start)
	}
	for _, x := range licences {
		rest, ok := strings.CutPrefix(address, x.address)
		if ok && (rest == "" || strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, ".")) {
			return x.id
		}
	}
	if name := strings.TrimSpace(l.Name); spacedLicence.MatchString(name) {
		return strings.Replace(strings.ToUpper(strings.ReplaceAll(name, " ", "-")), "CC-0", "CC0", 1)
	}
	return l.Name
}
