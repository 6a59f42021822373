package ogcapi

// Processes is the list of processes (OGC 18-062r2, 7.9).
type Processes struct {
	Processes []ProcessSummary `json:"processes"`
	Links     []Link           `json:"links"`
}

// ProcessSummary is an entry of the list of processes (OGC 18-062r2, 7.9.2).
type ProcessSummary struct {
	Version            string   `json:"version"`
	ID                 string   `json:"id"`
	Title              string   `json:"title"`
	Description        string   `json:"description"`
	Keywords           []string `json:"keywords,omitempty"`
	JobControlOptions  []string `json:"jobControlOptions"`
	OutputTransmission []string `json:"outputTransmission"`
	Links              []Link   `json:"links"`
}

// Process describes a process (OGC 18-062r2, 7.10).
type Process struct {
	ProcessSummary
	Inputs  map[string]ProcessInput  `json:"inputs"`
	Outputs map[string]ProcessOutput `json:"outputs"`
	Example any                      `json:"example,omitempty"`
}

// ProcessInput describes one input; Schema is a JSON Schema object.
type ProcessInput struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Schema      any    `json:"schema"`
	MinOccurs   int    `json:"minOccurs"`
	MaxOccurs   int    `json:"maxOccurs"`
}

// ProcessOutput describes one output; Schema is a JSON Schema object.
type ProcessOutput struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Schema      any    `json:"schema"`
}
