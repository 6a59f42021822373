package placename

// ServiceFaultInfo is the detail of a fault: element ServiceException.
type ServiceFaultInfo struct {
	Category        string
	StackTraceText  string
	ExceptionDetail ExceptionDetail
}

// ExceptionDetail describes what went wrong.
type ExceptionDetail struct {
	ClassName          string
	Message            string
	Cause              *ExceptionDetail // nil is written as nil
	StackTraceElements []StackTraceElement
}

// StackTraceElement is part of the contract. The service never sends one.
type StackTraceElement struct {
	DeclaringClass string
	MethodName     string
	FileName       *string // nil is written as nil
	LineNumber     int32
}

// Category is the class of a fault, as the contract's field category holds it.
type Category string

const (
	Validation     Category = "VALIDATION"
	Authentication Category = "AUTHENTICATION"
	LimitExceeded  Category = "LIMIT_EXCEEDED"
	Timeout        Category = "TIMEOUT"
	Unavailable    Category = "UNAVAILABLE"
	Internal       Category = "INTERNAL"
)

// Categories holds every Category, for tests that must not forget one.
var Categories = []Category{Validation, Authentication, LimitExceeded, Timeout, Unavailable, Internal}

// ClassName returns the className that belongs to the category.
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
