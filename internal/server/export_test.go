package server

import "slices"

// IndentXML is indentXML.
var IndentXML = indentXML

// HTMLRoutes are the paths of the routes that answer with a page.
func (s *Server) HTMLRoutes() []string {
	var out []string
	for _, rt := range s.table() {
		if slices.ContainsFunc(rt.Formats, func(r rep) bool { return r.F == "html" }) {
			out = append(out, rt.Path)
		}
	}
	return out
}

// Documents is how many written documents are kept.
func (s *Server) Documents() int {
	s.docs.mu.RLock()
	defer s.docs.mu.RUnlock()
	return len(s.docs.m)
}
