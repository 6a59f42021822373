package config

import "strings"

// Text is a text by language: "nb", "nn", "en". The key "" is the text whose language is not stated.
type Text map[string]string

// In returns the text in a language. It falls back to nb, en, "" (language not stated) and nn, in that order, and
// returns "" if there is no text.
func (t Text) In(lang string) string {
	for _, l := range fallback(lang) {
		if s, ok := t[l]; ok {
			return s
		}
	}
	return ""
}

// Words is a list of words by language. The keys are those of Text.
type Words map[string][]string

// In returns the words in a language, with the fallbacks of Text.In. The caller must not change them.
func (w Words) In(lang string) []string {
	for _, l := range fallback(lang) {
		if s, ok := w[l]; ok {
			return s
		}
	}
	return nil
}

func fallback(lang string) [5]string { return [...]string{lang, "nb", "en", "", "nn"} }

// fillTexts sets the default texts of the service, which depend on other settings.
func (c *Config) fillTexts() {
	s := &c.Service
	if s.Feedback == "" {
		s.Feedback = s.Contact.Email
	}
	if s.Feedback == "" {
		s.Feedback = s.Contact.URL
	}
	if len(s.Title) == 0 {
		s.Title = Text{
			"nb": "Administrative inndelinger",
			"nn": "Administrative inndelingar",
			"en": "Administrative divisions",
		}
	}
	if len(s.Keywords) == 0 {
		s.Keywords = Words{
			"nb": {"administrative inndelinger", "fylker", "kommuner"},
			"nn": {"administrative inndelingar", "fylke", "kommunar"},
			"en": {"administrative divisions", "counties", "municipalities"},
		}
	}
	if len(s.Description) == 0 {
		s.Description = c.description()
	}
}

// description returns the default description: three things that clients must know.
func (c *Config) description() Text {
	testing := Text{
		"nb": "API-et er under utprøving og kan bli endret på kort varsel.",
		"nn": "API-et er under utprøving og kan bli endra på kort varsel.",
		"en": "The API is in testing and may change at short notice.",
	}
	key := Text{
		"nb": "Data krever en API-nøkkel i headeren X-API-Key.",
		"nn": "Data krev ein API-nøkkel i headeren X-API-Key.",
		"en": "Data need an API key in the header X-API-Key.",
	}
	if c.Auth == "open" {
		key = Text{
			"nb": "Denne tjeneren er åpen: data kan hentes uten API-nøkkel. Tjenere som krever en nøkkel, " +
				"tar den i headeren X-API-Key.",
			"nn": "Denne tenaren er open: data kan hentast utan API-nøkkel. Tenarar som krev ein nøkkel, " +
				"tek han i headeren X-API-Key.",
			"en": "This server is open: data need no API key. Servers that need a key take it in the header X-API-Key.",
		}
	}
	to := Text{
		"nb": "Tilbakemeldinger sendes til den som driver tjenesten.",
		"nn": "Tilbakemeldingar kan sendast til den som driv tenesta.",
		"en": "Please send feedback to the operator of this service.",
	}
	if c.Service.Feedback != "" {
		a := strings.TrimPrefix(c.Service.Feedback, "mailto:")
		to = Text{
			"nb": "Send tilbakemeldinger til " + a + ".",
			"nn": "Send tilbakemeldingar til " + a + ".",
			"en": "Please send feedback to " + a + ".",
		}
	}
	d := Text{}
	for lang := range testing {
		d[lang] = testing[lang] + " " + key[lang] + " " + to[lang]
	}
	return d
}
