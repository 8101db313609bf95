"""From results to what a reader holds: the printed view, its drawings, the HTML and the signed PDF."""
