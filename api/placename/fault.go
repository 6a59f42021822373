package placename

// ServiceFaultInfo is the detail of a SOAP fault, the element ServiceException.
type ServiceFaultInfo struct {
	Category        string
	StackTraceText  string
	ExceptionDetail ExceptionDetail
}

// ExceptionDetail describes an error.
type ExceptionDetail struct {
	ClassName          string
	Message            string
	Cause              *ExceptionDetail // nil is written as xsi:nil
	StackTraceElements []StackTraceElement
}

// StackTraceElement is part of the contract. The service never sends one.
type StackTraceElement struct {
	DeclaringClass string
	MethodName     string
	FileName       *string // nil is written as xsi:nil
	LineNumber     int32
}

// Category is the class of a fault, the value of the field category.
type Category string

const (
	Validation     Category = "VALIDATION"
	Authentication Category = "AUTHENTICATION"
	LimitExceeded  Category = "LIMIT_EXCEEDED"
	Timeout        Category = "TIMEOUT"
	Unavailable    Category = "UNAVAILABLE"
	Internal       Category = "INTERNAL"
)

// Categories lists every Category, for tests that must cover them all.
var Categories = []Category{Validation, Authentication, LimitExceeded, Timeout, Unavailable, Internal}

// ClassName returns the value of className for a category.
func (c Category) ClassName() string {
	switch c {
	case Validation:
		return "ValidationException"
	case Authentication:
		return "AuthenticationException"
	case LimitExceeded:
		return "LimitExceededException"
	case Timeout:
		return "TimeoutException"
	case Unavailable:
		return "UnavailableException"
	}
	return "InternalException"
}
