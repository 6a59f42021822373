package server

import "grense/internal/server/page"

// itemsForm is the page of features without features.
func (s *Kit) itemsForm(c *Call, f page.Faulty) (*page.Page, error) {
	v := itemsView{Faulty: f, Limit: c.pageDefault(), Most: mostOnPage, BBox: c.Collection.Geometry != nil}
	_, v.Datetime = c.Collection.During()
	if err := c.fillForm(&v); err != nil {
		return nil, err
	}
	return &page.Page{Name: "items", Title: c.TitleOf(c.Collection), Crumbs: c.Crumbs("collection"), Data: &v}, nil
}
