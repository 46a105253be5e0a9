"""Tables, figures and the page of a study: pure functions of what was saved."""
