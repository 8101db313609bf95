"""Drawings as SVG text: pure functions from numbers and words to markup, no plotting library.

Every drawing sets its own font (a page's stylesheet does not reach SVG text in the PDF), carries its
alternative text in `<title>`, and tells its series apart by shape and dash before it does by colour.
"""
