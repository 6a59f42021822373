package ogcapi

import "encoding/json"

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
	Inputs  ProcessInputs  `json:"inputs"`
	Outputs ProcessOutputs `json:"outputs"`
	Example any            `json:"example,omitempty"`
}

// ProcessInputs are written as an object, in their order.
type ProcessInputs []ProcessInput

// Find returns an input by its name.
func (x ProcessInputs) Find(id string) (ProcessInput, bool) {
	for _, in := range x {
		if in.ID == id {
			return in, true
		}
	}
	return ProcessInput{}, false
}

func (x ProcessInputs) MarshalJSON() ([]byte, error) {
	return object(len(x), func(i int) (string, any) { return x[i].ID, x[i] })
}

// ProcessOutputs are written as an object, in their order.
type ProcessOutputs []ProcessOutput

// Find returns an output by its name.
func (x ProcessOutputs) Find(id string) (ProcessOutput, bool) {
	for _, out := range x {
		if out.ID == id {
			return out, true
		}
	}
	return ProcessOutput{}, false
}

func (x ProcessOutputs) MarshalJSON() ([]byte, error) {
	return object(len(x), func(i int) (string, any) { return x[i].ID, x[i] })
}

// object writes n members in order.
func object(n int, member func(int) (string, any)) ([]byte, error) {
	b := []byte{'{'}
	for i := range n {
		name, value := member(i)
		k, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, k...), ':'), v...)
	}
	return append(b, '}'), nil
}

// ProcessInput describes one input; Schema is a JSON Schema object.
type ProcessInput struct {
	ID          string `json:"-"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Schema      any    `json:"schema"`
	MinOccurs   int    `json:"minOccurs"`
	MaxOccurs   int    `json:"maxOccurs"`
}

// ProcessOutput describes one output; Schema is a JSON Schema object.
type ProcessOutput struct {
	ID          string `json:"-"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Schema      any    `json:"schema"`
}

// Execute is the body of an execution (OGC 18-062r2, 7.11.2).
type Execute struct {
	Inputs     map[string]any           `json:"inputs"`
	Outputs    map[string]ExecuteOutput `json:"outputs,omitempty"`
	Response   string                   `json:"response,omitempty"` // raw, the default, or document
	Subscriber *Subscriber              `json:"subscriber,omitempty"`
}

// ExecuteOutput says how one output is wanted.
type ExecuteOutput struct {
	Format           OutputFormat `json:"format,omitzero"`
	TransmissionMode string       `json:"transmissionMode,omitempty"` // value, the default, or reference
}

// OutputFormat is the format of an output (OGC 18-062r2, 7.11.2.6).
type OutputFormat struct {
	MediaType string `json:"mediaType,omitempty"`
	Encoding  string `json:"encoding,omitempty"`
	Schema    any    `json:"schema,omitempty"`
}

// Subscriber names addresses that are notified of a job (OGC 18-062r2, 9).
type Subscriber struct {
	SuccessURI    string `json:"successUri"`
	InProgressURI string `json:"inProgressUri,omitempty"`
	FailedURI     string `json:"failedUri,omitempty"`
}

// StatusInfo is the state of a job (OGC 18-062r2, 7.12).
type StatusInfo struct {
	ProcessID string `json:"processID"`
	Type      string `json:"type"` // process
	JobID     string `json:"jobID"`
	Status    string `json:"status"` // accepted, running, successful, failed or dismissed
	Message   string `json:"message,omitempty"`
	Created   string `json:"created,omitempty"` // RFC 3339, UTC
	Started   string `json:"started,omitempty"`
	Finished  string `json:"finished,omitempty"`
	Updated   string `json:"updated,omitempty"`
	Progress  int    `json:"progress"` // percent
	Links     []Link `json:"links"`
}

// Jobs is the list of jobs (OGC 18-062r2, 11.2).
type Jobs struct {
	Jobs  []StatusInfo `json:"jobs"`
	Links []Link       `json:"links"`
}
