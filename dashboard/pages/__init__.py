"""One file per page. A page is a function of values; `register` binds it to an address and to the services."""
