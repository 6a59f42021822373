package features

import "grense/internal/server/page"

// itemsForm returns the page of features without features.
func (s *surface) itemsForm(c *call, f page.Faulty) (*page.Page, error) {
	v := itemsView{Faulty: f, Limit: c.PageDefault(), Most: mostOnPage, BBox: c.Collection.Geometry != nil}
	_, v.Datetime = c.Collection.During()
	if err := c.fillForm(&v); err != nil {
		return nil, err
	}
	return &page.Page{Name: "items", Title: c.Collection.TitleIn(c.Lang), Crumbs: c.Crumbs("collection"), Data: &v}, nil
}
